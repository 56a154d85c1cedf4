# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/hybrid, as they stand there, on a smaller model and the text
of the documentation; and its two forms, which are one model."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
PAGE = (ROOT / "examples/hybrid/README.md").read_text()
SPEC = ROOT / "examples/hybrid/spec.textproto"

SMALL = {
    "model.layers": 3,
    "model.hidden": 64,
    "model.heads": 2,
    "model.ffn": 128,
    "model.state_space": "{head_dim: 32 state_size: 16}",
    "training.sequence_length": 64,
    "training.micro_batch_size": 4,
    "training.precision": "FP32",
    "training.steps": 150,
    "training.log_interval": 10,
    "training.learning_rate.peak": 5e-3,
    "training.learning_rate.warmup_steps": 10,
}


def options(settings):
    return [word for item in settings.items() for word in ("--set", "%s=%s" % item)]


def losses_of(log):
    rows = [json.loads(row) for row in log.read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row and "step" in row]


class HybridTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_words(self, *words):
        """What a command prints, in the folder."""
        done = subprocess.run(
            [BUILD / "bin/hocket", *words],
            capture_output=True, text=True, errors="replace", check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return done.stdout

    def test_the_page(self):
        pages = [page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in pages)
        (self.folder / "text.jsonl").write_text(lines)
        told = {}
        for line in re.search(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)[1].splitlines():
            words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
            self.assertEqual(words[0], "hocket")
            more = options(SMALL) if "examples/" in line else ()
            told[" ".join(words[1:3])] = self.run_words(*words[1:], *more)
        losses = losses_of(self.folder / "run.jsonl")
        self.assertLess(losses[-1], 0.6 * losses[0])
        self.assertIn("perplexity", told["eval loss"])
        config = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual(config["architectures"], ["BambaForCausalLM"])
        self.assertEqual(config["attn_layer_indices"], [2])
        # What was exported and came back is exported as it was.
        self.run_words("checkpoint", "export", "again", "-o", "twice")
        files = [self.folder / name / "model.safetensors" for name in ("exported", "twice")]
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def test_what_the_page_suggests(self):
        """Each change of the table, and the form with a branch in each layer."""
        flags = re.findall(r"^\| [^|]+ \| `(--[^|]+)` \|$", PAGE, re.M)
        self.assertGreater(len(flags), 4)
        for number, flag in enumerate(flags):
            with self.subTest(flag):
                self.run_words("compile", SPEC, "-o", f"{number}.hkx", *shlex.split(flag))

    def test_a_plan_is_found(self):
        """The command of the table."""
        words = shlex.split(re.search(r"`hocket (plan [^`]+)`", PAGE)[1])
        told = self.run_words(*[str(ROOT / w) if w.startswith("examples/") else w for w in words])
        self.assertRegex(told, r"(?m)^pp=\d+,.*\n[0-9.]+ s ")

    def test_a_branch_in_each_layer_is_the_same_model(self):
        fields = re.search(r"^```\nlayers: 12\n(.*?)^```$", PAGE, re.M | re.S)[1]
        spec = SPEC.read_text().replace("layers: 6", "layers: 12")
        kinds = re.search(r"  layer_kinds.*?pattern: [^\n]*\n", spec, re.S)[0]
        (self.folder / "letters.textproto").write_text(spec.replace(kinds, fields))
        (self.folder / "text.txt").write_text("Tyger Tyger, burning bright\n" * 400)
        self.run_words("data", "prepare", "text.txt", "-o", "text", "--tokenizer", "byte")
        losses = []
        for source, layers in ((SPEC, 3), ("letters.textproto", 6)):
            small = {**SMALL, "model.layers": layers, "training.steps": 3,
                     "training.log_interval": 1}  # fmt: skip
            log = self.folder / f"{layers}.jsonl"
            self.run_words("train", source, "--data", "text_text_document", "--log", log,
                           *options(small))  # fmt: skip
            losses.append(losses_of(log))
        self.assertEqual(len(losses[0]), 3)
        self.assertEqual(*losses)


if __name__ == "__main__":
    unittest.main()
