# Part of Hocket, under the Apache License v2.0.
"""hocket checkpoint upcycle: a mixture of experts that computes what the dense
model does, and goes on from there."""

import json
import pathlib
import tempfile
import unittest

from programs import ROOT, hocket

NANO = ROOT / "examples/nano/spec.textproto"
SMALL = [
    f"--set={field}"
    for field in ("model.layers=2", "model.hidden=32", "model.heads=2", "model.ffn=48",
                  "model.kv_heads=2", "model.head_dim=16", "training.precision=FP32",
                  "training.save_interval=0", "training.validation.interval=0")
]  # fmt: skip


class Upcycle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.dense, cls.text = cls.folder / "dense", cls.folder / "text"
        cls.text.write_text("the quick brown fox jumps over the lazy dog " * 20)
        cls.must("compile", NANO, *SMALL, "-o", cls.folder / "dense.hkx")
        cls.must("train", cls.folder / "dense.hkx", "--mock-data", "--steps", "3",
                 "--save", cls.dense)  # fmt: skip

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def loss(self, model):
        out = self.must("eval", "perplexity", "--load", model, "--tokenizer", "byte",
                        "--data", self.text, "--json")  # fmt: skip
        return json.loads(out)

    def refused(self, words, *arguments, load=None):
        output = self.folder / "refused"
        done = hocket("checkpoint", "upcycle", load or self.dense, "-o", output, *arguments)
        self.assertEqual((done.returncode, output.exists()), (2, False), done.stderr)
        self.assertIn(words, done.stderr)

    def test_a_mixture_computes_what_the_dense_model_does(self):
        for experts, top_k, *more in ((4, 2), (3, 1), (4, 3, "--set=model.moe.scores=SIGMOID")):
            with self.subTest(experts=experts, top_k=top_k):
                start = self.folder / f"start{experts}{top_k}"
                self.must("checkpoint", "upcycle", self.dense, "-o", start,
                          "--experts", experts, "--top-k", top_k, *more)  # fmt: skip
                dense, mixture = self.loss(self.dense), self.loss(start)
                self.assertAlmostEqual(dense["loss"], mixture["loss"], delta=1e-6)
                self.assertGreater(dense["loss"], 0)

    def test_a_run_goes_on_from_there(self):
        start, program = self.folder / "start", self.folder / "mixture.hkx"
        self.must("checkpoint", "upcycle", self.dense, "-o", start, "--experts", "4",
                  "--set=model.moe.aux_loss=0.01")  # fmt: skip
        self.must("compile", start, "--mesh", "dp=2,ep=2", "-o", program,
                  "--set=training.micro_batch_size=2")  # fmt: skip
        out = self.must("train", program, "--mock-data", "--load", start, "--steps", "2",
                        "--save", self.folder / "mixture")  # fmt: skip
        self.assertIn("saved step 2", out)
        inspected = self.must("checkpoint", "inspect", self.folder / "mixture")
        self.assertIn("layers.1.mlp.experts.down.weight", inspected)

    def test_what_would_compute_something_else_is_refused(self):
        eight = ("--experts", "8")
        for words, *settings in (
            ("model.moe.renormalise must be true", "model.moe.renormalise=false"),
            ("model.moe.scale must be 1", "model.moe.scale=2"),
            ("model.moe.shared_experts must be 0", "model.moe.shared_experts=1"),
            ("'layers.0.mlp.gate.weight' has shape [48, 32], of which "
             "'layers.0.mlp.experts.gate.weight' [8, 24, 32] could be made", "model.moe.ffn=24"),
            ("has no 'layers.2.", "model.layers=3"),
            ("has no place in the model with experts", "model.layers=1"),
        ):  # fmt: skip
            with self.subTest(words):
                self.refused(words, *eight, *(f"--set={each}" for each in settings))
        self.refused("--experts", "--experts", "1")
        self.refused("--experts is required")
        self.refused("top_k", "--experts", "2", "--top-k", "3")
        self.refused("holds no checkpoint", *eight, load=self.folder)
        start = self.folder / "twice"
        self.must("checkpoint", "upcycle", self.dense, "-o", start, *eight)
        self.refused("has experts already", *eight, load=start)
        done = hocket("checkpoint", "upcycle", self.dense, "-o", start, *eight)
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
