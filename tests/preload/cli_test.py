"""The program `tensorpager`: exit codes, messages, and the environment that it gives to jobs.

Use: cli_test.py TENSORPAGER LIBRARY FAKE_DRIVER CALL_DRIVER STATIC_PROGRAM SOURCE_FOLDER
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TENSORPAGER, LIBRARY, FAKE, CALL_DRIVER, STATIC, SOURCE = (pathlib.Path(a).absolute() for a in sys.argv[1:7])
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("TENSORPAGER_", "LD_", "PYTORCH_", "TF_", "XLA_"))}
WORKS = "cuInit 0\ncuMemAlloc_v2 0\ncuMemFree_v2 0\nthreads 1\n"


def tensorpager(*words, program=TENSORPAGER, **variables):
    return subprocess.run([program, *words], capture_output=True, text=True, env=CLEAN | variables, timeout=60)


class Case(unittest.TestCase):
    def refused(self, *words, says, **variables):
        ran = tensorpager(*words, **variables)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""), ran.stderr)
        self.assertEqual(ran.stderr, "".join(f"tensorpager: {line}\n" for line in says))

    def folder(self, name="tensorpager"):
        folder = tempfile.TemporaryDirectory(prefix=name)
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)


class Verbs(Case):
    def test_typos_are_told(self):
        self.refused("rnu", says=['"rnu" is neither a verb nor a command. Did you mean "run"?  See: tensorpager --help'])
        self.refused("run", "--bugdet", "1GiB", "true",
                     says=['unknown option --bugdet. Did you mean "--budget"?  See: tensorpager run --help'])
        self.refused("run", says=["no command to run. Write: tensorpager run --budget 12GiB -- python train.py"])

    def test_a_later_verb_runs_no_program_of_that_name(self):
        self.refused("top", says=["this version has no verb top. To run a command of that name: tensorpager run -- top"])

    def test_help_ends_with_the_next_command(self):
        for words in ([], ["--help"], ["help"]):
            ran = tensorpager(*words)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertEqual(ran.stdout.splitlines()[-1], "tensorpager run --budget 12GiB -- python train.py")

    def test_version_names_the_library(self):
        ran = tensorpager("version")
        self.assertEqual(ran.returncode, 0)
        self.assertIn(str(LIBRARY), ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^CUDA +\d+\.\d+ \(headers\)$")
        self.assertEqual(ran.stdout.splitlines()[-1], "tensorpager config")


class Strictness(Case):
    def test_wrong_settings_end_it_before_the_job_starts(self):
        marker = self.folder() / "started"
        job = ("--", "touch", str(marker))
        no_unit = "has no unit. Write 20GiB (or 80%)."
        self.refused("run", "--budget", "20", *job, says=[f"--budget 20 {no_unit}"])
        self.refused("run", "--set", "budget:20", *job, says=[f"--set budget:20 {no_unit}"])
        self.refused("run", *job, says=[f"TENSORPAGER_BUDGET=20 {no_unit}"], TENSORPAGER_BUDGET="20")
        self.refused("run", *job, TENSORPAGER_CONF="policy:lru,budgt:20GiB",
                     says=['unknown setting "budgt" in TENSORPAGER_CONF (position 12). Did you mean "budget"?  '
                           "See: tensorpager config"])
        self.refused("run", *job, TENSORPAGER_BUDGT="20GiB",
                     says=["unknown variable TENSORPAGER_BUDGT. Did you mean TENSORPAGER_BUDGET?  See: tensorpager config"])
        self.refused("run", "--policy", "lur", *job, says=['--policy lur is none of: observe, lru. Did you mean "lru"?'])
        self.refused("run", "--log", "loud", *job, says=["--log loud is none of: error, warn, info, debug."])
        self.refused("run", "--set", "budget", *job,
                     says=["--set budget is no setting. Write --set key:value, as in --set budget:20GiB."])
        self.refused("run", "--device", "sum", *job, says=['unknown device "sum". Write --device sim, or sim:PROFILE.'])
        self.assertFalse(marker.exists())

    def test_a_missing_library_is_told(self):
        self.refused("run", "true", TENSORPAGER_LIB="/nonexistent.so",
                     says=["TENSORPAGER_LIB=/nonexistent.so is no file. Name libtensorpager.so, or unset it."])


class TheJob(Case):
    def job(self, *words, options=(), **variables):
        return tensorpager("run", "--set", f"driver:{FAKE}", *options, "--", *words, **variables)

    def test_exit_codes_are_the_jobs(self):
        self.assertEqual(self.job(CALL_DRIVER).returncode, 0)
        self.assertEqual(self.job("bash", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.job("bash", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        missing = self.job("./nosuch")
        self.assertEqual((missing.returncode, missing.stderr), (127, "tensorpager: ./nosuch: No such file or directory\n"))
        denied = self.job("/etc/passwd")
        self.assertEqual((denied.returncode, denied.stderr), (126, "tensorpager: /etc/passwd: Permission denied\n"))

    def test_exit_codes_survive_ignored_children(self):
        script = f'trap "" CHLD; exec "{TENSORPAGER}" run -q --set driver:{FAKE} -- bash -c "exit 7"'
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=CLEAN, timeout=60)
        self.assertEqual(ran.returncode, 7, ran.stderr)

    def test_nothing_is_added_to_its_output(self):
        ran = self.job(CALL_DRIVER)
        self.assertEqual((ran.stdout, ran.stderr), (WORKS, ""))

    def test_input_and_terminal_group_are_its_own(self):
        ran = subprocess.run([TENSORPAGER, "run", "-q", "cat"], input="words\n", capture_output=True, text=True, env=CLEAN)
        self.assertEqual(ran.stdout, "words\n")
        groups = tensorpager("run", "-q", "python3", "-c", "import os; print(os.getpgid(0) == os.getpgid(os.getppid()))")
        self.assertEqual(groups.stdout, "True\n")

    def test_signals_reach_it(self):
        script = "import signal, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(9)); print('up', flush=True); signal.pause()"
        with subprocess.Popen([TENSORPAGER, "run", "-q", "python3", "-c", script], stdout=subprocess.PIPE, env=CLEAN) as run:
            self.assertEqual(run.stdout.readline(), b"up\n")
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(timeout=20), 9)

    def test_it_does_not_outlive_a_killed_launcher(self):
        script = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        with subprocess.Popen([TENSORPAGER, "run", "-q", "python3", "-c", script], stdout=subprocess.PIPE, env=CLEAN) as run:
            job = int(run.stdout.readline())
            run.kill()
            run.wait(timeout=20)
        for _ in range(200):
            try:
                if pathlib.Path(f"/proc/{job}/stat").read_text().split()[2] == "Z":
                    return
            except FileNotFoundError:
                return
            time.sleep(0.05)
        self.fail("the job is still there")

    def test_a_command_without_a_verb_is_run(self):
        self.assertEqual(tensorpager("bash", "-c", "exit 5").returncode, 5)
        self.assertEqual(tensorpager("-q", "--", "bash", "-c", "exit 5").returncode, 5)

    def test_options_after_the_command_are_the_commands(self):
        ran = tensorpager("run", "-q", "python3", "-c", "import sys; print(sys.argv[1:])", "--budget", "x", "--", "-q")
        self.assertEqual(ran.stdout, "['--budget', 'x', '--', '-q']\n")

    def test_a_library_that_was_never_loaded_is_told(self):
        ran = self.job(STATIC)
        self.assertEqual(ran.returncode, 3)
        self.assertRegex(ran.stderr, r"^tensorpager: static_program exited 3 but the library was never loaded in it \(pid \d+\)\. "
                                     r"Likely: a static binary, setuid, or a wrapper that clears the environment\. Check: .*\n$")
        self.assertEqual(self.job(STATIC, options=["-q"]).stderr, "")
        self.assertEqual(self.job(STATIC, options=["--set", "disable:1"]).stderr, "")

    def test_a_job_without_cuda_calls_is_told(self):
        ran = self.job("true")
        self.assertRegex(ran.stderr, r"^tensorpager: loaded, but no CUDA call was seen: .*\n$")

    def test_children_count(self):
        self.assertEqual(self.job("bash", "-c", f"{CALL_DRIVER} | cat").stderr, "")

    def test_an_own_file_under_the_pipes_number_stays_clean(self):
        # A job may close what it inherited and reuse the number for a file.
        log = self.folder() / "own.log"
        script = ("import os, subprocess, sys; fd = int(os.environ['TENSORPAGER_INTERNAL_HELLO'].split(':')[0]);"
                  f"f = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT); os.dup2(f, fd); os.set_inheritable(fd, True);"
                  f"subprocess.run([{str(CALL_DRIVER)!r}], close_fds=False)")
        self.assertEqual(self.job("python3", "-c", script).stdout, WORKS)
        self.assertEqual(log.read_text(), "")


class TheEnvironment(Case):
    def dry_run(self, *options, program=TENSORPAGER, **variables):
        ran = tensorpager("run", "--dry-run", *options, "--", "train", "a b", program=program, **variables)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_is_printed_by_a_dry_run(self):
        links = LIBRARY.parent / "links"
        self.assertEqual(self.dry_run("--budget", "1GiB", "--host-budget", "50%", "--policy", "lru"),
                         f"env LD_LIBRARY_PATH={links} LD_PRELOAD={LIBRARY} TENSORPAGER_BUDGET=1GiB "
                         "TENSORPAGER_HOST_BUDGET=50% TENSORPAGER_POLICY=lru train 'a b'\n")

    def test_keeps_what_was_preloaded(self):
        shown = self.dry_run(LD_PRELOAD="/lib/x86_64-linux-gnu/libm.so.6", LD_LIBRARY_PATH="/tmp")
        self.assertIn(f"LD_PRELOAD={LIBRARY}:/lib/x86_64-linux-gnu/libm.so.6 ", shown)
        self.assertIn(f"LD_LIBRARY_PATH={LIBRARY.parent}/links:/tmp ", shown)

    def test_both_names_lead_to_the_same_library(self):
        for name in ("libcuda.so", "libcuda.so.1"):
            self.assertTrue((LIBRARY.parent / "links" / name).samefile(LIBRARY))
            ran = tensorpager("run", "--set", f"driver:{FAKE}", "--", CALL_DRIVER, name)
            self.assertEqual((ran.stdout, ran.stderr), (WORKS, ""))

    def test_a_path_with_spaces_works(self):
        prefix = self.folder("a path with spaces")
        (prefix / "bin").mkdir()
        shutil.copy(TENSORPAGER, prefix / "bin")
        below = os.path.relpath(LIBRARY.parent, TENSORPAGER.parent.parent)
        shutil.copytree(LIBRARY.parent, prefix / below, symlinks=True)
        ran = tensorpager("run", "--set", f"driver:{FAKE}", "--", CALL_DRIVER, program=prefix / "bin/tensorpager")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, WORKS, ""))

    def test_the_simulated_device_is_used_by_name(self):
        prefix = self.folder()
        (prefix / "bin").mkdir()
        shutil.copy(TENSORPAGER, prefix / "bin")
        folder = prefix / os.path.relpath(LIBRARY.parent, TENSORPAGER.parent.parent)
        folder.mkdir(parents=True)
        for name in ("libtensorpager.so", "libjemalloc.so.2"):
            (folder / name).symlink_to(LIBRARY.parent / name)
        program = prefix / "bin/tensorpager"
        ran = tensorpager("run", "--device", "sim", "true", program=program)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("the simulated device is not installed", ran.stderr)
        (folder / "sim").mkdir()
        (folder / "sim/libcuda.so.1").symlink_to(FAKE)
        shown = self.dry_run("--device", "sim:titanx,skew", program=program)
        self.assertIn(f"LD_LIBRARY_PATH={folder}/links:{folder}/sim ", shown)
        self.assertIn(f"SIMGPU_PROFILE=titanx,skew TENSORPAGER_DRIVER={folder}/sim/libcuda.so.1 ", shown)


class Config(Case):
    def test_table_shows_who_set_what(self):
        ran = tensorpager("config", TENSORPAGER_BUDGET="1GiB", TENSORPAGER_CONF="log:info")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        rows = {line.split()[0]: line.split() for line in ran.stdout.splitlines() if line}
        self.assertEqual(rows["budget"][1:3], ["1GiB", "TENSORPAGER_BUDGET"])
        self.assertEqual(rows["log"][1:3], ["info", "TENSORPAGER_CONF"])
        self.assertEqual(rows["policy"][1:3], ["lru", "default"])
        self.assertEqual(ran.stdout.splitlines()[-1], "tensorpager run --budget 12GiB -- python train.py")

    def test_json_has_every_setting(self):
        page = json.loads(tensorpager("config", "--json").stdout)
        self.assertEqual(page["schema"], "tensorpager.config/1")
        table = (SOURCE / "include/tensorpager/options.def").read_text()
        self.assertEqual(len(page["settings"]), table.count("\nTENSORPAGER_OPTION("))

    def test_wrong_settings_are_shown_and_told(self):
        ran = tensorpager("config", TENSORPAGER_BUDGET="20")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr, "tensorpager: TENSORPAGER_BUDGET=20 has no unit. Write 20GiB (or 80%).\n")

    def test_pages_are_the_golden_ones(self):
        for form in ("markdown", "man"):
            golden = (SOURCE / f"tests/golden/config.{form}").read_text()
            self.assertEqual(tensorpager("config", f"--{form}").stdout, golden)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
