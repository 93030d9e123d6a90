"""A loop that fits: after its first steps no map, no unmap, no copy but the job's own (the driver's log)."""
import collections
import re
import unittest

from walk import BARE, OBSERVED, Case, lru

STEPS = 8
WARM_UP = 2
MAPPING = r"cuMem(Map|Unmap|Create|Release|SetAccess|AddressReserve|AddressFree)"
COPY = r"cuMemcpy\w+"


def calls_by_step(job):
    """A Counter a step. The job asks for the elapsed time once at the end of each step, the pager never."""
    steps = [collections.Counter()]
    for call in job.calls:
        steps[-1][call.name] += 1
        if call.name.startswith("cuEventElapsedTime"):
            steps.append(collections.Counter())
    return steps[:-1]  # what follows the last step is no step


def only(counter, form):
    return {name: n for name, n in counter.items() if re.fullmatch(form, name)}


class FittingLoop(Case):
    def check(self, streams):
        reference = self.train(BARE, steps=STEPS, streams=streams, log=True)
        budget = self.budget(self.train(OBSERVED, steps=STEPS, streams=streams), 120)
        job = self.train(lru(budget), steps=STEPS, streams=streams, log=True)
        self.assert_same_training(job, reference)
        self.assert_within(job, budget)
        self.assertEqual((job.pager["evictions"], job.pager["loads"]), (0, 0))
        plain, paged = calls_by_step(reference), calls_by_step(job)
        self.assertEqual((len(plain), len(paged)), (STEPS, STEPS))
        self.assertTrue(only(paged[0], MAPPING), "the first step maps, so that what is looked for can be found")
        for step in range(WARM_UP, STEPS):
            with self.subTest(step=step + 1):
                self.assertEqual(only(paged[step], MAPPING), {})
                self.assertEqual(only(paged[step], COPY), only(plain[step], COPY))
                self.assertEqual(paged[step]["cuLaunchKernel"], plain[step]["cuLaunchKernel"])

    def test_one_stream(self):
        self.check(1)

    def test_two_streams(self):
        self.check(2)


if __name__ == "__main__":
    unittest.main()
