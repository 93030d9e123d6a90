#!/usr/bin/env bash
# From a clean clone: builds, trains a digits CNN without a limit and in 75, 50 and 35 % of its memory, and compares the bits.
#   bench/demo.sh [--json FILE] [--device auto|gpu|sim|sim:PROFILE] [--no-build]
# Exit code 0: every row has the bits of the run without the library and keeps to its budget, and the accuracy is reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/device.sh
source bench/device.sh

readonly steps=120 budget_steps=40 budgets=(75 50 35)
build_dir=build/release
json='' wish=auto build=yes

while [[ $# -gt 0 ]]; do
  case $1 in
    --json) json=$(realpath -m "${2:?--json needs a file}"); shift 2 ;;
    --device) wish=${2:?--device needs a name}; shift 2 ;;
    --no-build) build=no; shift ;;
    --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "demo: unknown option $1. See: bench/demo.sh --help" >&2; exit 2 ;;
  esac
done

say() { printf '[%3d s] %s\n' "$SECONDS" "$*"; }

build_all() {
  say "installing what is missing"
  cmake/bootstrap.sh
  say "building"
  mkdir -p "$build_dir"
  cmake --preset release >"$build_dir/configure.log" || { cat "$build_dir/configure.log"; exit 1; }
  cmake --build --preset release --target tensorpager tensorpager_cli simgpu_cuda simgpu_cudart digits_cnn
}

# show_progress STEPS: copies a job's lines to its log and shows where it is.
show_progress() {
  local line shown=0
  while IFS= read -r line; do
    if [[ $line =~ ^step\ +([0-9]+) ]]; then
      local step=${BASH_REMATCH[1]}
      if [[ -t 1 ]]; then
        printf '\r[%3d s]   %s   ' "$SECONDS" "$line"
      elif (( step % 20 == 0 )); then
        say "  $line"
      fi
      shown=1
    else
      [[ -t 1 && $shown -eq 1 ]] && printf '\n' && shown=0
      say "  $line"
    fi
  done
}

# train NAME STEPS [starter...]: one run; leaves NAME.json and the statistics of device and runtime in the results' folder.
train() {
  local name=$1 count=$2
  shift 2
  SIMGPU_STATS=$results/$name.device.json "$@" "$build_dir/bench/workloads/digits_cnn" --steps "$count" \
      --checksum-every "$budget_steps" --json "$results/$name.json" | show_progress
}

# paged NAME STEPS SETTING...: the same under the library. No framework here whose allocator would have to be told anything.
paged() {
  local name=$1 count=$2
  shift 2
  train "$name" "$count" "$build_dir/bin/tensorpager" run "${launcher_device[@]}" "$@" \
      --set allocator:keep --set "stats:$results/$name.runtime.json" --
}

forget_settings
[[ $build == yes ]] && build_all
choose_device "$wish"
results=$PWD/$build_dir/bench/demo
rm -rf "$results"
mkdir -p "$results"

say "training on $device_words; step times are $([[ $device == sim ]] && echo virtual || echo real)"
say "without the library, $steps steps"
train none "$steps" env
say "under the library without a limit, 3 steps: what the job needs"
paged observe 3 --policy observe
for percent in "${budgets[@]}"; do
  budget=$(python3 bench/demo_table.py budget "$results" "$percent")
  say "budget $(python3 bench/demo_table.py words "$results" "$percent"), $budget_steps steps"
  paged "$percent" "$budget_steps" --policy lru --budget "${budget}B"
done

status=0
python3 bench/demo_table.py table "$results" --device "$device" --json "$json" "${budgets[@]}" || status=1
half=$(python3 bench/demo_table.py budget "$results" 50)
say "done"
echo "Next: $build_dir/bin/tensorpager run ${launcher_device[*]:+${launcher_device[*]} }--budget $((half / 1048576))MiB --" \
     "$build_dir/bench/workloads/digits_cnn"
exit "$status"
