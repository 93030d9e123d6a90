#!/usr/bin/env python3
"""to_rows.py NAME REPORT JSON: Google Benchmark's report as rows micro/NAME/BENCH/time, in nanoseconds."""
import json
import pathlib
import sys

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def rows(name, report):
    for bench in report["benchmarks"]:
        if bench.get("run_type", "iteration") != "iteration":
            continue
        failed = bench.get("error_occurred", False)
        value = None if failed else bench["real_time"] * NANOSECONDS[bench["time_unit"]]
        yield {"name": f"micro/{name}/{bench['name']}/time", "value": value, "unit": "ns", "bar": None, "pass": not failed}


name, report, out = sys.argv[1:]
found = list(rows(name, json.loads(pathlib.Path(report).read_text())))
pathlib.Path(out).write_text(json.dumps({"schema": "tensorpager.bench/1", "rows": found}, indent=1) + "\n")
sys.exit(not all(row["pass"] for row in found))
