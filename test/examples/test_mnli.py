# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/mnli, as they stand there, on a small BERT and on tables
that are made here."""

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

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, *(f"word{i}" for i in range(20)), "never", "surely", "maybe", "."]
# What tells the class, in the second sentence.
CLASSES = {"contradiction": "never", "entailment": "surely", "neutral": "maybe"}
HEADER = "index\tpromptID\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n"
SIZES = {
    "model.layers": 2,
    "model.hidden": 32,
    "model.heads": 2,
    "model.vocab_size": len(WORDS),
    "model.vocab_padding": 1,
    "model.max_positions": 32,
    # So small a model learns from larger weights, and with all of them.
    "model.initializer.stddev": 0.1,
    "model.dropout": "{attention: 0 residual: 0 embedding: 0}",
    "training.micro_batch_size": 4,
    "training.precision": "FP32",
}
SMALL = {
    **SIZES,
    "training.global_batch_size": 16,
    "training.sequence_length": 24,
    "training.epochs": 4,
    "training.learning_rate.peak": 3e-3,
    "training.classification": "{cls_token: 2 sep_token: 3 pad_token: 0}",
}
PRETRAINED = {
    **SIZES,
    "training.global_batch_size": 4,
    "training.steps": 3,
    "training.masked_lm": "{cls_token: 2 sep_token: 3 mask_token: 4 pad_token: 0}",
    "training.learning_rate.warmup_steps": 1,
    "training.data.split": "1",
    "training.validation.interval": 0,
}


def settings(values):
    return [word for item in values.items() for word in ("--set", "%s=%s" % item)]


def table(rows, first):
    lines = []
    for i in range(first, first + rows):
        label = list(CLASSES)[i % 3]
        words = [f"word{(i * k + k) % 20}" for k in range(1, 4 + i % 9)]
        other = [f"word{(i * i + k) % 20}" for k in range(1 + i % 5)]
        other.insert(i % (len(other) + 1), CLASSES[label])
        lines.append(
            f"{i}\t{i}\tmade\t{' '.join(words)}.\t{' '.join(other)}.\t{label}\t{label}\n"
        )
    return HEADER + "".join(lines)


class MnliTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "MNLI").mkdir()
        (self.folder / "MNLI/train.tsv").write_text(table(203, 0))
        (self.folder / "MNLI/dev_matched.tsv").write_text(table(50, 1000))

    def hocket(self, *words, status=0):
        done = subprocess.run(
            [BUILD / "bin/hocket", *words],
            capture_output=True, text=True, check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, status, f"{words}\n{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def pretrain(self):
        """A small BERT, in the place of the published one."""
        (self.folder / "words").mkdir()
        (self.folder / "words/vocab.txt").write_text("\n".join(WORDS) + "\n")
        texts = [" ".join(f"Word{(d * n) % 20} word{n}." for n in range(12)) for d in range(20)]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (self.folder / "wiki.jsonl").write_text(lines)
        self.hocket("data", "prepare", "wiki.jsonl", "-o", "wiki", "--tokenizer", "words",
                    "--split-sentences")  # fmt: skip
        spec = ROOT / "examples/bert-base/spec.textproto"
        self.hocket("compile", spec, "-o", "bert.hkx", *settings(PRETRAINED))
        self.hocket("train", "bert.hkx", "--data", "wiki", "--save", "bert")
        self.hocket("checkpoint", "export", "bert", "-o", "bert-large-uncased", "--tokenizer",
                    "words")  # fmt: skip

    def test_the_page(self):
        self.pretrain()
        page = (ROOT / "examples/mnli/README.md").read_text()
        lines = re.search(r"^```sh\n(.*?)^```$", page, re.M | re.S)[1].splitlines()
        told = {}
        for line in lines:
            words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
            self.assertEqual(words[0], "hocket")
            more = settings(SMALL) if "examples/" in line else ()
            told[" ".join(words[1:3])] = self.hocket(*words[1:], *more)
        self.assertIn(", class ", told["data show"])
        self.assertIn("[CLS] ", told["data show"])
        self.assertIn("class_head.weight", told["train mnli.hkx"])
        # 203 samples are 13 steps of 16, and the last one of each epoch has 11.
        self.assertIn("4 epochs of 13 steps", told["train mnli.hkx"])
        log = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        validations = [row for row in log if "valid_loss" in row]
        self.assertEqual([row["step"] for row in validations], [13, 26, 39, 52])
        last = validations[-1]
        self.assertGreater(last["valid_accuracy"], 0.9, told["train mnli.hkx"])
        self.assertEqual(set(last["valid_classes"]), set(CLASSES))
        self.assertEqual(sum(c["all"] for c in last["valid_classes"].values()), 50)
        # The run that was saved is measured the same.
        again = json.loads(self.hocket("eval", "loss", "--load", "run", "--data", "dev",
                                       "--split", "all", "--json"))  # fmt: skip
        self.assertEqual(again["classes"], last["valid_classes"])
        self.assertAlmostEqual(again["loss"], last["valid_loss"], places=5)
        self.assertIn("contradiction", told["eval loss"])
        config = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual(config["architectures"], ["BertForSequenceClassification"])
        # The folder is a model again, and classes are told as before.
        self.hocket("checkpoint", "import", "exported", "-o", "imported")
        told = json.loads(self.hocket("eval", "loss", "--load", "imported", "--data", "dev",
                                      "--split", "all", "--json"))  # fmt: skip
        self.assertEqual(told["classes"], again["classes"])

    def test_what_is_loaded_and_what_begins_anew(self):
        self.pretrain()
        spec = ROOT / "examples/mnli/spec.textproto"
        self.hocket("compile", spec, "-o", "mnli.hkx", *settings(SMALL))
        self.hocket("data", "prepare", "MNLI/train.tsv", "-o", "train", "--tokenizer", "words",
                    "--task", "mnli")  # fmt: skip
        start = ("train", "mnli.hkx", "--data", "train", "--steps", "2", "--log")
        # A run of Hocket and the folder that it was exported to are the same weights.
        one = self.hocket(*start, "a.jsonl", "--load", "bert", "--finetune")
        other = self.hocket(*start, "b.jsonl", "--load", "bert-large-uncased", "--finetune")
        for printed in (one, other):  # The pooler was trained with the order of texts.
            self.assertIn("the head begins anew: class_head.weight, class_head.bias\n", printed)
        losses = [
            [json.loads(row).get("loss") for row in (self.folder / name).read_text().splitlines()]
            for name in ("a.jsonl", "b.jsonl")
        ]
        self.assertEqual(*losses)
        # A folder as a specification, whose head of tokens is replaced.
        values = {k: v for k, v in SMALL.items() if k.startswith("training") and "tion" not in k}
        self.hocket("compile", "bert-large-uncased", "-o", "c.hkx", "--set", "model.classes=3",
                    *settings(values))  # fmt: skip
        self.hocket("train", "c.hkx", "--data", "train", "--steps", "1", "--load",
                    "bert-large-uncased", "--finetune")  # fmt: skip
        # Without --finetune a run goes on, which the other's state is not for.
        told = self.hocket(*start, "d.jsonl", "--load", "bert", status=2)
        self.assertIn("class_head", told)

    def test_race(self):
        """The commands of docs/guide-fine-tuning.md for RACE: the right choice has a
        word that the others have not."""
        self.pretrain()
        (self.folder / "bert-large-uncased").rename(self.folder / "bert-base-uncased")
        for split, first, count in (("train", 0, 60), ("dev", 500, 20)):
            folder = self.folder / "RACE" / split / "high"
            folder.mkdir(parents=True)
            for i in range(first, first + count):
                options = [f"maybe word{(i * k) % 20}" for k in range(1, 5)]
                options[i % 4] = f"surely word{i % 20}"
                passage = {
                    "article": " ".join(f"word{(i + k) % 20}" for k in range(30)),
                    "questions": [f"word{i % 7} _ .", f"word{i % 3}"],
                    "options": [options, options],
                    "answers": ["ABCD"[i % 4]] * 2,
                }
                (folder / f"{i}.txt").write_text(json.dumps(passage))
        page = (ROOT / "docs/guide-fine-tuning.md").read_text().replace("\\\n", "")
        block = page[page.index("hocket data prepare RACE/train") :].split("```")[0]
        page_says = ("training.epochs", "training.global_batch_size", "training.classification")
        small = {
            k: v for k, v in SMALL.items() if k.startswith("training.") and k not in page_says
        }
        told = ""
        for line in block.strip().splitlines():
            line = line.replace("epochs=3", "epochs=8").replace("size=128", "size=16")
            words = shlex.split(line)[1:]
            told = self.hocket(*words, *(settings(small) if "compile" in words else ()))
        accuracy = re.search(r"accuracy +([0-9.]+) %", told)
        self.assertGreater(float(accuracy[1]), 80, told)
        self.assertIn("40 samples of split all", told)
        self.assertRegex(told, r"\n +D +")

    def test_full_size(self):
        spec = ROOT / "examples/mnli/spec.textproto"
        told = self.hocket("compile", spec, "-o", "mnli.hkx", "--mesh", "dp=2,tp=4", "--target",
                           "cuda", "--sequence-parallel")  # fmt: skip
        self.assertIn("335.1M parameters", told)
        plans = self.hocket("plan", spec, "--cluster", "h100:8")
        self.assertIn("dp", plans)


if __name__ == "__main__":
    unittest.main()
