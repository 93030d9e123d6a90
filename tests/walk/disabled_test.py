"""TENSORPAGER_DISABLE=1: the driver gets the calls that it gets without us; no thread, no file, no line."""
import unittest

from walk import BARE, Case, launched, preloaded

ACTS = ["open", "work", "threads", "close", "plain", "threads"]


class Disabled(Case):
    def ways(self):
        told = {"disable": "1", "budget": "1GiB", "policy": "lru", "log": "debug", "log_file": self.folder / "log"}
        yield preloaded, {"disable": "1"}
        yield preloaded, told
        yield launched, told

    def check(self, run):
        plain = run(BARE)
        self.assert_ran(plain)
        self.assertIn("cuLaunchKernel", plain.log_text)
        for way in self.ways():
            with self.subTest(way=way):
                job = run(way)
                self.assertEqual((job.code, job.out, job.err), (plain.code, plain.out, plain.err))
                self.assertTrue(job.log_text == plain.log_text, "the driver's log differs")
                self.assertEqual(sorted(p.name for p in job.folder.iterdir()), sorted(p.name for p in plain.folder.iterdir()))
                self.assertEqual(list((job.folder / "cwd").iterdir()), [])
                self.assertFalse((self.folder / "log").exists())

    def test_the_trainer(self):
        for seed in (0, 3):
            self.check(lambda way: self.train(way, steps=2, streams=2, seed=seed, log=True))

    def test_a_program_linked_to_the_driver(self):
        self.check(lambda way: self.run_program(way, *ACTS, log=True))

    def test_the_comparison_can_fail(self):
        plain, other = (self.train(way, steps=1, log=True) for way in (BARE, (preloaded, {"policy": "observe"})))
        self.assertNotEqual(plain.log_text, other.log_text)
        self.assertTrue((other.folder / "pager.json").exists())


class Managed(Case):
    def test_no_thread_of_ours(self):
        plain = self.run_program(BARE, *ACTS)
        for settings in ({"policy": "observe"}, {"policy": "lru", "budget": "1GiB"}):
            job = self.run_program((preloaded, settings), *ACTS)
            self.assert_ran(job)
            self.assertEqual(job.out, plain.out)


if __name__ == "__main__":
    unittest.main()
