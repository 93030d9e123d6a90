#!/usr/bin/env python3
"""The demo's judge: what it accepts, and that it refuses every breach."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TABLE = pathlib.Path(__file__).with_name("demo_table.py")
MIB = 1 << 20


def trainer(steps, losses, weights, accuracy):
    return {"steps": steps, "losses": losses[:steps], "step_ms": [9.0] * 2 + [2.0] * (steps - 2), "test_accuracy": accuracy,
            "weights_checksum": weights, "weights_checksum_at": {"4": "aa"}}


class DemoTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        losses = [2.0, 1.5, 1.25, 1.0, 0.5, 0.25]
        self.write("none.json", trainer(6, losses, "bb", 0.96))
        self.write("50.json", trainer(4, losses, "aa", 0.5))
        self.write("observe.runtime.json", {"fixed_cost_bytes": 100 * MIB, "tensor_peak_bytes": 60 * MIB})
        self.write("none.device.json", self.device(170))
        self.write("50.device.json", self.device(128))

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))

    def change(self, name, **changes):
        self.write(name, json.loads((self.folder / name).read_text()) | changes)

    @staticmethod
    def device(peak_mib):
        return {"high_water_bytes": peak_mib * MIB, "context_bytes": 99 * MIB, "module_bytes": 0, "violations": 0}

    def run_table(self):
        out = self.folder / "rows.json"
        command = [sys.executable, TABLE, "table", self.folder, "--device", "sim", "--json", out, "50"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, {r["name"]: r for r in json.loads(out.read_text())["rows"]}

    def expect_refusal(self, words):
        code, text, _ = self.run_table()
        self.assertEqual(code, 1, text)
        self.assertIn(words, text)

    def test_accepts_equal_runs_within_the_budget(self):
        code, text, rows = self.run_table()
        self.assertEqual(code, 0, text)
        self.assertIn("identical", text)
        self.assertEqual(rows["demo/digits_cnn/50%/budget_bytes"]["value"], 130 * MIB)
        self.assertEqual(rows["demo/digits_cnn/50%/peak_bytes"]["value"], 128 * MIB)
        self.assertEqual(rows["demo/digits_cnn/50%/overhead"]["value"], 0.0)
        self.assertEqual(rows["demo/digits_cnn/none/accuracy"]["value"], 0.96)
        self.assertTrue(all(row["pass"] for row in rows.values()))
        self.assertEqual(len(rows), 9)

    def test_refuses_a_peak_above_the_budget(self):
        self.write("50.device.json", self.device(131))
        self.expect_refusal("exceeds the budget")

    def test_refuses_another_loss(self):
        self.change("50.json", losses=[2.0, 1.5, 1.25, 1.0000001])
        self.expect_refusal("differ from the run without the library")

    def test_refuses_other_weights(self):
        self.change("50.json", weights_checksum="ab")
        self.expect_refusal("differ from the run without the library")

    def test_refuses_a_budget_left_unused(self):
        self.write("50.device.json", self.device(110))
        self.expect_refusal("of the budget beyond the fixed cost was used")

    def test_refuses_a_low_accuracy(self):
        self.change("none.json", test_accuracy=0.9499)
        self.expect_refusal("accuracy")

    def test_refuses_a_violation(self):
        self.change("50.device.json", violations=1)
        self.expect_refusal("violations")


if __name__ == "__main__":
    unittest.main()
