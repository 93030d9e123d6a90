"""The README's table of settings is what the program prints. Arguments: README.md, the tensorpager program."""
import subprocess
import sys

readme, program = sys.argv[1:]
begin, end = "<!-- made by `tensorpager config --markdown`; a test compares -->\n", "<!-- end of settings -->"
written = open(readme).read().split(begin)[1].split(end)[0].strip()
printed = subprocess.run([program, "config", "--markdown"], check=True, capture_output=True, text=True).stdout.strip()
if written != printed:
    sys.exit(f"README.md is behind. It should say:\n{printed}")
print("the README's settings are the program's")
