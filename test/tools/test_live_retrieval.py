# Part of Hocket, under the Apache License v2.0.
"""Embeddings of chunks beside the transformers library, where it is installed.

    pip install torch transformers
    python3 test/tools/test_live_retrieval.py

A random BERT embeds the chunks of a corpus; its own last hidden states have the same
means.
"""

import importlib.util
import json
import pathlib
import tempfile
import unittest

from programs import hocket
from retrieval_files import read_rows

MISSING = [n for n in ("torch", "transformers") if not importlib.util.find_spec(n)]
NEAR = 1e-5
LENGTH, DIM = 16, 32
LETTERS = "abcdefghij"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "ab", "cab",
              *LETTERS, *(f"##{letter}" for letter in LETTERS)]  # fmt: skip
SPEC = """name: "retro"
model {
  layers: 6 hidden: 16 heads: 2 ffn: 32 vocab_size: 257 max_positions: 32
  retrieval { chunk_length: 16 neighbors: 2 retrieved_length: 32 }
}
training {
  micro_batch_size: 2 global_batch_size: 4 steps: 4 seed: 5
  data { train { path: "books" } split: "1" eod_token: 256 }
}
"""


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveRetrievalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        import transformers

        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        texts = [
            " ".join(
                LETTERS[(d + i) % 7 : (d + i) % 7 + 1 + i * d % 4] or "the" for i in range(d % 11)
            )
            for d in range(40)
        ]
        texts += ["été ab", "the " * 20, "a" * 60, "\t\n"]
        lines = [json.dumps({"text": text}) for text in texts if text]
        (cls.folder / "books.jsonl").write_text("\n".join(lines))
        cls.must("data", "prepare", "books.jsonl", "-o", "books", "--append-eod")
        (cls.folder / "spec.textproto").write_text(SPEC)
        torch.manual_seed(1)
        config = transformers.BertConfig(
            vocab_size=len(VOCABULARY), hidden_size=DIM, intermediate_size=48,
            num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
            initializer_range=0.2,
        )  # fmt: skip
        cls.model = transformers.BertForMaskedLM(config).eval()
        with torch.no_grad():  # Norms and biases that are not the first ones.
            for name, weight in cls.model.named_parameters():
                if weight.dim() == 1:
                    weight += 0.1 * torch.randn(weight.shape)
        cls.model.save_pretrained(cls.folder / "theirs")
        (cls.folder / "theirs/vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
        cls.tokenizer = transformers.BertTokenizerFast(str(cls.folder / "theirs/vocab.txt"))
        cls.must("checkpoint", "import", "theirs", "-o", "bert")

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments, cwd=cls.folder)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def theirs(self, text, length):
        """The mean of the last hidden states without [CLS] and [SEP]."""
        import torch

        tokens = self.tokenizer(text, truncation=True, max_length=length, return_tensors="pt")
        count = tokens["input_ids"].shape[1]
        if count == 2:
            return [0.0] * DIM
        with torch.no_grad():
            hidden = self.model.bert(**tokens).last_hidden_state[0, 1 : count - 1]
        return hidden.mean(0).tolist()

    def embed(self, *more):
        for path in self.folder.glob("books*.embeddings"):
            path.unlink()
        for path in self.folder.glob("books*.neighbors"):
            path.unlink()
        self.must("data", "neighbors", "--spec", "spec.textproto", "--split", "train",
                  "--embedder", "bert", "--embedder-tokenizer", "theirs",
                  "--tokenizer", "byte", *more)  # fmt: skip
        (path,) = self.folder.glob("books*.embeddings")
        return read_rows(path, f"<{DIM}f")

    def chunks(self):
        said = self.must("data", "chunks", "--spec", "spec.textproto", "--tokenizer", "byte")
        return [json.loads(line) for line in said.splitlines()]

    def test_embeddings_are_theirs(self):
        for length in (32, 12):
            ours = self.embed("--embedder-length", length)
            chunks = self.chunks()
            self.assertEqual(len(ours), len(chunks))
            worst = max(
                abs(a - b)
                for row, chunk in zip(ours, chunks, strict=True)
                for a, b in zip(row, self.theirs(chunk["text"], length), strict=True)
            )
            print(f"{len(ours)} embeddings of {length} tokens differ by up to {worst:.1e}")
            self.assertLess(worst, NEAR)

    def test_what_is_embedded_together_changes_nothing(self):
        self.assertEqual(self.embed("--embedder-rows", 5), self.embed("--embedder-rows", 32))


if __name__ == "__main__":
    unittest.main()
