# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/bert-base, as they stand there, on a small BERT."""

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

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{i}" for i in range(25))]
SMALL = {
    "model.layers": 2,
    "model.hidden": 32,
    "model.heads": 2,
    "model.vocab_size": len(WORDS),
    "model.max_positions": 32,
    "training.micro_batch_size": 4,
    "training.global_batch_size": 8,
    "training.precision": "FP32",
    # So small a model learns from larger weights, and with all of them.
    "model.initializer.stddev": 0.1,
    "model.dropout": "{attention: 0 residual: 0 embedding: 0}",
    "training.steps": 1000,
    "training.log_interval": 50,
    "training.learning_rate.peak": 3e-3,
    "training.learning_rate.warmup_steps": 10,
    "training.data.split": '"90,10,0"',
    "training.masked_lm": "{cls_token: 2 sep_token: 3 mask_token: 4 pad_token: 0}",
}


def sentence(document, number):
    """Words that follow each other, so that a masked one can be told."""
    first = (7 * document + 5 * number) % 25
    words = [f"word{(first + i) % 25}" for i in range(4 + (document + number) % 4)]
    return " ".join(words).capitalize() + "."


class BertTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        published = self.folder / "bert-base-uncased"
        published.mkdir()
        (published / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        texts = [" ".join(sentence(d, n) for n in range(12)) for d in range(60)]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (self.folder / "wiki.jsonl").write_text(lines)

    def run_line(self, line, *more):
        """A line of the page, in the folder; what it prints."""
        words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
        self.assertEqual(words[0], "hocket")
        done = subprocess.run(
            [BUILD / "bin/hocket", *words[1:], *more],
            capture_output=True, text=True, check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")
        return done.stdout

    def test_the_page(self):
        page = (ROOT / "examples/bert-base/README.md").read_text()
        lines = re.search(r"^```sh\n(.*?)^```$", page, re.M | re.S)[1].splitlines()
        small = [word for item in SMALL.items() for word in ("--set", "%s=%s" % item)]
        told = {}
        for line in lines:
            command = " ".join(line.split()[1:3])
            told[command] = self.run_line(line, *(small if "examples/" in line else ()))
        self.assertIn("[CLS] ", told["data show"])
        self.assertRegex(told["data show"], r"\[MASK\]")
        log = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        losses = [row["loss"] for row in log if "loss" in row and "step" in row]
        self.assertLess(sum(losses[-9:]) / 9, 0.6 * losses[0])
        accuracy = re.search(r"masked accuracy +([0-9.]+) %", told["eval loss"])
        self.assertGreater(float(accuracy[1]), 40, told["eval loss"])
        config = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual(config["architectures"], ["BertForPreTraining"])
        # The folder is a model again, with the tokens of its vocabulary.
        self.run_line("hocket checkpoint import exported -o again")
        again = self.run_line("hocket checkpoint export again -o twice")
        self.assertIn("bert", again)
        self.assertEqual(
            (self.folder / "exported/model.safetensors").read_bytes(),
            (self.folder / "twice/model.safetensors").read_bytes(),
        )

    def test_whole_words(self):
        pieces = [*WORDS[:5], "word", ".", *(f"##{i}" for i in range(25))]
        (self.folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
        small = {**SMALL, "model.vocab_size": len(pieces), "training.steps": 60}
        small["training.masked_lm.whole_words"] = "true"
        sets = [word for item in small.items() for word in ("--set", "%s=%s" % item)]
        prepare = "hocket data prepare wiki.jsonl --split-sentences --tokenizer"
        self.run_line(f"{prepare} vocab.txt -o wiki")
        spec = "examples/bert-base/spec.textproto"
        shown = self.run_line(f"hocket data show wiki --json --samples 0:20 --spec {spec}", *sets)
        whole = 0
        for sample in map(json.loads, shown.splitlines()):
            seen, labels = sample["tokens"], sample["labels"]
            text = [s if label < 0 else label for s, label in zip(seen, labels, strict=True)]
            for place, token in enumerate(text):
                if token >= 7 and text[place - 1] == 5:  # "word" and its "##3"
                    self.assertEqual(labels[place] >= 0, labels[place - 1] >= 0)
                    whole += labels[place] >= 0
        self.assertGreater(whole, 20)
        self.run_line(f"hocket compile {spec} -o bert.hkx", *sets)
        self.run_line("hocket train bert.hkx --data wiki --save run --log run.jsonl")
        log = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        self.assertTrue(any("loss" in row for row in log))
        # Of bytes nobody says which continue a word.
        self.run_line(f"{prepare} byte -o bytes")
        done = subprocess.run(
            [BUILD / "bin/hocket", "train", "bert.hkx", "--data", "bytes"],
            capture_output=True, text=True, check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("training.masked_lm.whole_words asks which tokens", done.stderr)
        self.assertIn("bytes_text_sentence.words", done.stderr)

    def test_what_cannot_be_asked_of_an_encoder(self):
        spec = ROOT / "examples/bert-base/spec.textproto"
        for more, says in (
            (("--entries", "generate"), "attention_mask: BIDIRECTIONAL"),
            (("--set", "model.attention_mask=CAUSAL"), ": S80: "),
            (("--set", "training.masked_lm.mask_token=102"), ": S81: "),
            (("--set", "model.sliding_window=64"), ": S82: "),
            (("--set", "model.activation=GEGLU"), ": S83: "),
        ):
            with self.subTest(more=more):
                done = subprocess.run(
                    [BUILD / "bin/hocket", "compile", spec, "-o", "bert.hkx", *more],
                    capture_output=True, text=True, check=False, cwd=self.folder,
                )  # fmt: skip
                self.assertEqual(done.returncode, 2)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
