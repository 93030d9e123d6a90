"""The budget walk: the same bits with no library, under `observe`, and in 75, 50 and 35 % of the tensors' peak."""
import unittest

from walk import BARE, OBSERVED, Case, launched, preloaded

STEPS = 12
RESERVE = 16 << 20  # driver_reserve: part of the fixed cost, and not expected to be used


class Budgets(Case):
    def setUp(self):
        super().setUp()
        self.reference = self.train(BARE, steps=STEPS)
        self.observed = self.train(OBSERVED, steps=STEPS)

    def walk(self, percent, way):
        budget = self.budget(self.observed, percent)
        job = self.train((way, {"budget": f"{budget}B"}), steps=STEPS)  # which selects the policy lru
        self.assert_same_training(job, self.reference)
        self.assert_paged(job, budget)
        self.assertEqual(job.pager["budget_bytes"], budget)
        fixed = job.pager["fixed_cost_bytes"]
        self.assertEqual(fixed, self.observed.pager["fixed_cost_bytes"])
        used = job.device["high_water_bytes"] - (fixed - RESERVE)
        self.assertGreaterEqual(used / (budget - fixed), 0.8)
        return job

    def test_observe_changes_nothing(self):
        self.assert_same_training(self.observed, self.reference)
        self.assertEqual(self.observed.pager["state"], "observing")
        self.assertEqual(self.observed.device["high_water_bytes"], self.reference.device["high_water_bytes"])
        self.assertEqual(self.observed.device["violations"], 0)

    def test_budgets(self):
        evictions = []
        for percent in (75, 50, 35):
            with self.subTest(percent=percent):
                evictions.append(self.walk(percent, launched).pager["evictions"])
        self.assertEqual(evictions, sorted(evictions), "less memory, more evictions")

    def test_by_preload_alone(self):
        for percent in (50, 35):
            with self.subTest(percent=percent):
                job = self.walk(percent, preloaded)
                self.assertEqual(job.pager["policy"], "lru")


if __name__ == "__main__":
    unittest.main()
