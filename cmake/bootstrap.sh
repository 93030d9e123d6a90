#!/usr/bin/env bash
# Installs what a build needs and the machine lacks: Debian 12's packages, and, where there is no CUDA 13 toolkit, nvcc and headers
# from NVIDIA's wheels on PyPI, into build/cuda. Says nothing when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly packages=(
  cmake ninja-build g++ ccache pkg-config git python3 python3-pip python3-venv
  libboost-dev libjemalloc-dev libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libzstd-dev liblz4-dev libxxhash-dev libexpected-dev zlib1g-dev
)
readonly wheels=(
  'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*'
  'nvidia-cuda-cupti==13.0.*' 'nvidia-cuda-cccl==13.0.*'
)
readonly toolkit=build/cuda

say() { echo "bootstrap: $*" >&2; }

is_installed() { dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $EUID -ne 0 ]]; then
    say "packages are missing. Type: sudo apt-get install ${missing[*]}"
    exit 1
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
}

# The first line of what CMake would find, as in cmake/CudaToolkit.cmake.
find_nvcc() {
  local candidate
  for candidate in "$toolkit/bin/nvcc" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
                   "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [[ -n $candidate && -x $candidate ]]; then
      echo "$candidate"
      return
    fi
  done
}

is_cuda_13() {
  local release
  release=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  [[ ${release:-0} -ge 13 ]]
}

install_toolkit() {
  local nvcc
  nvcc=$(find_nvcc)
  if [[ -n $nvcc ]] && is_cuda_13 "$nvcc"; then return; fi
  say "no CUDA 13 compiler on this machine: taking nvcc and headers from PyPI into $toolkit (about 320 MB)"
  local unpacked=$toolkit.new
  rm -rf "$unpacked"
  mkdir -p build
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
      --target "$unpacked" "${wheels[@]}"
  rm -rf "$toolkit"
  mv "$unpacked/nvidia/cu13" "$toolkit"
  rm -rf "$unpacked"
  chmod +x "$toolkit"/bin/* "$toolkit"/nvvm/bin/*
  if ! is_cuda_13 "$toolkit/bin/nvcc"; then
    say "$toolkit/bin/nvcc does not run. Install a CUDA 13 toolkit, or name one in CUDA_HOME."
    exit 1
  fi
}

install_packages
install_toolkit
