#!/usr/bin/env bash
# Puts what was built before (build/release, carried here with the checkout) on a real GPU: the demo, and the library preloaded in
# other ways. One verdict line a check; 77 and one line where there is no GPU. Needs no package source; ends within 8 minutes.
#   bench/device_check.sh [--json FILE]      FILE gets the demo's rows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/device.sh
source bench/device.sh

build_dir=build/release
json=''
[[ ${1:-} != --json ]] || json=$(realpath -m "${2:?--json needs a file}")

if ! has_gpu; then
  echo "device_check: no GPU on this machine"
  exit 77
fi
if [[ ! -x $build_dir/bin/tensorpager ]]; then
  echo "device_check: nothing is built. On a machine with packages: cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi

forget_settings
choose_device gpu
readonly logs=$build_dir/bench/device_check
readonly library=$PWD/$build_dir/lib/tensorpager/libtensorpager.so
readonly trainer=$build_dir/bench/workloads/digits_cnn
rm -rf "$logs"
mkdir -p "$logs"
deadline=$((SECONDS + 480))
status=0

# check NAME SECONDS COMMAND...: one verdict line; the output goes to a log.
check() {
  local name=$1 limit=$2 begin=$SECONDS code=0
  shift 2
  local left=$((deadline - SECONDS))
  (( limit <= left )) || limit=$left
  if (( limit <= 0 )); then
    echo "FAIL $name: no time left"
    status=1
    return
  fi
  timeout --kill-after=5 "$limit" "$@" >"$logs/$name.log" 2>&1 || code=$?
  if [[ $code -eq 0 ]]; then
    echo "ok   $name ($((SECONDS - begin)) s)"
  else
    echo "FAIL $name (exit code $code, $((SECONDS - begin)) s): $(tail -n 1 "$logs/$name.log")"
    status=1
  fi
}

# same_bits NAME [VARIABLE=value...]: ten steps in that environment have the bits of ten steps without the library.
same_bits() {
  local name=$1
  shift
  check "$name" 60 python3 bench/same_bits.py "$logs/plain.json" "$logs/$name.json" \
      env "$@" "$trainer" --steps 10 --quiet --json "$logs/$name.json"
}

runtime_test=$build_dir/tests/simgpu/cudart/tests/cudart_runtime_program

echo "device_check: $device_words"
check plain 60 "$trainer" --steps 10 --quiet --json "$logs/plain.json"
check runtime_calls 60 "$runtime_test"
check harmless_true 10 env LD_PRELOAD="$library" true
check harmless_bash 10 env LD_PRELOAD="$library" bash -c :
check harmless_git 10 env LD_PRELOAD="$library" git --version
check harmless_python 10 env LD_PRELOAD="$library" python3 -c pass
same_bits disabled LD_PRELOAD="$library" TENSORPAGER_DISABLE=1
same_bits observe LD_PRELOAD="$library"
check runtime_calls_preloaded 60 env LD_PRELOAD="$library" "$runtime_test"
check launcher 60 "$build_dir/bin/tensorpager" run --policy observe -- "$trainer" --steps 3 --quiet
check demo 300 bench/demo.sh --no-build --device gpu ${json:+--json "$json"}
if half=$(python3 bench/demo_table.py budget "$build_dir/bench/demo" 50 2>/dev/null); then
  same_bits budget_preloaded LD_PRELOAD="$library" TENSORPAGER_BUDGET="${half}B"
fi
sed -n '/^Fixed cost/,$p' "$logs/demo.log"
exit "$status"
