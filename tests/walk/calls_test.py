"""Calls that the hooks saw = calls that the driver logged, and what the program says that it made."""
import re
import unittest

from walk import BARE, OBSERVED, Case, lru, preloaded

ACTS = ["open", "work", "work", "close", "plain"]


class Calls(Case):
    def check(self, job):
        self.assert_ran(job)
        seen = job.op_counts()
        self.assertEqual(job.pager["ops"], seen)
        for op, count in seen.items():
            self.assertGreater(count, 0, op)
        return seen

    def test_of_the_runtime_library(self):
        bare = self.train(BARE, steps=4, streams=2, log=True)
        for way in (OBSERVED, (preloaded, {})):
            with self.subTest(way=way[0].__name__):
                job = self.train(way, steps=4, streams=2, log=True)
                self.assertEqual(self.check(job), bare.op_counts())

    def test_of_a_program_linked_to_the_driver(self):
        for way in (OBSERVED, (preloaded, {})):
            with self.subTest(way=way[0].__name__):
                job = self.run_program(way, *ACTS, "counts", log=True)
                seen = self.check(job)
                told = dict(re.findall(r"(\w+)=(\d+)", job.out.splitlines()[-1]))
                self.assertEqual({op: int(n) for op, n in told.items()}, seen)

    def test_the_pager_forwards_each_op_once(self):
        observed = self.run_program(OBSERVED, *ACTS)
        job = self.run_program(lru(self.budget(observed, 50)), *ACTS, "counts", log=True)
        self.assert_ran(job)
        self.assertGreater(job.pager["evictions"], 0)
        seen = job.op_counts()
        told = {op: int(n) for op, n in re.findall(r"(\w+)=(\d+)", job.out.splitlines()[-1])}
        self.assertEqual(job.pager["ops"], told)
        self.assertEqual((seen["launch"], seen["memset"]), (told["launch"], told["memset"]))
        self.assertGreater(seen["copy"], told["copy"], "evictions and loads are copies of the pager's")


if __name__ == "__main__":
    unittest.main()
