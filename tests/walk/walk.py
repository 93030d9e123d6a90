"""Jobs on the simulated device, bare and under the library, and what they leave behind.

Paths come from the environment (CMakeLists.txt): WALK_LIBRARY, WALK_LAUNCHER, WALK_SIM, WALK_TRAINER, WALK_PROGRAM,
WALK_UNUSUAL.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

LIBRARY, LAUNCHER, SIM, TRAINER, PROGRAM, UNUSUAL = (
    pathlib.Path(os.environ[f"WALK_{name}"])
    for name in ("LIBRARY", "LAUNCHER", "SIM", "TRAINER", "PROGRAM", "UNUSUAL"))
# The folder of compiled kernels stays: all else that a user may have set would change the runs.
FOREIGN = ("TENSORPAGER_", "SIMGPU_", "LD_", "PYTORCH_", "TF_", "XLA_", "CUDA_", "WALK_")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN) or k == "SIMGPU_CACHE"}
TIMEOUT = 120

Call = collections.namedtuple("Call", "name result values")

# What the hooks count, by the names of the driver's calls.
OPS = {"launch": r"cuLaunch(Cooperative)?Kernel(Ex)?(_ptsz)?", "copy": r"cuMemcpy\w+", "memset": r"cuMemsetD\w+",
       "alloc": r"cuMemAlloc(Async|FromPoolAsync|_v2|Pitch_v2|Managed)(_ptsz)?", "free": r"cuMemFree(Async|_v2)(_ptsz)?"}


def bare(**settings):
    """As the user starts it without us; settings may still be in the environment."""
    return [], variables(settings) | {"LD_LIBRARY_PATH": str(SIM)}


def preloaded(**settings):
    """By LD_PRELOAD alone."""
    return [], {"LD_PRELOAD": str(LIBRARY), "LD_LIBRARY_PATH": str(SIM),
                "TENSORPAGER_DRIVER": str(SIM / "libcuda.so.1")} | variables(settings)


def launched(**settings):
    """By `tensorpager run`."""
    words = [word for key, value in settings.items() for word in ("--set", f"{key}:{value}")]
    return [LAUNCHER, "run", "--device", "sim", "--quiet", *words, "--"], {}


def variables(settings):
    return {f"TENSORPAGER_{key.upper()}": str(value) for key, value in settings.items()}


def lru(budget, way=launched, **settings):
    return way, {"policy": "lru", "budget": f"{budget}B"} | settings


BARE = (bare, {})
OBSERVED = (launched, {"policy": "observe"})


class Job:
    """A job that has ended."""

    def __init__(self, folder, process):
        self.folder, self.process = folder, process
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    @property
    def result(self):
        """The trainer's own."""
        return self.read("result.json")

    @property
    def device(self):
        return self.read("device.json")

    @property
    def pager(self):
        return self.read("pager.json")

    @property
    def log_text(self):
        return (self.folder / "calls.log").read_text()

    @property
    def calls(self):
        """The driver's log."""
        for line in self.log_text.splitlines():
            _, _, _, name, result, *values = line.split("\t")
            yield Call(name, int(result), dict(value.split("=", 1) for value in values))

    @property
    def lines(self):
        """What the library said."""
        return [line for line in self.err.splitlines() if line.startswith("tensorpager")]

    def op_counts(self):
        names = collections.Counter(call.name for call in self.calls)
        return {op: sum(n for name, n in names.items() if re.fullmatch(form, name)) for op, form in OPS.items()}


class Case(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="walk")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.jobs = 0

    def run_job(self, command, way, *, seed=0, log=False, **environment):
        """Runs it in an empty folder of its own; the files that it is asked to leave lie in another."""
        self.jobs += 1
        files = self.folder / f"job{self.jobs}"
        (files / "cwd").mkdir(parents=True)
        how, settings = way
        start, added = how(**settings if how is bare else {"stats": files / "pager.json"} | settings)
        device = {"SIMGPU_SEED": str(seed), "SIMGPU_STATS": str(files / "device.json")}
        if log:
            device["SIMGPU_LOG"] = str(files / "calls.log")
        home = {"HOME": str(files / "cwd"), "TMPDIR": str(files / "cwd")}
        process = subprocess.run([*start, *[word.replace("@", f"{files}/") for word in command]], cwd=files / "cwd",
                                 env=CLEAN | home | device | added | environment, capture_output=True, text=True,
                                 timeout=TIMEOUT)
        return Job(files, process)

    def train(self, way, *, steps, streams=1, **more):
        command = [str(TRAINER), "--quiet", "--json", "@result.json", "--steps", str(steps), "--streams", str(streams)]
        return self.run_job(command, way, **more)

    def run_program(self, way, *acts, **more):
        return self.run_job([str(PROGRAM), *acts], way, **more)

    def budget(self, job, percent):
        """Of an observed job: fixed cost + that share of the peak of its tensors."""
        return job.pager["fixed_cost_bytes"] + job.pager["tensor_peak_bytes"] * percent // 100

    def assert_ran(self, job):
        self.assertEqual(job.code, 0, job.err)

    def assert_same_training(self, job, reference):
        self.assert_ran(job)
        for key in ("losses", "weights_checksum", "losses_checksum", "test_accuracy"):
            self.assertEqual(job.result[key], reference.result[key], key)
        self.assertEqual(job.out, reference.out)

    def assert_within(self, job, budget):
        self.assertEqual(job.device["violations"], 0, job.device["violation_lines"])
        self.assertLessEqual(job.device["high_water_bytes"], budget)
        self.assertEqual(job.pager["state"], "paging")
        self.assertEqual((job.pager["refused_allocs"], job.pager["refused_ops"]), (0, 0))

    def assert_paged(self, job, budget):
        self.assert_within(job, budget)
        self.assertGreater(job.pager["evictions"], 0)
        self.assertGreater(job.pager["bytes_loaded"], 0)
