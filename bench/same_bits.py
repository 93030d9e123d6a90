#!/usr/bin/env python3
"""same_bits.py REFERENCE RUN: fails unless both runs of a trainer have equal losses and weights."""
import json
import pathlib
import sys

reference, run = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:])
for step, (expected, found) in enumerate(zip(reference["losses"], run["losses"]), 1):
    if expected != found:
        sys.exit(f"step {step}: loss {found!r} instead of {expected!r}")
if (len(reference["losses"]), reference["weights_checksum"]) != (len(run["losses"]), run["weights_checksum"]):
    sys.exit("the weights differ")
