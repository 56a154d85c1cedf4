# Part of Hocket, under the Apache License v2.0.
"""Documents that share sequences, from outside: however a step is spread, and in
however many microbatches, a run prints the same losses."""

import json
import pathlib
import random
import tempfile
import unittest

from programs import hocket

SPEC = """name: "documents"
model { layers: 2 hidden: 32 heads: 4 ffn: 64 vocab_size: 257 max_positions: 32 }
training {
  global_batch_size: 8 sequence_length: 32 steps: 4 precision: FP32
  learning_rate { schedule: CONSTANT peak: 1e-2 }
  data { split: "80,20,0" eod_token: 256 %s }
  validation { interval: 2 batches: 1 } log_interval: 1
}
"""
ALL = "eod_mask_loss: true reset_attention_mask: true reset_position_ids: true"


class DocumentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.data = cls.prepare("text", 300, [1, 2, 9, 25, 60])

    @classmethod
    def prepare(cls, name, documents, lengths):
        """Data of as many documents of such lengths."""
        draw = random.Random(5)
        with open(cls.folder / f"{name}.jsonl", "w") as lines:
            for _ in range(documents):
                text = "".join(draw.choice("abcde ") for _ in range(draw.choice(lengths)))
                lines.write(json.dumps({"text": text}) + "\n")
        cls.must("data", "prepare", cls.folder / f"{name}.jsonl",
                 "-o", cls.folder / name, "--append-eod")  # fmt: skip
        return cls.folder / f"{name}_text_document"

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def losses(self, fields, *options, data=None):
        """Of every step and every validation."""
        spec, program = self.folder / "spec.textproto", self.folder / "a.hkx"
        spec.write_text(SPEC % fields)
        self.must("compile", spec, "-o", program, *options)
        log = self.folder / "log.jsonl"
        self.must("train", program, "--data", data or self.data, "--log", log, "--overwrite")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        kinds = ("loss", "grad_norm", "valid_loss")
        return [line[kind] for line in lines for kind in kinds if kind in line]

    def test_no_plan_changes_a_loss(self):
        one = self.losses(ALL, "--set", "training.micro_batch_size=8")
        self.assertGreaterEqual(len(one), 8)
        for options in (
            ["--set", "training.micro_batch_size=1"],
            ["--mesh", "dp=4", "--set", "training.micro_batch_size=2"],
            ["--mesh", "pp=2,cp=2", "--cp-strategy", "ring"],
            ["--mesh", "tp=2,cp=2", "--cp-strategy", "alltoall"],
        ):
            for found, wanted in zip(self.losses(ALL, *options), one, strict=True):
                self.assertAlmostEqual(found, wanted, delta=2e-5 * wanted, msg=options)

    def test_long_sequences_are_dealt_out_in_rounds(self):
        data = self.prepare("long", 60, [1, 30, 300, 1200])
        long = [f"--set={field}" for field in (
            "training.sequence_length=1024", "model.max_positions=1024",
            "training.global_batch_size=2", "training.steps=2",
            "model.kv_heads=2", "model.position=ROTARY")]  # fmt: skip
        masks = "reset_attention_mask: true"
        one = self.losses(masks, *long, data=data)
        for options in (
            ["--mesh", "cp=2"],
            ["--mesh", "cp=2,tp=2", "--sequence-parallel", "--cp-strategy", "ring"],
            ["--mesh", "cp=2", "--cp-strategy", "alltoall"],
        ):
            found = self.losses(masks, *long, *options, data=data)
            for mine, wanted in zip(found, one, strict=True):
                self.assertAlmostEqual(mine, wanted, delta=2e-5 * wanted, msg=options)

    def test_each_option_makes_another_model(self):
        losses = [
            self.losses(fields)[0]
            for fields in ("", *(word + ": true" for word in ALL.split(": true")[:3]))
        ]
        self.assertEqual(len(set(losses)), 4, losses)

    def test_an_evaluation_is_the_validation(self):
        spec, program = self.folder / "spec.textproto", self.folder / "a.hkx"
        spec.write_text(SPEC % ALL)
        self.must("compile", spec, "-o", program)
        run, log = self.folder / "run", self.folder / "log.jsonl"
        self.must("train", program, "--data", self.data, "--save", run,
                  "--log", log, "--overwrite")  # fmt: skip
        last = json.loads(log.read_text().splitlines()[-1])
        words = ("eval", "loss", "--load", run, "--data", self.data, "--json")
        for options in ([], ["--mesh", "dp=2,cp=2"]):
            found = json.loads(self.must(*words, *options))
            self.assertAlmostEqual(found["loss"], last["valid_loss"], delta=1e-5)

    def test_an_end_must_be_known(self):
        spec = self.folder / "bad.textproto"
        spec.write_text((SPEC % ALL).replace("eod_token: 256", ""))
        done = hocket("compile", spec, "-o", self.folder / "bad.hkx")
        self.assertEqual(done.returncode, 2)
        self.assertIn("S48: training.data.eod_mask_loss wants to know", done.stderr)
        self.assertRegex(done.stderr, r"bad\.textproto:6:\d+: ")


if __name__ == "__main__":
    unittest.main()
