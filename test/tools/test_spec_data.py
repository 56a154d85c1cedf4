# Part of Hocket, under the Apache License v2.0.
"""Data that the specification names, and options that take its place."""

import json
import pathlib
import tempfile
import unittest

from programs import hocket

SPEC = """model {
  layers: 1 hidden: 8 heads: 2 ffn: 16 vocab_size: 257 max_positions: 16
}
training {
  micro_batch_size: 2 train_samples: 12 seed: 7
  validation { interval: 3 batches: 2 }
  data {
    train { path: "a" weight: 0.75 }
    train { path: "b" weight: 0.25 }
    valid { path: "c" }
  }
}
"""


class SpecDataTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name, text in (("a", "to be "), ("b", "or not "), ("c", "that is ")):
            (self.folder / f"{name}.txt").write_text(text * 200)
            self.must("data", "prepare", f"{name}.txt", "-o", name)
        (self.folder / "spec.textproto").write_text(SPEC)
        plain = SPEC[: SPEC.index("  data {")] + "}\n"
        (self.folder / "plain.textproto").write_text(plain)
        for name in ("spec", "plain"):
            self.must("compile", f"{name}.textproto", "-o", f"{name}.hkx")

    def run_here(self, *arguments):
        return hocket(*arguments, cwd=self.folder)

    def must(self, *arguments):
        done = self.run_here(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def losses(self, *arguments):
        self.must("train", *arguments, "--log", "log", "--overwrite")
        lines = (self.folder / "log").read_text().splitlines()
        return [line.get("loss", line.get("valid_loss"))
                for line in map(json.loads, lines)]  # fmt: skip

    def test_it_is_what_the_options_say(self):
        asked = ("--data", "0.75", "a", "0.25", "b", "--valid-data", "c")
        expected = self.losses("plain.hkx", *asked)
        self.assertEqual(len(expected), 6 + 2)
        self.assertEqual(self.losses("spec.hkx"), expected)
        self.assertEqual(self.losses("spec.textproto"), expected)

    def test_options_take_its_place(self):
        expected = self.losses("plain.hkx", "--data", "c", "--valid-data", "c")
        self.assertEqual(self.losses("spec.hkx", "--data", "c"), expected)
        expected = self.losses("plain.hkx", "--data", "0.75", "a", "0.25", "b",
                               "--valid-data", "b")  # fmt: skip
        self.assertEqual(self.losses("spec.hkx", "--valid-data", "b"), expected)

    def test_other_commands_read_it(self):
        text = self.must("inspect", "spec.hkx").stdout
        self.assertIn("0.75 a 0.25 b, valid c", text)
        self.assertIn("6 (12 samples)", text)
        found = json.loads(self.must("inspect", "--json", "spec.hkx").stdout)
        self.assertEqual(found["training"]["data"]["train"], ["0.75", "a", "0.25", "b"])
        self.assertEqual(found["training"]["samples"], 12)
        shown = self.must("data", "show", "--spec", "spec.textproto", "--split",
                          "valid").stdout  # fmt: skip
        asked = self.must("data", "show", "a", "--valid-data", "c", "--spec",
                          "plain.textproto", "--split", "valid").stdout  # fmt: skip
        self.assertEqual(shown, asked)
        self.must("train", "spec.hkx", "--save", "run")
        own = json.loads(self.must("eval", "loss", "--load", "run", "--json").stdout)
        self.assertEqual(own["data"], "c")
        done = self.run_here("eval", "loss", "--load", "run", "--split", "test")
        self.assertEqual(done.returncode, 2)
        self.assertIn("training.data.valid: all data is used whole, and nothing "
                      "is left for test", done.stderr)  # fmt: skip

    def test_random_tokens_need_no_data(self):
        mock = self.losses("plain.hkx", "--mock-data")
        self.assertEqual(self.losses("spec.hkx", "--mock-data"), mock)
        self.must("compile", "plain.textproto", "--mesh", "tp=2", "-o", "two.hkx")
        for (loss, other) in zip(mock, self.losses("two.hkx", "--mock-data"), strict=True):
            self.assertAlmostEqual(loss, other, delta=1e-5)
        for more in ("--data", "--valid-data"):
            done = self.run_here("train", "plain.hkx", "--mock-data", more, "a")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--mock-data is in place of --data", done.stderr)

    def test_what_is_wrong_is_said(self):
        done = self.run_here("train", "plain.hkx")
        self.assertEqual(done.returncode, 2)
        self.assertIn("training wants --data PREFIX", done.stderr)
        self.assertIn("training.data.train", done.stderr)
        self.must("train", "plain.hkx", "--data", "a", "--save", "run")
        done = self.run_here("eval", "loss", "--load", "run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--data is missing, and the specification", done.stderr)
        done = self.run_here("data", "show", "--spec", "plain.textproto")
        self.assertEqual(done.returncode, 2)
        self.assertIn("PREFIX is missing", done.stderr)
        wrong = SPEC.replace('path: "b" weight: 0.25', 'path: "none"')
        (self.folder / "wrong.textproto").write_text(wrong)
        done = self.run_here("train", "wrong.textproto")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.idx: there is no such file", done.stderr)
        wrong = SPEC.replace("weight: 0.25", "weight: -1")
        (self.folder / "wrong.textproto").write_text(wrong)
        done = self.run_here("train", "wrong.textproto")
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.textproto:9:23: S10: training.data.train[1].weight "
                      "is -1", done.stderr)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
