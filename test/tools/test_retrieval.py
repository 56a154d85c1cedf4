# Part of Hocket, under the Apache License v2.0.
"""`hocket data neighbors`: what is retrieved for the samples of a run."""

import json
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

from programs import BUILD, hocket
from retrieval_files import cut, read_tokens, write_npy

CHUNK, SEQUENCE, RETRIEVED, NEIGHBORS, DIM = 8, 32, 20, 2, 12
SPEC = f"""name: "retro"
model {{
  layers: 6 hidden: 16 heads: 2 ffn: 32 vocab_size: 257 max_positions: {SEQUENCE}
  retrieval {{ chunk_length: {CHUNK} neighbors: {NEIGHBORS} retrieved_length: {RETRIEVED} }}
}}
training {{
  micro_batch_size: 2 global_batch_size: 4 steps: 30 seed: 5
  validation {{ interval: 10 batches: 1 }}
  data {{ train {{ path: "books" }} split: "8,2" eod_token: 256 }}
}}
"""
WORDS = "to be or not that is the question whether it nobler in mind suffer slings".split()


def embedding_of(tokens):
    """Small whole numbers: distances are exact, and some are equal."""
    row = [0] * DIM
    for token in tokens:
        row[token % DIM] += token % 3
    return row


class RetrievalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        draw = random.Random(3)
        for name in ("books", "news"):
            lines = [
                json.dumps({"text": " ".join(draw.choices(WORDS, k=draw.randrange(1, 30)))})
                for _ in range(60)
            ]
            (cls.folder / f"{name}.jsonl").write_text("\n".join(lines))
            cls.must("data", "prepare", f"{name}.jsonl", "-o", name, "--append-eod")
        (cls.folder / "spec.textproto").write_text(SPEC)
        cls.corpus = cls.lines("data", "chunks", "--spec", "spec.textproto")
        cls.embed("corpus.npy", cls.corpus)
        for split in ("train", "valid"):
            listed = cls.lines("data", "chunks", "--spec", "spec.textproto", "--split", split)
            cls.embed(f"{split}.npy", listed)

    @classmethod
    def call(cls, *arguments):
        return hocket(*arguments, cwd=cls.folder)

    @classmethod
    def must(cls, *arguments):
        done = cls.call(*arguments)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    @classmethod
    def lines(cls, *arguments):
        return [json.loads(line) for line in cls.must(*arguments).splitlines()]

    @classmethod
    def embed(cls, name, chunks):
        write_npy(cls.folder / name, [embedding_of(chunk["tokens"]) for chunk in chunks])

    def neighbors(self, split, *more, corpus="corpus.npy", samples=None):
        return ("data", "neighbors", "--spec", "spec.textproto", "--split", split,
                "--corpus-embeddings", corpus,
                "--sample-embeddings", samples or f"{split}.npy", *more)  # fmt: skip

    def shown(self, split, count, *more):
        return self.lines("data", "show", "--spec", "spec.textproto", "--split", split,
                          "--samples", f"0:{count}", "--json", *more)  # fmt: skip

    def made(self):
        """What stands there beside what setUpClass() wrote."""
        made = [
            path
            for path in self.folder.iterdir()
            if path.suffix in (".neighbors", ".part", ".index", ".codes", ".embeddings")
        ]
        return {path.name: path.read_bytes() for path in made}

    def setUp(self):
        for name in self.made():
            (self.folder / name).unlink()

    def test_chunks_are_those_of_a_plain_loop(self):
        documents = read_tokens(self.folder / "books_text_document")
        plain = [
            {"chunk": 0, "document": d, "offset": CHUNK * i, "tokens": tokens}
            for d, document in enumerate(documents)
            for i, tokens in enumerate(cut(document, CHUNK))
        ]
        for number, chunk in enumerate(plain):
            chunk["chunk"] = number
        self.assertEqual(self.corpus, plain)
        text = self.lines("data", "chunks", "--spec", "spec.textproto", "--tokenizer", "byte")
        self.assertEqual(text[0]["text"], bytes(plain[0]["tokens"]).decode())

    def test_neighbours_are_those_of_a_plain_search(self):
        documents = read_tokens(self.folder / "books_text_document")
        rows = [embedding_of(chunk["tokens"]) for chunk in self.corpus]
        for split, count in (("train", 120), ("valid", 16)):
            said = self.must(*self.neighbors(split, "--json"))
            self.assertEqual(json.loads(said)["samples"], count)
            for sample in self.shown(split, count):
                own = {piece["sequence"] for piece in sample["pieces"]}
                wanted = []
                for chunk in cut(sample["tokens"][:SEQUENCE], CHUNK):
                    query = embedding_of(chunk)
                    order = sorted(
                        (sum((a - b) ** 2 for a, b in zip(query, row, strict=True)), number)
                        for number, row in enumerate(rows)
                        if self.corpus[number]["document"] not in own
                    )
                    wanted.append([])
                    for _, number in order[:NEIGHBORS]:
                        place = self.corpus[number]
                        document = documents[place["document"]]
                        found = document[place["offset"] : place["offset"] + RETRIEVED]
                        wanted[-1].append(found + [256] * (RETRIEVED - len(found)))
                self.assertEqual(sample["neighbors"], wanted)

    def test_another_corpus_has_no_own_documents(self):
        corpus = ("--set", "training.data.retrieved.corpus=news,books")
        listed = self.lines("data", "chunks", "--spec", "spec.textproto", *corpus)
        news = read_tokens(self.folder / "news_text_document")
        self.assertEqual(listed[0]["tokens"], news[0][:CHUNK])
        self.embed("both.npy", listed)
        self.must(*self.neighbors("valid", *corpus, corpus="both.npy"))
        alone = ("--set", "training.data.retrieved.corpus=news")
        listed = listed[: sum(len(cut(document, CHUNK)) for document in news)]
        self.embed("news.npy", listed)
        self.must(*self.neighbors("valid", *alone, corpus="news.npy"))
        both, other = (self.shown("valid", 16, *which) for which in (corpus, alone))
        self.assertEqual([s["tokens"] for s in both], [s["tokens"] for s in other])
        self.assertNotEqual([s["neighbors"] for s in both], [s["neighbors"] for s in other])
        starts = {tuple(chunk["tokens"]) for chunk in listed}
        found = [n for s in other for c in s["neighbors"] for n in c]
        self.assertTrue(all(any(tuple(n[:i]) in starts for i in range(1, 9)) for n in found))

    def test_a_kill_at_any_time_leaves_the_same_bytes(self):
        command = [BUILD / "bin/hocket", *self.neighbors("train", "--index", "IVF8,Flat",
                                                         "--probes", "3")]  # fmt: skip
        self.must(*command[1:], "--threads", 1)
        whole = self.made()
        self.assertTrue(any(name.endswith(".codes") for name in whole))
        begin = time.monotonic()
        self.must(*command[1:])
        patience = time.monotonic() - begin
        killed = 0
        for attempt in range(12):
            for name in self.made():
                (self.folder / name).unlink()
            for again in range(3):
                running = subprocess.Popen(
                    command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                try:
                    running.wait(patience * (attempt + again) / 12)
                except subprocess.TimeoutExpired:
                    running.send_signal(signal.SIGKILL)
                    running.wait()
                    killed += 1
            self.must(*command[1:], "--threads", 1 + attempt % 4)
            self.assertEqual(self.made(), whole)
        self.assertGreater(killed, 0)

    def test_complete_files_are_told_from_others(self):
        self.must(*self.neighbors("train"))
        first = self.made()
        said = self.must(*self.neighbors("train"))
        self.assertIn("it was there", said)
        done = self.call(*self.neighbors("train", "--index", "IVF4,Flat"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("was made with another embedder or index; remove it", done.stderr)
        for name, content in first.items():
            self.assertEqual((self.folder / name).read_bytes(), content)

    def refused(self, message, *arguments):
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_what_is_missing_is_told(self):
        self.refused("nothing was retrieved for these samples",
                     "data", "show", "--spec", "spec.textproto")  # fmt: skip
        self.refused("`hocket data neighbors --split valid`",
                     "data", "show", "--spec", "spec.textproto", "--split", "valid")  # fmt: skip
        none = ("data", "neighbors", "--spec", "spec.textproto")
        self.refused("--embedder is missing", *none)
        self.refused("--tokenizer is missing", *none, "--embedder", "bert")
        self.refused("go together", *none, "--sample-embeddings", "train.npy")
        self.refused("those of one split", *none, "--sample-embeddings", "train.npy",
                     "--corpus-embeddings", "corpus.npy")  # fmt: skip
        self.refused("there is no index 'HNSW32'",
                     *self.neighbors("train", "--index", "HNSW32"))  # fmt: skip
        self.refused(f"needs at least 100,000 chunks, the corpus has {len(self.corpus)}",
                     *self.neighbors("train", "--index", "IVF100000,Flat"))  # fmt: skip
        self.refused("no 5 equal parts",
                     *self.neighbors("train", "--index", "IVF2,PQ5"))  # fmt: skip
        plain = self.folder / "plain.textproto"
        start = SPEC.index("  retrieval")
        plain.write_text(SPEC[:start] + SPEC[SPEC.index("\n", start) + 1 :])
        self.refused("takes in nothing that was retrieved",
                     "data", "neighbors", "--spec", "plain.textproto")  # fmt: skip
        self.assertEqual(self.made(), {})

    def test_embeddings_of_others_are_checked(self):
        good = (self.folder / "corpus.npy").read_bytes()
        nan, infinite = (bytes.fromhex(text) for text in ("0000c07f", "0000807f"))
        for content, message in (
            (good[:-1], "has another size than its shape"),
            (good + b"0", "has another size than its shape"),
            (b"", "is too short"),
            (good[:30], "ends within its header"),
            (good.replace(b"<f4", b"<f8"), "does not hold float32"),
            (good[:-4] + nan, "is not finite"),
            (good[:-4] + infinite, "is not finite"),
            ((self.folder / "valid.npy").read_bytes(), "expected a .npy file of float32"),
        ):
            (self.folder / "bad.npy").write_bytes(content)
            self.refused(message, *self.neighbors("train", corpus="bad.npy"))
        wide = [[0] * (DIM + 1)] * (120 * SEQUENCE // CHUNK)
        write_npy(self.folder / "wide.npy", wide)
        self.refused("has embeddings of 13 elements",
                     *self.neighbors("train", samples="wide.npy"))  # fmt: skip
        self.refused("No such file", *self.neighbors("train", samples="nowhere.npy"))
        self.assertEqual([n for n in self.made() if n.endswith(".neighbors")], [])

    def test_damaged_neighbours_are_refused(self):
        self.must(*self.neighbors("valid"))
        (path,) = self.folder.glob("*.neighbors")
        good = path.read_bytes()
        show = ("data", "show", "--spec", "spec.textproto", "--split", "valid", "--samples", "0:16")
        for content, message in (
            (good[:-1], "no row of whole pages"),
            (b"", "too short"),
            (good[:300] + bytes([good[300] ^ 1]) + good[301:], "is not what was written"),
            (bytes(4096), "is not what was written"),
        ):
            path.write_bytes(content)
            self.refused(message, *show)
        path.write_bytes(good)
        self.must(*show)


if __name__ == "__main__":
    unittest.main()
