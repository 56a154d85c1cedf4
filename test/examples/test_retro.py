# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/retro, as they stand there, on a small Retro; and plans of the
full one."""

import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/tools")]

from servers import Server  # noqa: E402

BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
SPEC = ROOT / "examples/retro/spec.textproto"
PAGE = (ROOT / "examples/retro/README.md").read_text()
WORDS = "the river runs below old stone bridges where lamps burn until dawn".split()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS]
VOCABULARY = 300

BERT = {
    "model.layers": 2,
    "model.hidden": 32,
    "model.heads": 2,
    "model.vocab_size": len(PIECES),
    "model.max_positions": 32,
    "training.micro_batch_size": 4,
    "training.global_batch_size": 8,
    "training.precision": "FP32",
    "model.initializer.stddev": 0.1,
    "training.steps": 1,
    "training.data.split": '"1"',
    "training.masked_lm": "{cls_token: 2 sep_token: 3 mask_token: 4 pad_token: 0}",
}
SMALL = {
    "model.layers": 6,
    "model.hidden": 64,
    "model.heads": 4,
    "model.vocab_size": VOCABULARY + 20,
    "model.max_positions": 64,
    "model.retrieval.chunk_length": 16,
    "model.retrieval.retrieved_length": 32,
    "training.micro_batch_size": 4,
    "training.global_batch_size": 8,
    "training.sequence_length": 64,
    "training.precision": "FP32",
    "training.steps": 120,
    "training.log_interval": 10,
    "training.learning_rate": "{schedule: CONSTANT peak: 3e-3 warmup_steps: 10}",
    "training.data": '{split: "90,10,0" eod_token: 0}',
    "training.validation": "{interval: 60 batches: 2}",
}


def options(settings):
    return [word for item in settings.items() for word in ("--set", "%s=%s" % item)]


class RetroTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        draw = random.Random(1)
        texts = [
            " ".join(" ".join(draw.choices(WORDS, k=7)).capitalize() + "." for _ in range(9))
            for _ in range(60)
        ]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (self.folder / "wiki.jsonl").write_text(lines)
        (self.folder / "words.txt").write_text("\n".join(texts))

    def publish_bert(self):
        """A folder as BERT is published, of a model that has learned a step."""
        (self.folder / "pieces").mkdir()
        (self.folder / "pieces/vocab.txt").write_text("\n".join(PIECES) + "\n")
        self.run_words("data", "prepare", "wiki.jsonl", "-o", "sentences", "--tokenizer", "pieces",
                       "--split-sentences")  # fmt: skip
        bert = str(ROOT / "examples/bert-base/spec.textproto")
        self.run_words("train", bert, "--data", "sentences", "--save", "learned", *options(BERT))
        self.run_words("checkpoint", "export", "learned", "-o", "bert-base-uncased",
                       "--tokenizer", "pieces")  # fmt: skip

    def run_words(self, *words):
        """What a command prints, in the folder."""
        done = subprocess.run(
            [BUILD / "bin/hocket", *words],
            capture_output=True, text=True, errors="replace", check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return done.stdout

    def test_the_page(self):
        self.run_words("tokenizer", "train", "words.txt", "--vocab-size", str(VOCABULARY),
                       "-o", "gpt2")  # fmt: skip
        self.publish_bert()
        told = {}
        for line in re.search(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)[1].splitlines():
            words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
            self.assertEqual(words[0], "hocket")
            more = options(SMALL) if "examples/" in line else ()
            told[" ".join(words[1:3])] = self.run_words(*words[1:], *more)
        self.assertRegex(told["data neighbors"], r"of valid, from [\d,]+ chunks of 60 documents")
        self.assertIn("chunk 3, neighbour 1:", told["data show"])
        rows = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        losses = [row["loss"] for row in rows if "loss" in row and "step" in row]
        self.assertLess(losses[-1], 0.75 * losses[0])
        self.assertTrue(any("valid_loss" in row for row in rows))
        self.assertRegex(told["eval loss"], r"perplexity")
        self.assertRegex(told["generate --load"], "^The [a-z ]*river")
        self.write_about()

    def write_about(self):
        """Texts that were retrieved are attended to, and what is no such is refused."""
        question = {"prompt": "The river"}
        found = ["Old stone bridges burn.", "The lamps runs until dawn."]
        lines = [question | {"retrieved": found}, question | {"retrieved": found[0]},
                 question | {"retrieved": [found[0], ""]}, question | {"retrieved": []}]  # fmt: skip
        write = ("generate", "--load", "run", "--tokenizer", "gpt2", "--greedy", "--tokens", "40")
        (self.folder / "asked.jsonl").write_text("\n".join(map(json.dumps, lines)))
        said = self.run_words(*write, "--prompts", "asked.jsonl")
        both, one, same, _ = (json.loads(line) for line in said.splitlines())
        self.assertEqual(one["log_probabilities"], same["log_probabilities"])
        self.assertNotEqual(both["log_probabilities"], one["log_probabilities"])
        self.ask_a_server(found, both["text"])
        for line, message in (
            (question, "and there are none"),
            (question | {"retrieved": found + [""]}, "there are 3 retrieved texts"),
            (question | {"retrieved": [" ".join(found) * 9]}, "the model takes 32"),
            (question | {"retrieved": [3]}, '"retrieved" are texts'),
        ):
            (self.folder / "asked.jsonl").write_text(json.dumps(line))
            done = subprocess.run(
                [BUILD / "bin/hocket", *write, "--prompts", "asked.jsonl", "-o", "out.jsonl"],
                capture_output=True, text=True, check=False, cwd=self.folder,
            )  # fmt: skip
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("asked.jsonl:1: ", done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse((self.folder / "out.jsonl").exists())

    def ask_a_server(self, found, text):
        """The same of a request, on two ranks."""
        server = Server("--load", self.folder / "run", "--mesh", "tp=2",
                        tokenizer=self.folder / "gpt2")  # fmt: skip
        self.addCleanup(server.process.kill)
        asked = {"prompt": "The river", "max_tokens": 40, "temperature": 0, "logprobs": 0}
        said, none = (
            server.complete(**asked, retrieved=texts)["choices"][0] for texts in (found, [])
        )
        self.assertEqual(said["text"], text)
        self.assertNotEqual(said["logprobs"], none["logprobs"])
        for more, message in (
            ({}, "and there are none"),
            ({"retrieved": [*found, "more"]}, "'retrieved': there are 3 retrieved texts"),
        ):
            status, error = server.ask("POST", "/v1/completions", asked | more)
            self.assertEqual(status, 400, error)
            self.assertIn(message, json.loads(error)["error"]["message"])
        self.assertEqual(server.end(), 0)

    def test_plans_of_the_full_model(self):
        """The flags of the page, each of which compiles, and the plan that is found."""
        for flags in re.findall(r"^\| .* \| `(--[^`]+)` \|$", PAGE, re.M):
            with self.subTest(flags):
                self.run_words("compile", str(SPEC), "-o", "full.hkx", *shlex.split(flags))
        found = json.loads(self.run_words("plan", str(SPEC), "--cluster", "h100:8", "--json"))
        self.assertTrue(found["plans"])


if __name__ == "__main__":
    unittest.main()
