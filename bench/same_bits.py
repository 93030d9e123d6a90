#!/usr/bin/env python3
"""same_bits.py REFERENCE RESULT COMMAND...: runs a trainer that writes RESULT; fails unless losses and weights equal REFERENCE's."""
import json
import pathlib
import subprocess
import sys

reference_file, result_file, *command = sys.argv[1:]
subprocess.run(command, check=True)
reference, result = (json.loads(pathlib.Path(path).read_text()) for path in (reference_file, result_file))
for step, (expected, found) in enumerate(zip(reference["losses"], result["losses"]), 1):
    if expected != found:
        sys.exit(f"step {step}: loss {found!r} instead of {expected!r}")
if (len(reference["losses"]), reference["weights_checksum"]) != (len(result["losses"]), result["weights_checksum"]):
    sys.exit("the weights differ")
