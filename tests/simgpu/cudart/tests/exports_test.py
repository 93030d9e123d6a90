"""The stand-in exports what NVIDIA's runtime exports by that name and version, and needs no driver to be loaded."""
import re
import subprocess
import sys


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True, text=True).stdout


def problems(library):
    dynamic = readelf("-d", library)
    if "Library soname: [libcudart.so.13]" not in dynamic:
        yield "its SONAME is not libcudart.so.13"
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    sanitizers = {name for name in needed if re.match(r"lib(asan|ubsan)", name)}
    if needed - sanitizers - {"libc.so.6", "libm.so.6", "libdl.so.2", "ld-linux-x86-64.so.2"}:
        yield f"it needs {sorted(needed)}"
    exported = re.findall(r"(?:FUNC|OBJECT)\s+GLOBAL\s+DEFAULT\s+\d+ (\S+)", readelf("--dyn-syms", library))
    names = [name for name in exported if name != "libcudart.so.13"]
    if len(names) < 100:
        yield f"only {len(names)} names are exported"
    for name in names:
        if not re.fullmatch(r"(__cuda|cuda)\w+@@libcudart\.so\.13", name):
            yield f"{name} is exported"


found = list(problems(sys.argv[1]))
print("\n".join(found) or "exports and needs are as they should be")
sys.exit(bool(found))
