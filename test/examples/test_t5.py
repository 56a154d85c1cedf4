# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/t5, as they stand there, on a small T5; and plans of the full
one."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
SPEC = ROOT / "examples/t5/spec.textproto"
PAGE = (ROOT / "examples/t5/README.md").read_text()
PIECES = 640  # of the tokenizer, behind which sentinels stand

SMALL = {
    "model.layers": 2,
    "model.encoder.layers": 1,
    "model.hidden": 64,
    "model.heads": 4,
    "model.ffn": 128,
    "model.logit_scale": 0.125,
    "model.vocab_size": PIECES + 20,
    "training.micro_batch_size": 8,
    "training.global_batch_size": 16,
    "training.encoder_sequence_length": 48,
    "training.span_corruption": f"{{end_token: 2 pad_token: 0 first_sentinel: {PIECES + 19} "
    "sentinels: 20 noise_density: 0.2}",
    "training.precision": "FP32",
    "training.steps": 300,
    "training.log_interval": 10,
    "training.learning_rate": "{schedule: CONSTANT peak: 3e-3 warmup_steps: 10}",
    "training.data.split": '"90,10,0"',
}


def options(settings):
    return [word for item in settings.items() for word in ("--set", "%s=%s" % item)]


class T5Test(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "t5-base").mkdir()
        shutil.copy(ROOT / "test/runtime/tokenizer/golden/unigram.model",
                    self.folder / "t5-base/spiece.model")  # fmt: skip
        pages = [page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in pages)
        (self.folder / "c4.jsonl").write_text(lines)
        self.prompts = ["The model", "A plan never changes the mathematics.", "Tensor"]
        lines = "".join(json.dumps({"prompt": text}) + "\n" for text in self.prompts)
        (self.folder / "prompts.jsonl").write_text(lines)

    def run_words(self, *words):
        """What a command prints, in the folder."""
        done = subprocess.run(
            [BUILD / "bin/hocket", *words],
            capture_output=True, text=True, errors="replace", check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return done.stdout

    def test_the_page(self):
        told = {}
        for line in re.search(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)[1].splitlines():
            words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
            self.assertEqual(words[0], "hocket")
            more = options(SMALL) if "examples/" in line else ()
            told[" ".join(words[1:3])] = self.run_words(*words[1:], *more)
        rows = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        losses = [row["loss"] for row in rows if "loss" in row and "step" in row]
        self.assertLess(losses[-1], 0.75 * losses[0])
        self.assertRegex(told["eval loss"], r"perplexity")
        texts = [json.loads(row) for row in (self.folder / "texts.jsonl").read_text().splitlines()]
        self.assertEqual([text["prompt"] for text in texts], self.prompts)
        for text in texts:
            self.assertLessEqual(len(text["tokens"]), 20)
            self.assertGreater(len(text["tokens"]), 0)
        config = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual(config["architectures"], ["T5ForConditionalGeneration"])
        self.assertEqual((config["num_layers"], config["num_decoder_layers"]), (1, 2))

    def test_plans_of_the_full_model(self):
        """The flags of the page, each of which compiles, and the plan that is found."""
        for flags in re.findall(r"^\| .* \| `(--[^`]+)` \|$", PAGE, re.M):
            with self.subTest(flags):
                words = shlex.split(flags)
                self.run_words("compile", SPEC, "-o", "full.hkx", *words)
        found = json.loads(self.run_words("plan", SPEC, "--cluster", "h100:8", "--json"))
        self.assertTrue(found["plans"])

    def test_what_cannot_be_asked_of_two_stacks(self):
        for more, says in (
            (("--set", "model.position=ROTARY"), ": S94: "),
            (("--mesh", "cp=3"), ": S23: "),
            (("--mesh", "pp=25"), ": S18: "),
        ):
            with self.subTest(more=more):
                done = subprocess.run(
                    [BUILD / "bin/hocket", "compile", SPEC, "-o", "t5.hkx", *more],
                    capture_output=True, text=True, check=False, cwd=self.folder,
                )  # fmt: skip
                self.assertEqual(done.returncode, 2)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
