"""What cannot work is told in one line, and the program gets the driver's own codes."""
import unittest

from walk import BARE, OBSERVED, Case, bare, launched, lru, preloaded

CHUNK = 2 << 20
NO_DEVICE = 100
OUT_OF_MEMORY = 2


class Budget(Case):
    def test_below_the_largest_op(self):
        fixed = self.train(OBSERVED, steps=1).pager["fixed_cost_bytes"]
        for way in (launched, preloaded):
            with self.subTest(way=way.__name__):
                budget = fixed + 3 * CHUNK
                job = self.train(lru(budget, way, allocator="keep"), steps=1)
                self.assertEqual(job.code, 1)
                self.assertIn("out of memory (cudaErrorMemoryAllocation)", job.err)
                self.assertEqual(len(job.lines), 1, job.err)
                self.assertRegex(job.lines[0], r"error budget: a launch of _Z\S+ \(op \d+ of its stream\).* needs \d+\.\d MiB at once")
                self.assertEqual(job.pager["refused_ops"], 1)
                self.assertLessEqual(job.device["high_water_bytes"], budget)
                self.assertEqual(job.device["violations"], 0)

    def test_below_the_fixed_cost(self):
        job = self.train(lru(400 << 20, preloaded, allocator="keep"), steps=1)
        self.assertEqual(job.code, 1)
        self.assertIn("out of memory (cudaErrorMemoryAllocation)", job.err)
        # One line at the start says why nothing can fit, one what was refused.
        self.assertEqual(len(job.lines), 2, job.err)
        self.assertRegex(job.lines[0], r"400\.0 MiB leave no room for tensors: context and code take \d+\.\d")
        self.assertRegex(job.lines[1], r"out of memory: asked [1-9]\d* KiB")
        self.assertEqual(job.device["violations"], 0)

    def test_above_the_device(self):
        job = self.train(lru(96 << 30, preloaded, allocator="keep"), steps=1)
        self.assertEqual(job.code, 0, job.err)
        self.assertEqual(len(job.lines), 1, job.err)
        self.assertRegex(job.lines[0], r"budget 96\.0 GiB exceeds the GPU's 40\.0 GiB\. Going on with those")

    def test_observe_only_refuses(self):
        observed = self.train(OBSERVED, steps=1)
        budget = self.budget(observed, 50)
        job = self.train((preloaded, {"policy": "observe", "budget": f"{budget}B"}), steps=1)
        self.assertEqual(job.code, 1)
        self.assertIn("out of memory (cudaErrorMemoryAllocation)", job.err)
        self.assertEqual(len(job.lines), 1, job.err)
        self.assertRegex(job.lines[0], r"out of memory: asked [1-9]\d* KiB.*policy observe moves nothing")
        self.assertLessEqual(job.device["high_water_bytes"], budget)


class Settings(Case):
    def test_preloaded_they_pass_everything_through(self):
        plain = self.train(BARE, steps=2, log=True)
        for settings, part in (({"budget": "12"}, "TENSORPAGER_BUDGET=12 has no unit"),
                               ({"budget": "12parsecs"}, "TENSORPAGER_BUDGET=12parsecs"),
                               ({"budget": "1GiB", "policy": "lruu"}, "TENSORPAGER_POLICY=lruu")):
            with self.subTest(settings=settings):
                job = self.train((preloaded, settings), steps=2, log=True)
                self.assert_same_training(job, plain)
                self.assertEqual(len(job.lines), 1, job.err)
                self.assertIn(part, job.lines[0])
                self.assertTrue(job.log_text == plain.log_text, "the driver's log differs")

    def test_the_launcher_refuses_before_the_job_starts(self):
        for settings in ({"budget": "12"}, {"budget": "1GiB", "policy": "lruu"}, {"budgt": "1GiB"}):
            with self.subTest(settings=settings):
                job = self.train((launched, settings), steps=1, log=True)
                self.assertEqual((job.code, job.out), (2, ""))
                self.assertEqual(len(job.lines), 1, job.err)
                self.assertFalse((job.folder / "calls.log").exists())
                self.assertFalse((job.folder / "result.json").exists())


class Driver(Case):
    def test_none_is_found(self):
        way = preloaded, {"driver": "/nonexistent/libcuda.so.1"}
        job = self.run_program(way)
        self.assertEqual((job.code, job.out), (1, ""))
        self.assertIn(f"cuInit(0): {NO_DEVICE}", job.err)
        self.assertEqual(len(job.lines), 1, job.err)
        self.assertIn("/nonexistent/libcuda.so.1", job.lines[0])

    def test_none_is_found_by_the_runtime_library(self):
        job = self.train((preloaded, {"driver": "/nonexistent/libcuda.so.1"}), steps=1)
        self.assertEqual((job.code, job.out), (1, ""))
        self.assertRegex(job.err, r"cudaError(NoDevice|InsufficientDriver)")
        self.assertEqual(len(job.lines), 1, job.err)


class Code(Case):
    def test_an_unknown_form_is_refused_at_load_by_name(self):
        plain = self.run_program(BARE, "unknown_form", "plain")
        self.assert_ran(plain)
        self.assertRegex(plain.out, r"^unknown_form 218 .*odd_kernel.*frobnicate\.rn\.u32")
        self.assertRegex(plain.err, r"^simgpu: code refused: .*odd_kernel.*frobnicate\.rn\.u32.*\n$")
        for way in (OBSERVED, lru(1 << 30, preloaded, allocator="keep")):
            job = self.run_program(way, "unknown_form", "plain")
            self.assertEqual((job.code, job.out, job.err), (plain.code, plain.out, plain.err))


if __name__ == "__main__":
    unittest.main()
