"""Half the memory, under legal orders of the device: the bits do not depend on the order.

Use: seeds_test.py STREAMS FIRST_SEED LAST_SEED
"""
import sys
import unittest

from walk import BARE, OBSERVED, Case, lru

STREAMS, FIRST, LAST = (int(word) for word in sys.argv[1:4])
STEPS = 6


class Seeds(Case):
    def test_same_bits(self):
        reference = self.train(BARE, steps=STEPS, streams=STREAMS)
        budget = self.budget(self.train(OBSERVED, steps=STEPS, streams=STREAMS), 50)
        for seed in range(FIRST, LAST + 1):
            with self.subTest(seed=seed):
                job = self.train(lru(budget), steps=STEPS, streams=STREAMS, seed=seed)
                self.assert_same_training(job, reference)
                self.assert_paged(job, budget)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
