"""The library as a file, and preloaded into programs: exports, needs, harmlessness, the ways to the real driver.

Use: preload_test.py LIBRARY FAKE_DRIVER CALL_DRIVER SOURCE_FOLDER OBJECT...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LIBRARY, FAKE, CALL_DRIVER, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
OBJECTS = sys.argv[5:]
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("TENSORPAGER_", "LD_", "PYTORCH_", "TF_", "XLA_"))}
WORKS = "cuInit 0\ncuMemAlloc_v2 0\ncuMemFree_v2 0\nthreads 1\n"
NO_DEVICE = WORKS.replace(" 0", " 100")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def driver_names():
    table = (SOURCE / "runtime/driver_symbols.def").read_text()
    return sorted(re.findall(r"^TENSORPAGER_DRIVER_SYMBOL\((\w+),", table, re.M))


class AFile(unittest.TestCase):
    def test_exports_the_drivers_names_and_no_other(self):
        lines = output("nm", "-D", "--defined-only", LIBRARY).splitlines()
        self.assertEqual(sorted(line.split()[-1] for line in lines), driver_names())

    def test_needs_only_what_is_everywhere(self):
        rows = re.findall(r"\((NEEDED|SONAME|RUNPATH|RPATH)\).*\[(.*)\]", output("readelf", "-d", LIBRARY))
        golden = (SOURCE / "tests/golden/libtensorpager.dynamic").read_text()
        self.assertEqual("".join(f"{kind} {name}\n" for kind, name in sorted(rows)), golden)

    def test_jemalloc_lies_beside_it_and_replaces_nothing(self):
        jemalloc = LIBRARY.parent / "libjemalloc.so.2"
        names = {line.split()[-1] for line in output("nm", "-D", "--defined-only", jemalloc).splitlines()}
        self.assertIn("mallocx", names)
        self.assertFalse({n for n in names if n in ("malloc", "free", "calloc", "realloc") or n.startswith("_Z")})
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", jemalloc))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6"})

    def test_never_ends_or_interrupts_the_program(self):
        forbidden = {"exit", "_exit", "_Exit", "quick_exit", "abort", "__assert_fail", "raise", "kill", "tgkill", "signal",
                     "sigaction", "__cxa_throw", "printf", "puts", "putchar", "stdout", "_ZSt4cout"}
        # fmt, header-only, throws what format_log catches.
        logs = {"allocator_settings.cpp.o", "start.cpp.o", "substitute.cpp.o"}
        for path in OBJECTS:
            used = {line.split()[-1] for line in output("nm", "-u", path).splitlines()}
            if pathlib.Path(path).name in logs:
                used.discard("__cxa_throw")
            self.assertFalse(used & forbidden, f"{path} uses {used & forbidden}")


class Preloaded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_in_folder(self, *command, preload=True, **variables):
        environment = CLEAN | {"HOME": str(self.folder)} | variables
        if preload:
            environment["LD_PRELOAD"] = str(LIBRARY)
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=self.folder, timeout=30)

    def call_driver(self, *arguments, **variables):
        return self.run_in_folder(CALL_DRIVER, *arguments, **variables)

    def assert_lines(self, text, *parts):
        lines = text.splitlines()
        self.assertEqual(len(lines), len(parts), text)
        for line, part in zip(lines, parts):
            self.assertTrue(line.startswith("tensorpager"), line)
            self.assertIn(part, line)


class InProgramsWithoutCuda(Preloaded):
    def check(self, *command):
        for settings in ({}, {"TENSORPAGER_BUDGET": "1GiB"}, {"TENSORPAGER_BUDGET": "1"}, {"TENSORPAGER_DISABLE": "1"}):
            with self.subTest(command=command, settings=settings):
                plain = self.run_in_folder(*command, preload=False, **settings)
                loaded = self.run_in_folder(*command, **settings)
                self.assertEqual((loaded.returncode, loaded.stdout, loaded.stderr),
                                 (plain.returncode, plain.stdout, plain.stderr))
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_true(self):
        self.check("true")
        self.check("false")

    def test_bash(self):
        self.check("bash", "-c", "x=$(echo 7); export y=$x; bash -c 'echo $y; exit 3'")

    def test_git(self):
        self.check("git", "--version")
        self.check("git", "-C", str(SOURCE), "config", "--list", "--show-origin")

    def test_python(self):
        self.check("python3", "-c", "import os, threading, ctypes; print(len(os.listdir('/proc/self/task')),"
                   "len(os.listdir('/proc/self/fd')), os.fork() and os.wait()[1])")

    def test_nothing_is_opened_at_load(self):
        maps = self.run_in_folder("python3", "-c", "print(open('/proc/self/maps').read())", LD_LIBRARY_PATH=str(FAKE.parent))
        self.assertIn(str(LIBRARY), maps.stdout)
        self.assertNotIn(str(FAKE), maps.stdout)


class TheRealDriver(Preloaded):
    def test_is_the_one_that_is_named(self):
        self.assertEqual(self.call_driver(TENSORPAGER_DRIVER=str(FAKE)).stdout, WORKS)

    def test_is_searched_along_the_library_path_and_is_never_ourselves(self):
        links = self.folder / "links"
        links.mkdir()
        for name in ("libcuda.so", "libcuda.so.1"):
            (links / name).symlink_to(LIBRARY)
        path = f"{links}:/nonexistent:{FAKE.parent}"
        for asked in ("libcuda.so", "libcuda.so.1", str(links / "libcuda.so.1")):
            with self.subTest(asked=asked):
                ran = self.call_driver(asked, LD_LIBRARY_PATH=path, TENSORPAGER_BUDGET="1")
                self.assertEqual(ran.stdout, WORKS)

    def test_that_is_not_there_is_no_device(self):
        ran = self.call_driver(TENSORPAGER_DRIVER="/nonexistent/libcuda.so.1")
        self.assertEqual((ran.returncode, ran.stdout), (0, NO_DEVICE))
        self.assert_lines(ran.stderr, "the driver that TENSORPAGER_DRIVER names cannot be opened: "
                          "/nonexistent/libcuda.so.1: no such file. Correct it, or leave it out.")

    def test_that_is_no_library_is_no_device(self):
        text = self.folder / "libcuda.so.1"
        text.write_text("not a library\n")
        ran = self.call_driver(TENSORPAGER_DRIVER=str(text))
        self.assertEqual((ran.returncode, ran.stdout), (0, NO_DEVICE))
        self.assert_lines(ran.stderr, "cannot be opened")


class LinkedPrograms(Preloaded):
    def first_calls(self, **variables):
        programs = CALL_DRIVER.parent
        libraries = [programs / f"liblate_library_{n}.so" for n in range(1, 5)]
        return self.run_in_folder(programs / "first_calls", *libraries, **variables)

    def test_get_the_hooks_too(self):
        ran = self.first_calls(TENSORPAGER_DRIVER=str(FAKE), TENSORPAGER_BUDGET="20")
        self.assertEqual((ran.returncode, ran.stdout), (0, "8\n"))
        self.assert_lines(ran.stderr, "TENSORPAGER_BUDGET=20 has no unit.")

    def test_first_calls_of_many_threads_and_constructors_end(self):
        for _ in range(20):
            ran = self.first_calls(TENSORPAGER_DRIVER=str(FAKE))
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "8\n", ""))


class Settings(Preloaded):
    def logged(self, **variables):
        log = self.folder / "driver.log"
        ran = self.call_driver(FAKE_CUDA_LOG=str(log), **variables)
        calls = log.read_text()
        log.unlink()
        self.assertEqual((ran.returncode, ran.stdout), (0, WORKS))
        return ran, calls

    def test_disabled_makes_the_calls_of_a_bare_run(self):
        _, bare = self.logged(preload=False, LD_LIBRARY_PATH=str(FAKE.parent))
        ran, disabled = self.logged(TENSORPAGER_DRIVER=str(FAKE), TENSORPAGER_DISABLE="1", TENSORPAGER_BUDGET="1GiB",
                                    TENSORPAGER_STATS=str(self.folder / "stats.json"))
        self.assertEqual(disabled, bare)
        self.assertEqual(ran.stderr, "")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_bad_ones_are_one_line_and_everything_passes_through(self):
        _, bare = self.logged(preload=False, LD_LIBRARY_PATH=str(FAKE.parent))
        ran, passed = self.logged(TENSORPAGER_DRIVER=str(FAKE), TENSORPAGER_BUDGET="20", TENSORPAGER_POLICY="none")
        self.assertEqual(passed, bare)
        self.assert_lines(ran.stderr, "TENSORPAGER_BUDGET=20 has no unit. Write 20GiB (or 80%).")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
