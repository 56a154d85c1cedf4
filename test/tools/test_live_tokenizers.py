# Part of Hocket, under the Apache License v2.0.
"""Tokenizers beside the libraries of others, where they are installed.

    pip install tokenizers sentencepiece
    HOCKET_LIVE_TEXTS=1000000 python3 test/tools/test_live_tokenizers.py
"""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest

from programs import ROOT, hocket

FOLDER = ROOT / "test/runtime/tokenizer"
MISSING = [n for n in ("tokenizers", "sentencepiece") if not importlib.util.find_spec(n)]
TEXTS = int(os.environ.get("HOCKET_LIVE_TEXTS", "20000"))


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveTokenizersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path[:0] = [str(FOLDER), str(FOLDER / "golden")]
        import make_golden
        import texts

        cls.golden, cls.texts = make_golden, texts
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        corpus = (ROOT / "README.md").read_text() + (ROOT / "docs/spec.md").read_text()
        cls.lines = [line for line in corpus.splitlines() if line]
        cls.lines += list(texts.LANGUAGES.values())

    def ours(self, path, lines):
        text, out = self.folder / "lines.txt", self.folder / "lines.ids"
        text.write_text("\n".join(lines) + "\n", newline="")
        done = hocket("tokenizer", "encode", text, "--lines", "--tokenizer", path, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [list(map(int, line.split())) for line in out.read_text().splitlines()]

    def same(self, tokenizer, path, lines):
        lines = [line for line in lines if "\n" not in line]
        mine, others = self.ours(path, lines), self.golden.documents(tokenizer, lines)
        differ = [line for line, a, b in zip(lines, mine, others) if a != b]
        self.assertEqual(len(mine), len(lines))
        self.assertEqual(differ[:5], [], f"{len(differ)} of {len(lines)} texts")

    def test_every_kind(self):
        made = list(self.golden.make_all(self.folder, self.lines, 640))
        (self.folder / "nfkc").mkdir()
        nfkc, name = self.golden.sentence_piece_unigram(self.folder / "nfkc", self.lines, 700)
        made.append((nfkc, f"nfkc/{name}"))
        for tokenizer, name in made:
            settled = name.startswith("bert")
            codes = [c for c in self.texts.code_points(settled) if c != 10]
            with self.subTest(name):
                self.same(tokenizer, self.folder / name, self.texts.random_texts(TEXTS, seed=2))
                self.same(tokenizer, self.folder / name, map(self.texts.code_point_text, codes))

    def test_training_makes_the_same_merges(self):
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        corpus, out = self.folder / "corpus.txt", self.folder / "trained"
        corpus.write_text("\n".join(self.lines))
        done = hocket("tokenizer", "train", corpus, "--vocab-size", 1500, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = Tokenizer(models.BPE())
        other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        other.train_from_iterator(
            ["\n".join(self.lines)],
            trainers.BpeTrainer(
                vocab_size=1499, initial_alphabet=alphabet, min_frequency=2, show_progress=False
            ),
        )
        theirs = json.loads(other.to_str())["model"]["merges"]
        mine = json.loads((out / "tokenizer.json").read_text())["model"]["merges"]
        self.assertEqual(mine, theirs)
        read = Tokenizer.from_file(str(out / "tokenizer.json"))
        self.same(read, out, self.texts.random_texts(2000))


if __name__ == "__main__":
    unittest.main()
