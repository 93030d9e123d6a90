"""Fails on an include across a forbidden border: a folder includes only itself and the folders above it."""
import pathlib
import re
import sys

ALLOWED = {
    "include": {"tensorpager"},
    "policies": {"tensorpager", "policies"},
    "runtime": {"tensorpager", "policies", "runtime"},
    "interpose": {"tensorpager", "policies", "runtime", "interpose"},
    "profiler": {"tensorpager", "policies", "profiler"},
}
FOLDERS = {"tensorpager", "policies", "runtime", "interpose", "profiler", "tests", "bench"}
# The two tables that all may read (options.def lies in include/ anyway).
SHARED = {"runtime/driver_symbols.def"}
# policies/ is pure planning: no CUDA, no threads.
FORBIDDEN_SYSTEM = {"policies": re.compile(r"cuda\.h|cuda_runtime.*|thread|mutex|atomic")}


def breaches(root):
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".cu", ".cuh", ".def", ".S"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                if not match:
                    continue
                included, top = match[2], match[2].split("/")[0]
                pure = FORBIDDEN_SYSTEM.get(folder)
                crosses = included not in SHARED and top in FOLDERS and top not in allowed
                relative = match[1] == '"' and top not in FOLDERS
                if crosses or relative or (pure and pure.fullmatch(included)):
                    yield f"{path.relative_to(root)}:{number}: {folder}/ may not include {included}"


found = list(breaches(pathlib.Path(sys.argv[1])))
print("\n".join(found) or "no include crosses a border")
sys.exit(bool(found))
