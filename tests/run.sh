#!/usr/bin/env bash
# Builds everything and runs all tests. Use: tests/run.sh [ctest arguments], for example: tests/run.sh -L unit
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${TENSORPAGER_TEST_PRESET:-dev}
cmake/bootstrap.sh
cmake --preset "$preset"
cmake --build --preset "$preset"
# Tests start programs of their own; the job must not inherit settings that a user has.
for name in $(compgen -e | grep -E '^(TENSORPAGER|SIMGPU)_' || true); do unset "$name"; done
exec ctest --test-dir "build/$preset" --output-on-failure "$@"
