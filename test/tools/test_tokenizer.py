# Part of Hocket, under the Apache License v2.0.
"""`hocket tokenizer`, and tokenizers in `hocket data`."""

import json
import pathlib
import shutil
import tempfile
import unittest

from programs import ROOT, hocket

GOLDEN = ROOT / "test/runtime/tokenizer/golden"
POEM = "Tyger Tyger, burning bright,\nIn the forests of the night;\n" * 40


class TokenizerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.poem = self.write("poem.txt", POEM)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refuses(self, message, *arguments):
        """Exit status 2, this message, and nothing written."""
        before = sorted(self.folder.rglob("*"))
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def train(self, size=300, *options):
        out = self.folder / "trained"
        said = self.must("tokenizer", "train", self.poem, "--vocab-size", size, "-o", out, *options)
        return out, said

    def test_a_trained_tokenizer_gives_the_text_back(self):
        out, said = self.train(280)
        self.assertIn("280 tokens, 23 merges", said)
        document = json.loads((out / "tokenizer.json").read_text())
        self.assertEqual(json.loads((out / "vocab.json").read_text()),
                         document["model"]["vocab"])  # fmt: skip
        merges = (out / "merges.txt").read_text().splitlines()[1:]
        self.assertEqual(merges, [" ".join(pair) for pair in document["model"]["merges"]])
        ids = self.folder / "poem.ids"
        for path in (out, out / "tokenizer.json", out / "vocab.json"):
            self.must("tokenizer", "encode", self.poem, "--tokenizer", path, "-o", ids)
            numbers = [int(line) for line in ids.read_text().splitlines()]
            self.assertLess(len(numbers), len(POEM) / 2)
            text = self.must("tokenizer", "decode", ids, "--tokenizer", path)
            self.assertEqual(text, POEM)

    def test_training_depends_on_the_text_alone(self):
        first = (self.train(280, "--threads", 1)[0] / "tokenizer.json").read_bytes()
        second = (self.train(280, "--threads", 3)[0] / "tokenizer.json").read_bytes()
        self.assertEqual(first, second)

    def test_a_corpus_that_is_too_small_is_said(self):
        said = self.train(5000)[1]
        self.assertIn("No other pair occurs 2 times", said)

    def test_special_tokens_are_text_but_in_prompts(self):
        text = self.write("text.txt", "a <|endoftext|> b\n<|endoftext|>\n")
        out, ids = self.folder / "text.ids", GOLDEN / "gpt2"
        for option, ends in (("--lines", 0), ("--prompt", 2)):
            options = ["--lines"] if option == "--lines" else ["--lines", option]
            self.must("tokenizer", "encode", text, "--tokenizer", ids, "-o", out, *options)
            lines = [line.split() for line in out.read_text().splitlines()]
            self.assertEqual(len(lines), 2)
            self.assertEqual(sum(line.count("640") for line in lines), ends)

    def test_inspect_says_what_there_is(self):
        said = self.must("tokenizer", "inspect", GOLDEN / "llama3.json", "--text", "Hello 1234")
        for fact in ("byte-level BPE", "642 tokens", "641 <|end_of_text|>", "llama3"):
            self.assertIn(fact, said)
        facts = json.loads(self.must("tokenizer", "inspect", GOLDEN / "unigram.model", "--json"))
        self.assertEqual(facts["kind"], "SentencePiece unigram")
        self.assertEqual(facts["end_of_document"], 2)
        self.assertEqual(len(facts["sha256"]), 64)

    def test_data_is_prepared_with_a_tokenizer(self):
        out = self.folder / "data"
        said = self.must("data", "prepare", self.poem, "-o", out, "--json",
                         "--append-eod", "--tokenizer", GOLDEN / "gpt2")  # fmt: skip
        result = json.loads(said)
        self.assertEqual(result["vocabulary_size"], 641)
        self.assertEqual(len(result["tokenizer_sha256"]), 64)
        binary = (self.folder / "data_text_document.bin").read_bytes()
        tokens = [binary[i] | binary[i + 1] << 8 for i in range(0, len(binary), 2)]
        self.assertEqual(tokens[-1], 640)
        ids = self.write("data.ids", " ".join(map(str, tokens)))
        self.assertEqual(self.must("tokenizer", "decode", ids, "--tokenizer", GOLDEN / "gpt2"), POEM)

    def test_wrong_command_lines(self):
        out, gpt2 = self.folder / "out", GOLDEN / "gpt2"
        encode = ["tokenizer", "encode", self.poem, "-o", out, "--tokenizer"]
        self.refuses("x.model: there is no such file", *encode, self.folder / "x.model")
        self.refuses("is no tokenizer by its name", *encode, self.write("a.bin", "x"))
        (self.folder / "empty").mkdir()
        self.refuses("holds no tokenizer: expected", *encode, self.folder / "empty")
        self.refuses("none.txt: ", "tokenizer", "encode", self.folder / "none.txt",
                     "-o", out, "--tokenizer", gpt2)  # fmt: skip
        bad = self.write("bad.txt", b"fine\nnot \xe2 fine\n")
        self.refuses("bad.txt:2:5: expected valid UTF-8", "tokenizer", "encode", bad,
                     "-o", out, "--tokenizer", gpt2)  # fmt: skip
        for text, where in (("1 2\n3 x", "2:3"), ("641", "1:1"), ("-1", "1:1"), ("1.5", "1:1")):
            ids = self.write("bad.ids", text)
            self.refuses(f"bad.ids:{where}: expected the number of a token, below 641",
                         "tokenizer", "decode", ids, "--tokenizer", gpt2)  # fmt: skip
        train = ["tokenizer", "train", self.poem, "-o", out, "--vocab-size"]
        self.refuses("--vocab-size wants a whole number", *train, 256)
        self.refuses("--words wants gpt2, llama3 or qwen2", *train, 300, "--words", "gpt5")
        self.refuses("the special token <x> is given twice",
                     *train, 300, "--special", "<x>", "<x>")  # fmt: skip
        self.refuses("songs.jsonl:1:1: expected an object with the key 'text'", "tokenizer",
                     "train", self.write("songs.jsonl", '{"body": "x"}\n'), "-o", out,
                     "--vocab-size", 300)  # fmt: skip

    def test_wrong_tokenizer_json(self):
        whole = json.loads((GOLDEN / "llama3.json").read_text())
        poem, out = self.poem, self.folder / "out"

        def refuses(message, text):
            path = self.write("tokenizer.json", text)
            self.refuses(message, "tokenizer", "encode", poem, "--tokenizer", path, "-o", out)

        def changed(message, *path_and_value):
            document = json.loads(json.dumps(whole))
            *path, key, value = path_and_value
            at = document
            for name in path:
                at = at[name]
            at[key] = value
            refuses(message, json.dumps(document))

        refuses("tokenizer.json:1:1: expected an object", "[]")
        refuses("tokenizer.json:2:10: expected ", '{\n "model":}')
        refuses("expected the key 'model'", "{}")
        refuses("tokenizer.json:1:", "{" * 100000)
        changed("the model 'Unigram' is not supported", "model", "type", "Unigram")
        changed("expected the number of '!', below", "model", "vocab", "!", -1)
        changed("the number 1 is taken by", "model", "vocab", "!", 1)
        changed("expected a merge, as", "model", "merges", [["a"]])
        changed("'qqqq' is no token of the vocabulary", "model", "merges", [["qqqq", "a"]])
        changed("appears twice", "model", "merges",
                [whole["model"]["merges"][0]] * 2)  # fmt: skip
        changed("expected no dropout", "model", "dropout", 0.1)
        changed("is read from its tokenizer.model", "model", "byte_fallback", True)
        changed("the normalizer 'Precompiled' is not supported",
                "normalizer", {"type": "Precompiled"})  # fmt: skip
        changed("the pattern '.+' is not supported; expected that of GPT-2", "pre_tokenizer",
                "pretokenizers", 0, "pattern", {"Regex": ".+"})  # fmt: skip
        changed("expected ByteLevel as the last pre-tokenizer", "pre_tokenizer",
                "pretokenizers", [whole["pre_tokenizer"]["pretokenizers"][0]])  # fmt: skip
        changed("the post-processor 'Magic' is not supported", "post_processor", {"type": "Magic"})
        changed("has the number 3, but in the vocabulary that is", "added_tokens", 0, "id", 3)
        vocabulary = {k: v for k, v in whole["model"]["vocab"].items() if k != "!"}
        changed("the vocabulary has no token for the byte 0x21", "model", "vocab", vocabulary)

    def test_wrong_other_vocabularies(self):
        out = self.folder / "out"

        def refuses(message, path):
            self.refuses(message, "tokenizer", "encode", self.poem, "--tokenizer", path, "-o", out)

        folder = self.folder / "bpe"
        shutil.copytree(GOLDEN / "gpt2", folder)
        merges = folder / "merges.txt"
        merges.write_text("#version: 0.2\nt h e\n")
        refuses("merges.txt:2:1: expected two tokens with one space between them", folder)
        merges.unlink()
        refuses("merges.txt: ", folder)
        refuses("vocab.txt:3:1: the token '[UNK]' appears twice, first in line 1",
                self.write("vocab.txt", "[UNK]\na\n[UNK]\n"))  # fmt: skip
        refuses("vocab.txt: the vocabulary has no token '[UNK]'", self.write("vocab.txt", "a\n"))
        refuses("vocab.txt:2:1: expected a token, found an empty line",
                self.write("vocab.txt", "[UNK]\n\nb\n"))  # fmt: skip
        refuses("expected the model of a SentencePiece tokenizer",
                self.write("x.model", "version https://example.org/lfs\n"))  # fmt: skip
        refuses("x.model: byte 0: there are no pieces", self.write("x.model", ""))


if __name__ == "__main__":
    unittest.main()
