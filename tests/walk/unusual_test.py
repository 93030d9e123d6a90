"""What programs seldom do: the driver's answers and the bytes are the same with the library and without."""
import unittest

import walk

MIB = 1 << 20
FIXED = 16 * MIB  # what a context costs on the device of the profile `test`


class UnusualTest(walk.Case):

    def compare(self, act, *, budget=FIXED + 4 * MIB, **settings):
        runs = [self.run_job([str(walk.UNUSUAL), act], way, log=True, SIMGPU_PROFILE="test")
                for way in (walk.BARE, walk.lru(budget, driver_reserve="0B", **settings))]
        for job in runs:
            self.assert_ran(job)
        self.assertEqual(runs[1].out, runs[0].out, runs[1].err)
        self.assert_within_budget(runs[1], budget)
        return runs[1]

    def assert_within_budget(self, job, budget):
        self.assertEqual(job.device["violations"], 0, job.device["violation_lines"])
        self.assertLessEqual(job.device["high_water_bytes"], budget)

    def test_a_small_block_freed_twice(self):
        self.compare("small_block_freed_twice")

    def test_sizes_beyond_every_address(self):
        self.compare("sizes_beyond_every_address")

    def test_a_min_block_of_several_granules(self):
        for min_block in "1B", "100KiB", "1MiB":
            with self.subTest(min_block):
                self.compare("blocks_of_more_than_a_granule", min_block=min_block)

    def test_null_arguments(self):
        self.compare("null_arguments")

    def test_launches_without_parameters(self):
        job = self.compare("launches_without_parameters")
        self.assertNotIn("operands", job.err)

    def test_a_stream_that_is_gone(self):
        self.compare("a_stream_that_is_gone")

    def test_code_loaded_again_and_again(self):
        self.compare("code_loaded_again_and_again")

    def test_contexts_one_after_another(self):
        self.compare("contexts_one_after_another")

    def test_plain_memory_lost_with_contexts(self):
        for policy in "lru", "observe":
            with self.subTest(policy):
                self.compare("plain_memory_lost_with_contexts", policy=policy)

    def test_another_context_destroyed(self):
        self.compare("another_context_destroyed", budget=3 * FIXED + 4 * MIB)

    def test_narrow_rows(self):
        self.compare("narrow_rows")

    def test_captures_that_never_began(self):
        job = self.compare("captures_that_never_began")
        asked = [call for call in job.calls if call.name == "cuStreamIsCapturing"]
        self.assertLessEqual(len(asked), 1, "only what a new stream costs: no capture is under way")

    def test_exit_handlers_that_free(self):
        for policy in "lru", "observe":
            with self.subTest(policy):
                self.compare("exit_handlers_that_free", policy=policy)


if __name__ == "__main__":
    unittest.main()
