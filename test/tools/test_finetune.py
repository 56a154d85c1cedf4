# Part of Hocket, under the Apache License v2.0.
"""`hocket train --finetune`: a new run from the weights of another, whatever format
they are in, and what it says of weights that do not fit."""

import json
import pathlib
import shutil
import tempfile
import unittest

from programs import hocket

SPEC = """name: "tuned"
model {
  layers: 2 hidden: 16 heads: 2 ffn: 32 vocab_size: 257 vocab_padding: 8 max_positions: 16
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 1 global_batch_size: 4 sequence_length: 16 steps: 3 log_interval: 1
  precision: PRECISION learning_rate { peak: 0.01 } data { split: "1" }
}
"""


class FinetuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        (cls.folder / "text.txt").write_text("the quick brown fox jumps over the dog\n" * 60)
        for precision in ("FP32", "BF16"):
            (cls.folder / f"{precision}.textproto").write_text(
                SPEC.replace("PRECISION", precision)
            )
        cls.must("data", "prepare", "text.txt", "-o", "text", "--tokenizer", "byte")
        cls.must("train", "FP32.textproto", "--data", "text", "--save", "base", "--seed", 7)
        cls.must("checkpoint", "export", "base", "-o", "published")
        cls.must("checkpoint", "import", "published", "-o", "start", "--spec", "FP32.textproto")

    @classmethod
    def call(cls, *arguments):
        return hocket(*arguments, cwd=cls.folder)

    @classmethod
    def must(cls, *arguments):
        done = cls.call(*arguments)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def losses(self, log, *arguments, spec="FP32.textproto"):
        """The steps of a run and their losses."""
        (self.folder / log).unlink(missing_ok=True)
        self.must("train", spec, "--data", "text", "--log", log, *arguments)
        lines = (self.folder / log).read_text().splitlines()
        steps = [json.loads(line) for line in lines]
        return [(each["step"], each["loss"]) for each in steps if "grad_norm" in each]

    def test_a_run_starts_anew_from_weights(self):
        # An import has weights and nothing else, at step 0.
        wanted = self.losses("import.jsonl", "--load", "start")
        self.assertEqual([step for step, _ in wanted], [1, 2, 3])
        for name in ("base", "base/iter_0000003", "published"):
            found = self.losses("tuned.jsonl", "--load", name, "--finetune")
            self.assertEqual(found, wanted, name)

    def test_ranks_take_their_shards(self):
        wanted = self.losses("import.jsonl", "--load", "start")
        for mesh in ("tp=2,pp=2", "dp=2"):
            for name in ("base", "published"):
                found = self.losses("tuned.jsonl", "--load", name, "--finetune", "--mesh", mesh,
                                    "--zero", "1")  # fmt: skip
                for (step, loss), (other, reference) in zip(found, wanted, strict=True):
                    self.assertEqual(step, other)
                    self.assertAlmostEqual(loss, reference, delta=2e-5)

    def test_the_seed_is_the_new_run_s(self):
        one, other = (self.losses("seed.jsonl", "--load", "base", "--finetune", "--seed", seed)
                      for seed in (7, 8))  # fmt: skip
        self.assertNotEqual(one, other)
        done = self.call("train", "FP32.textproto", "--data", "text", "--load", "base", "--seed",
                         8, "--steps", 4)  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("a run keeps its seed", done.stderr)

    def test_mixed_precision_takes_wide_weights(self):
        found = self.losses("narrow.jsonl", "--load", "published", "--finetune",
                            spec="BF16.textproto")  # fmt: skip
        wanted = self.losses("import.jsonl", "--load", "start")
        self.assertAlmostEqual(found[0][1], wanted[0][1], delta=2e-2)

    def test_a_run_that_is_queued_again_goes_on(self):
        shutil.rmtree(self.folder / "queued", ignore_errors=True)
        again = ("train", "FP32.textproto", "--data", "text", "--load", "base", "--finetune",
                 "--save", "queued", "--resume", "auto")  # fmt: skip
        self.assertIn("fine-tuning the weights of step 3 in base", self.must(*again, "--steps", 2))
        out = self.must(*again)
        self.assertIn("loaded step 2 from queued/iter_0000002", out)
        self.assertNotIn("fine-tuning", out)

    def test_its_own_folder_is_not_mixed(self):
        done = self.call("train", "FP32.textproto", "--data", "text", "--load", "base",
                         "--finetune", "--save", "base")  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("base holds step 3", done.stderr)

    def test_all_that_does_not_fit_is_named(self):
        done = self.call("train", "FP32.textproto", "--data", "text", "--load", "base",
                         "--finetune", "--set", "model.layers=3", "--set",
                         "model.ffn=48")  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertRegex(
            done.stderr,
            r"base/iter_0000003: tensor 'layers\.0\.mlp\.down\.weight' has shape \[16, 32\], "
            r"expected \[16, 48\]; 'layers\.0\.mlp\.gate\.weight' .*; and \d+ more",
        )
        done = self.call("train", "FP32.textproto", "--data", "text", "--load", "published",
                         "--finetune", "--set", "model.layers=1")  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            "published: tensor 'model.layers.1.input_layernorm.weight' is not part of this model",
            done.stderr,
        )

    def test_it_wants_weights(self):
        done = self.call("train", "FP32.textproto", "--data", "text", "--finetune")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--finetune takes the weights of --load, which is missing", done.stderr)
        done = self.call("train", "FP32.textproto", "--data", "text", "--load", "published")
        self.assertEqual(done.returncode, 2)
        self.assertIn("whose weights `hocket train --finetune` starts from", done.stderr)


if __name__ == "__main__":
    unittest.main()
