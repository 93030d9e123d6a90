#!/usr/bin/env bash
# Builds what one bench needs and runs it.
#   bench/run.sh NAME [--json FILE] [more arguments of the bench]
# NAME: demo, or a micro bench (a file of bench/micro). FILE gets {"schema": "tensorpager.bench/1", "rows": [...]}.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

list_names() { for file in bench/micro/*.cpp; do basename "$file" .cpp; done; }

usage() {
  sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  echo "Names: demo $(list_names | tr '\n' ' ')"
}

[[ $# -gt 0 ]] || { usage >&2; exit 2; }
case $1 in
  --help) usage; exit 0 ;;
  demo) shift; exec bench/demo.sh "$@" ;;
esac

name=$1
shift
if [[ ! -f bench/micro/$name.cpp ]]; then
  echo "no bench \"$name\"." >&2
  usage >&2
  exit 2
fi
json=''
rest=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --json) json=$(realpath -m "${2:?--json needs a file}"); shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done

cmake/bootstrap.sh
cmake --preset release >/dev/null
cmake --build --preset release --target "micro_$name"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"build/release/bench/micro/micro_$name" --benchmark_out="$report" --benchmark_out_format=json "${rest[@]}"
[[ -z $json ]] || python3 bench/micro/to_rows.py "$name" "$report" "$json"
echo "Next: bench/run.sh demo"
