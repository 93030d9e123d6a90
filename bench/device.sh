# shellcheck shell=bash disable=SC2034,SC2154 # its variables are the contract with the scripts that source it
# Sourced by the scripts of this folder: which device a bench runs on, and how a job is started there.
#
#   choose_device auto|sim|sim:PROFILE|gpu    sets device (sim or gpu), device_words, plain_path (LD_LIBRARY_PATH of a job without
#                                             the library) and launcher_device (the launcher's options)
# Needs build_dir. All folders are relative to the repository's root, the working directory.

# A setting of the user's shell must not reach the measured jobs. Where kernels are cached and compiled is the user's business.
forget_settings() {
  local name
  for name in $(compgen -e | grep -E '^(TENSORPAGER_|SIMGPU_(PROFILE|SEED|LOG|STATS|CC)$)' || true); do unset "$name"; done
}

has_gpu() { [[ -e /dev/nvidia0 ]] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }; }

# NVIDIA's libcudart.so.13: the toolkit's that the build found, or one that this machine has; else the stand-in, which runs over any
# driver, alone in a folder (beside it lies the simulated libcuda.so.1).
runtime_folder() {
  local found
  found=$(sed -n 's/^TENSORPAGER_CUDART:FILEPATH=//p' "$build_dir/CMakeCache.txt" 2>/dev/null || true)
  for found in "$found" build/cuda/lib/libcudart.so.13 /usr/local/cuda/lib64/libcudart.so.13; do
    if [[ -e $found ]]; then
      dirname "$(realpath -s "$found")"
      return
    fi
  done
  mkdir -p "$build_dir/bench/stand_in_runtime"
  ln -sf "$PWD/$build_dir/lib/tensorpager/sim/libcudart.so.13" "$build_dir/bench/stand_in_runtime/libcudart.so.13"
  echo "$PWD/$build_dir/bench/stand_in_runtime"
}

choose_device() {
  local wish=$1
  if [[ $wish == auto ]]; then
    if has_gpu; then wish=gpu; else wish=sim; fi
  fi
  case $wish in
    gpu)
      device=gpu
      device_words=$(nvidia-smi --query-gpu=name --format=csv,noheader --id=0 2>/dev/null || echo "GPU 0")
      plain_path=$(runtime_folder)
      launcher_device=()
      ;;
    sim | sim:*)
      device=sim
      device_words="the simulated device (profile $([[ $wish == sim:* ]] && echo "${wish#sim:}" || echo a100))"
      plain_path=$PWD/$build_dir/lib/tensorpager/sim
      launcher_device=(--device "$wish")
      if [[ $wish == sim:* ]]; then export SIMGPU_PROFILE=${wish#sim:}; fi
      ;;
    *)
      echo "unknown device \"$wish\". Write auto, gpu, sim or sim:PROFILE." >&2
      exit 2
      ;;
  esac
  export LD_LIBRARY_PATH=$plain_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
