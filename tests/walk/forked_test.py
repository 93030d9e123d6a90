"""Jobs that fork and end in their own ways: the same output, the same exit codes, one file of counters."""
import sys
import unittest

from walk import BARE, OBSERVED, PROGRAM, TRAINER, Case, launched, lru, preloaded

FORK_IN_THE_MIDDLE = ["open", "work", "fork", "work", "fork", "work", "close", "plain", "counts"]

# The interpreter reaches the driver by dlopen and dlsym, forks, and the child ends as interpreters do.
PYTHON_FORKS = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, data = ctypes.c_void_p(), ctypes.c_uint64()
word = ctypes.c_uint32(0)
print(cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context))
print(cuda.cuMemAllocAsync(ctypes.byref(data), ctypes.c_size_t(1 << 22), None))
print(cuda.cuMemsetD32Async(data, 77, ctypes.c_size_t(1 << 20), None))
sys.stdout.flush()
child = os.fork()
if child == 0:
    print("child", cuda.cuMemsetD32Async(data, 99, ctypes.c_size_t(1 << 20), None))
    sys.exit(4)
print("exited", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(cuda.cuMemcpyDtoH_v2(ctypes.byref(word), data, ctypes.c_size_t(4)), word.value)
print(cuda.cuMemFreeAsync(data, None))
sys.exit(3)
"""


class Forks(Case):
    def assert_same(self, job, plain):
        self.assertEqual((job.code, job.out), (plain.code, plain.out), job.err)

    def assert_one_file_of_counters(self, job):
        self.assertEqual(len(list(job.folder.glob("pager*"))), 1)
        self.assertEqual(list((job.folder / "cwd").iterdir()), [])

    def test_a_job_that_forks_while_it_pages(self):
        plain = self.run_program(BARE, *FORK_IN_THE_MIDDLE)
        self.assert_ran(plain)
        self.assertEqual(plain.out.count("child 3\nparent: child exited 5\n"), 2)
        observed = self.run_program(OBSERVED, *FORK_IN_THE_MIDDLE)
        self.assert_same(observed, plain)
        budget = self.budget(observed, 50)
        for way in (launched, preloaded):
            with self.subTest(way=way.__name__):
                job = self.run_program(lru(budget, way), *FORK_IN_THE_MIDDLE)
                self.assert_same(job, plain)
                self.assert_paged(job, budget)
                self.assertEqual(job.pager["ops"], observed.pager["ops"])

    def test_the_child_writes_no_counters(self):
        settings = {"policy": "lru", "budget": "1GiB", "stats": "../pager.%p.json", "log": "error"}
        job = self.run_program((preloaded, settings), *FORK_IN_THE_MIDDLE)
        self.assert_ran(job)
        self.assert_one_file_of_counters(job)

    def test_an_interpreter_that_forks(self):
        command = [sys.executable, "-c", PYTHON_FORKS]
        plain = self.run_job(command, BARE)
        self.assertEqual((plain.code, plain.out.splitlines()[-2:]), (3, ["0 77", "0"]), plain.err)
        for way in (OBSERVED, lru(1 << 30, preloaded)):
            job = self.run_job(command, way)
            self.assert_same(job, plain)
            self.assert_one_file_of_counters(job)
            self.assertEqual(job.pager["ops"], {"launch": 0, "copy": 1, "memset": 1, "alloc": 1, "free": 1})


class Starts(Case):
    """The job is a child of what is started."""

    def test_exit_codes_and_output_of_shells(self):
        for script in (f"{TRAINER} --quiet --steps 1; exit 7", f"{PROGRAM} open nonsense", "echo out; echo err >&2; exit 9",
                       f"({PROGRAM} open close; exit 4) | cat; exit 6"):
            plain = self.run_job(["bash", "-c", script], BARE)
            for way in (OBSERVED, lru(1 << 30, preloaded, allocator="keep")):
                with self.subTest(script=script, way=way[0].__name__):
                    job = self.run_job(["bash", "-c", script], way)
                    self.assertEqual((job.code, job.out, job.err), (plain.code, plain.out, plain.err))

    def test_an_interpreter_that_starts_the_trainer(self):
        script = f"import subprocess, sys; sys.exit(subprocess.run(['{TRAINER}', '--quiet', '--steps', '2']).returncode + 11)"
        plain = self.run_job([sys.executable, "-c", script], BARE)
        self.assertEqual(plain.code, 11, plain.err)
        job = self.run_job([sys.executable, "-c", script], lru(500 << 20))
        self.assertEqual((job.code, job.out), (plain.code, plain.out))
        self.assert_paged(job, 500 << 20)


if __name__ == "__main__":
    unittest.main()
