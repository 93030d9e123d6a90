#!/usr/bin/env python3
"""What bench/demo.sh computes from the files that its runs left: budgets, the table, the rows.

    demo_table.py budget RESULTS PERCENT       bytes: fixed cost + PERCENT of the peak of tensor bytes
    demo_table.py words RESULTS PERCENT        the same in words
    demo_table.py table RESULTS --device sim|gpu [--json FILE] PERCENT...
"""
import argparse
import json
import pathlib
import statistics
import sys

MIB = 1 << 20
ACCURACY_BAR = 0.95
USED_BAR = 0.8
WARM_UP_STEPS = 2  # the first steps of a run load kernels and make mappings


class Results:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def fixed_cost(self):
        return self.read("observe.runtime.json")["fixed_cost_bytes"]

    def tensor_peak(self):
        return self.read("observe.runtime.json")["tensor_peak_bytes"]

    def budget(self, percent):
        return self.fixed_cost() + self.tensor_peak() * percent // 100

    def peak(self, name, device):
        if device == "sim":
            return self.read(f"{name}.device.json")["high_water_bytes"]
        return self.read(f"{'observe' if name == 'none' else name}.runtime.json")["device_peak_bytes"]

    def used_share(self, name, device):
        """What the job occupied beyond contexts and code, of what its budget leaves for that; None where nobody can say."""
        if device != "sim" or name == "none":
            return None
        counts = self.read(f"{name}.device.json")
        occupied = counts["high_water_bytes"] - counts["context_bytes"] - counts["module_bytes"]
        return occupied / (self.budget(int(name)) - self.fixed_cost())

    def violations(self, name, device):
        return self.read(f"{name}.device.json")["violations"] if device == "sim" else 0


def step_time(run, steps):
    return statistics.median(run["step_ms"][WARM_UP_STEPS:steps])


def is_identical(run, reference):
    steps = run["steps"]
    same_losses = run["losses"] == reference["losses"][:steps]
    return same_losses and run["weights_checksum"] == reference["weights_checksum_at"].get(str(steps))


def table_rows(results, device, percents):
    reference = results.read("none.json")
    yield dict(name="none", budget=None, peak=results.peak("none", device), ms=step_time(reference, None), overhead=0.0,
               loss=reference["losses"][-1], accuracy=reference["test_accuracy"], identical=True,
               used_share=None, violations=results.violations("none", device), steps=reference["steps"])
    for percent in percents:
        name = str(percent)
        run = results.read(f"{name}.json")
        ms = step_time(run, None)
        yield dict(name=f"{name}%", budget=results.budget(percent), peak=results.peak(name, device), ms=ms,
                   overhead=ms / step_time(reference, run["steps"]) - 1.0, loss=run["losses"][-1],
                   accuracy=run["test_accuracy"], identical=is_identical(run, reference),
                   used_share=results.used_share(name, device), violations=results.violations(name, device), steps=run["steps"])


def in_mib(value):
    return "-" if value is None else f"{value / MIB:.1f} MiB"


def print_table(rows, results, device):
    clock = "virtual" if device == "sim" else "real"
    print(f"\nFixed cost {in_mib(results.fixed_cost())}, peak of tensors {in_mib(results.tensor_peak())}; "
          f"N % means fixed cost + N % of that peak.")
    print(f"Step times are {clock}: the median from step {WARM_UP_STEPS + 1} on. Overhead is against the same steps without the library.")
    source = "device's own high-water mark" if device == "sim" else "runtime's count"
    print(f"Peak is the {source}. Losses and accuracy are those after the row's steps.\n")
    form = "{:>6} {:>5} {:>12} {:>12} {:>11} {:>9} {:>12} {:>9}  {}"
    print(form.format("limit", "steps", "budget", "peak", "step", "overhead", "loss", "accuracy", "bits"))
    for row in rows:
        bits = "reference" if row["budget"] is None else "identical" if row["identical"] else "DIFFERENT"
        print(form.format(row["name"], row["steps"], in_mib(row["budget"]), in_mib(row["peak"]), f"{row['ms']:.3f} ms",
                          f"{row['overhead']:+.0%}", f"{row['loss']:.7f}", f"{row['accuracy']:.1%}", bits))
    print()


def complaints(rows):
    for row in rows:
        if row["budget"] is None and row["accuracy"] < ACCURACY_BAR:
            yield f"accuracy {row['accuracy']:.1%} is below {ACCURACY_BAR:.0%}"
        if row["budget"] is not None and row["peak"] > row["budget"]:
            yield f"{row['name']}: the peak of {row['peak']} bytes exceeds the budget of {row['budget']}"
        if row["used_share"] is not None and row["used_share"] < USED_BAR:
            yield f"{row['name']}: only {row['used_share']:.0%} of the budget beyond the fixed cost was used"
        if not row["identical"]:
            yield f"{row['name']}: losses or weights differ from the run without the library"
        if row["violations"]:
            yield f"{row['name']}: {row['violations']} violations of the device's protocol"


def bench_rows(rows):
    def row(name, value, unit, bar=None, passed=True):
        return {"name": f"demo/digits_cnn/{name}", "value": value, "unit": unit, "bar": bar, "pass": passed}

    for r in rows:
        fits = r["budget"] is None or r["peak"] <= r["budget"]
        yield row(f"{r['name']}/peak_bytes", r["peak"], "bytes", r["budget"], fits)
        yield row(f"{r['name']}/budget_bytes", r["budget"], "bytes")
        yield row(f"{r['name']}/overhead", r["overhead"], "fraction")
        yield row(f"{r['name']}/identical", int(r["identical"]), "boolean", 1, r["identical"])
        if r["budget"] is None:
            yield row("none/accuracy", r["accuracy"], "fraction", ACCURACY_BAR, r["accuracy"] >= ACCURACY_BAR)


def show_table(results, device, percents, json_file):
    rows = list(table_rows(results, device, percents))
    print_table(rows, results, device)
    wrong = list(complaints(rows))
    for line in wrong:
        print(f"FAILED: {line}")
    if json_file:
        document = {"schema": "tensorpager.bench/1", "rows": list(bench_rows(rows))}
        pathlib.Path(json_file).write_text(json.dumps(document, indent=1) + "\n")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("verb", choices=["budget", "words", "table"])
    parser.add_argument("results", type=Results)
    parser.add_argument("percents", type=int, nargs="+")
    parser.add_argument("--device", choices=["sim", "gpu"], default="sim")
    parser.add_argument("--json", default="")
    arguments = parser.parse_intermixed_args()
    results, percent = arguments.results, arguments.percents[0]
    if arguments.verb == "budget":
        print(results.budget(percent))
    elif arguments.verb == "words":
        print(f"{percent} %: {in_mib(results.budget(percent))} (fixed cost {in_mib(results.fixed_cost())} + {percent} % of "
              f"{in_mib(results.tensor_peak())})")
    else:
        return show_table(results, arguments.device, arguments.percents, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
