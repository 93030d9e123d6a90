"""Fails on a source file over 600 lines, or on a folder whose median file exceeds 400 lines."""
import pathlib
import statistics
import sys

FOLDERS = ["include", "policies", "runtime", "interpose", "profiler", "tests", "bench"]
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh"}
FILE_CAP, FOLDER_MEDIAN = 600, 400


def sizes(folder):
    return {p: len(p.read_text().splitlines()) for p in folder.rglob("*") if p.suffix in SUFFIXES}


def breaches(root):
    for name in FOLDERS:
        lines = sizes(root / name)
        yield from (f"{p.relative_to(root)}: {n} lines, the cap is {FILE_CAP}" for p, n in lines.items() if n > FILE_CAP)
        if lines and statistics.median(lines.values()) > FOLDER_MEDIAN:
            yield f"{name}/: median of {statistics.median(lines.values())} lines, the cap is {FOLDER_MEDIAN}"


found = list(breaches(pathlib.Path(sys.argv[1])))
print("\n".join(found) or "all files are within their caps")
sys.exit(bool(found))
