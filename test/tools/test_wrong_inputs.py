# Part of Hocket, under the Apache License v2.0.
"""What others may hand to `hocket`, and should not: vocabularies, merges, corpora,
token files, prompts, tasks, checkpoints and folders of models. Each is told what is
wrong with it in its message, with status 2, and nothing is written.

Requests to a server are in test_serve.py, options of generate and eval in
test_inference.py, Megatron-LM's files in test_megatron_errors.py, what only a parser
sees in test/runtime.
"""

import json
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

from programs import ROOT, hocket

sys.path.insert(0, str(ROOT / "test"))

import token_files  # noqa: E402

SPEC = """model { layers: 1 hidden: 32 heads: 2 ffn: 64 vocab_size: 257 max_positions: 32 }
training {
  micro_batch_size: 2 global_batch_size: 2 sequence_length: 32 steps: 1 precision: FP32
  data { split: "1" }
}
"""
BPE = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 257,
        "n_positions": 32, "n_inner": 64}  # fmt: skip
DEEP = "[" * 200_000 + "]" * 200_000
LONG = "a" * 5000


def bpe(**changes):
    return json.dumps({"model": {**BPE, **changes}, "pre_tokenizer": {"type": "ByteLevel"}})


class WrongInputsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        (cls.folder / "spec.textproto").write_text(SPEC)
        (cls.folder / "text.txt").write_text("to be or not to be\n" * 60)
        cls.must("data", "prepare", "text.txt", "-o", "text", "--tokenizer", "byte")
        cls.must("compile", "spec.textproto", "-o", "model.hkx")
        cls.must("train", "model.hkx", "--data", "text_text_document", "--save", "run")
        cls.must("checkpoint", "export", "run", "-o", "theirs")
        (cls.folder / "folder").mkdir()
        (cls.folder / "empty").write_bytes(b"")
        (cls.folder / "latin.txt").write_bytes(b"caf\xe9\n")
        (cls.folder / "loop").symlink_to("loop")

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments, cwd=cls.folder)
        assert done.returncode == 0, done.stderr

    def listing(self):
        return {path: os.lstat(path).st_mtime_ns for path in self.folder.rglob("*")}

    def refused(self, message, *arguments):
        with self.subTest(message, arguments=[str(each)[:40] for each in arguments]):
            before = self.listing()
            done = hocket(*arguments, cwd=self.folder)
            self.assertEqual(done.returncode, 2, done.stderr[:1000])
            self.assertIn(message, done.stderr)
            if arguments[0] != "train":  # It tells what it begins with.
                self.assertEqual(done.stdout, "")
            self.assertEqual(self.listing(), before)

    def with_file(self, name, content):
        """A file in a folder of its own; the path of the folder, and of the file."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder.relative_to(self.folder), (folder / name).relative_to(self.folder)

    def test_vocabularies_and_merges(self):
        inspect = "tokenizer", "inspect"
        for message, path in (
            ("empty: is no tokenizer by its name", "empty"),
            ("folder: holds no tokenizer", "folder"),
            ("nowhere: there is no such file", "nowhere"),
            ("loop: there is no such file", "loop"),
            (f"{LONG}: there is no such file", LONG),
            ("/dev/null: is no tokenizer by its name", "/dev/null"),
        ):
            self.refused(message, *inspect, path)
        for message, text in (
            ("tokenizer.json:1:1: expected an object", ""),
            ("tokenizer.json:1:2: expected", "{"),
            ("the model 'Foo' is not supported", bpe(type="Foo")),
            ("the number 0 is taken by 'a'", bpe(vocab={"a": 0, "b": 0})),
            ("expected the number of 'a', below 524288, found '99999999999'",
             bpe(vocab={"a": 99999999999})),
            ("expected the number of 'a'", bpe(vocab={"a": -1})),
            ("expected the number of 'a'", bpe(vocab={"a": 0.5})),
            ("'c' is no token of the vocabulary, but this merge of 'a' and 'c' needs it",
             bpe(merges=["a c"])),
            ("expected a merge, as \"t h\"", bpe(merges=["a"])),
            ("expected a merge, as \"t h\"", bpe(merges=[["a", "b", "c"]])),
            ("tokenizer.json:1:11: expected an object, found '[[[[", '{"model": ' + DEEP + "}"),
        ):  # fmt: skip
            self.refused(message, *inspect, self.with_file("tokenizer.json", text)[0])
        folder, _ = self.with_file("vocab.json", '{"a": 0}')
        self.refused("merges.txt: cannot open: No such file", *inspect, folder)
        for message, words in (
            ("vocab.txt: is empty; expected a token a line", ""),
            ("vocab.txt:2:1: the token 'a' appears twice, first in line 1", "a\na\n"),
            ("vocab.txt:2:1: expected valid UTF-8", b"a\n\xff\n"),
        ):
            self.refused(message, *inspect, self.with_file("vocab.txt", words)[0])
        for message, data in (
            ("tokenizer.model: byte 0: there are no pieces", b""),
            ("byte 0: a field is cut short or of no known kind", b"\xff" * 40),
            ("byte 0: a field is cut short", b"\x0a\xff\xff\xff\xff\x0f"),
        ):
            self.refused(message, *inspect, self.with_file("tokenizer.model", data)[0])

    def test_texts_to_encode_and_ids_to_decode(self):
        encode = "tokenizer", "encode"
        byte, out = ("--tokenizer", "byte"), ("-o", "new.ids")
        for message, path in (
            ("nowhere: cannot open: No such file", "nowhere"),
            ("folder: is a folder, expected a regular file", "folder"),
            ("loop: cannot open: Too many levels of symbolic links", "loop"),
            ("latin.txt:1:4: expected valid UTF-8", "latin.txt"),
        ):
            self.refused(message, *encode, path, *byte, *out)
        for message, path in (
            ("folder: exists and is not a regular file", "folder"),
            ("/dev/full: exists and is not a regular file", "/dev/full"),
            ("nowhere/ids: cannot create: No such file", "nowhere/ids"),
            ("File name too long", LONG),
        ):
            self.refused(message, *encode, "text.txt", *byte, "-o", path)
        for message, text in (
            ("ids:3:1: expected the number of a token, below 257, found 'x'", "1\n2\nx\n"),
            ("ids:1:1: expected the number of a token, below 257, found '-2'", "-2\n"),
            ("ids:1:1: expected the number of a token, below 257, found '257'", "257\n"),
            ("found '99999999999999999999'", "99999999999999999999\n"),
            ("ids:1:1: expected the number of a token", b"\0\0\n"),
        ):
            self.refused(message, "tokenizer", "decode", self.with_file("ids", text)[1], *byte)
        train = "tokenizer", "train"
        for message, path in (
            ("empty: is empty", "empty"),
            ("folder: is a folder; name the files inside it", "folder"),
            ("latin.txt:1:4: expected valid UTF-8", "latin.txt"),
        ):
            self.refused(message, *train, path, "--vocab-size", 300, "-o", "new")
        for size in (256, -1, "nan", "99999999999999999999"):
            self.refused("--vocab-size wants a whole number from 257", *train, "text.txt",
                         "--vocab-size", size, "-o", "new")  # fmt: skip
        self.refused("empty: cannot make the folder", *train, "text.txt", "--vocab-size", 257,
                     "-o", "empty")  # fmt: skip

    def test_corpora(self):
        prepare, out = ("data", "prepare"), ("-o", "new", "--tokenizer", "byte")
        for message, name, content in (
            ("is empty", "a.txt", ""),
            ("a.txt:1:4: expected valid UTF-8", "a.txt", b"caf\xe9"),
            ("a.jsonl:2:9: expected a value", "a.jsonl", '{"text":"a"}\n{"text":'),
            ("a.jsonl:1:1: expected an object with the key 'text', found an array", "a.jsonl",
             "[1]"),
            ("a.jsonl:1:20: the key 'text' appears twice", "a.jsonl",
             '{"text":"a","text":"b"}'),
            ("a.jsonl:1:1: expected numbers that 64 bits can hold", "a.jsonl",
             '{"text":"a","n":1e999}'),
            ("a.jsonl:1:10: expected valid UTF-8", "a.jsonl", b'{"text":"\xff"}'),
            ("a.jsonl:1:10: expected both halves of a surrogate pair", "a.jsonl",
             '{"text":"\\ud800"}'),
            ("a.jsonl:1:1032: expected at most 1024 levels", "a.jsonl", '{"text":' + DEEP + "}"),
            ("not a whole gzip file", "a.jsonl.gz", '{"text":"a"}'),
            ("not a whole xz file", "a.jsonl.xz", '{"text":"a"}'),
            ("not a whole Zstandard file", "a.jsonl.zst", '{"text":"a"}'),
        ):  # fmt: skip
            self.refused(message, *prepare, self.with_file(name, content)[1], *out)
        for message, *arguments in (
            ("folder: is a folder", "folder", *out),
            ("loop: cannot read: Too many levels of symbolic links", "loop", *out),
            ("--output wants a path", "text.txt", "-o", ""),
            ("--output wants a path", "text.txt", "-o", "-"),
            ("nowhere/new_text_document.bin: cannot create", "text.txt", "-o", "nowhere/new"),
            ("expected an object with the key 'story'",
             self.with_file("a.jsonl", '{"text":"a"}')[1], *out, "--json-keys", "story"),
        ):  # fmt: skip
            self.refused(message, *prepare, *arguments)

    def test_token_files(self):
        good = (self.folder / "text_text_document.idx").read_bytes()

        def pair(index, tokens=b"\1\0" * 2000):
            folder, path = self.with_file("part.idx", index)
            (self.folder / folder / "part.bin").write_bytes(tokens)
            return path.with_suffix("")

        for message, prefix in (
            ("do not fit in the file's 50 bytes", pair(good[:50])),
            ("part.idx: sequence 0: 2280 bytes at byte 0 pass the end", pair(good, b"")),
            ("part.idx: expected a header of 34 bytes, the file has 0", pair(b"")),
            ("part.idx: not a Megatron index", pair(b"MMIDIDX\0\1" + good[9:])),
            ("part.idx: expected version 1, found 9", pair(good[:9] + struct.pack("<Q", 9) + good[17:])),
            ("9223372036854775808 sequences", pair(good[:18] + struct.pack("<Q", 2**63) + good[26:])),
            ("there is no such file", "nowhere"),
            ("folder.idx: there is no such file", "folder"),
        ):
            self.refused(message, "data", "inspect", prefix)
            self.refused(message, "data", "merge", "text_text_document", prefix, "-o", "new")
            self.refused(message, "train", "model.hkx", "--data", prefix, "--save", "new")
        self.refused("text_text_document: is one of the datasets to merge", "data", "merge",
                     "text_text_document", "text_text_document", "-o",
                     "text_text_document")  # fmt: skip
        token_files.write(self.folder / "foreign", [[1, 2, 700] * 100])
        self.refused("token 700 is outside the vocabulary of 257", "train", "model.hkx", "--data", "foreign", "--save", "new")

    def test_prompts(self):
        generate = "generate", "--load", "run", "--tokenizer", "byte", "--tokens", 1
        for message, name, content in (
            ("p.jsonl:1:14: expected", "p.jsonl", '{"prompt":"a"'),
            ("p.jsonl:1:24: expected each key once, found 'prompt' again", "p.jsonl",
             '{"prompt":"a","prompt":"b"}'),
            ("p.jsonl:1:1: expected an object", "p.jsonl", '["a"]'),
            ('p.jsonl:2: no JSON object with a "prompt"', "p.jsonl",
             '{"prompt":"a"}\n{"prompt":1}'),
            ("p.jsonl:1:1034: expected at most 1024 levels", "p.jsonl", '{"prompt":' + DEEP + "}"),
            ("p.txt:1:4: expected valid UTF-8", "p.txt", b"caf\xe9"),
            ("p.txt: there is no prompt in it", "p.txt", "\n \n"),
            ("p.txt:1: the prompt has 40 tokens, the model sees 32", "p.txt", "a" * 40),
        ):  # fmt: skip
            self.refused(message, *generate, "--prompts", self.with_file(name, content)[1],
                         "-o", "new.jsonl")  # fmt: skip
        _, prompts = self.with_file("p.jsonl", '{"prompt":"a"}')
        for message, path in (
            ("p.jsonl: holds the prompts; name another file", prompts),
            ("folder: exists and is not a regular file", "folder"),
            ("nowhere/texts: cannot create: No such file", "nowhere/texts"),
        ):
            # Before anything is written for hours.
            done = hocket(*generate, "--prompts", prompts, "-o", path, cwd=self.folder)
            self.assertNotIn("tokens/s", done.stderr)
            self.refused(message, *generate, "--prompts", prompts, "-o", path)
        ask = "ask", "http://127.0.0.1:1", "--prompt"
        for command in (generate + ("--prompt",), ask):
            self.refused("--prompt wants UTF-8; byte 2 of it is none", *command,
                         os.fsdecode(b"a\xff"))  # fmt: skip
            self.refused("--stop wants at least one character", *command, "a", "--stop", "")
        for url in ("https://127.0.0.1:1", "http://127.0.0.1:99999", "http://:80",
                    "http://127.0.0.1:0", "http://127.0.0.1:1/x"):  # fmt: skip
            self.refused("is no address of a server", "ask", url, "--prompt", "a")
        self.refused("URL wants a value, not ''", "ask", "", "--prompt", "a")
        for option in ("--host", "--model-name"):
            self.refused(f"{option} wants at least one character", "serve", "--load", "run",
                         "--tokenizer", "byte", option, "")  # fmt: skip

    def test_tasks(self):
        evaluate = "eval", "{}", "--load", "run", "--tokenizer", "byte", "--data"
        question = '{"context":"a","choices":%s,"label":%s}'
        for task, message, content in (
            ("choice", "q:1: there are fewer than two choices", question % ("[]", 0)),
            ("choice", "q:1: there are fewer than two choices", question % ('["b"]', 0)),
            ("choice", 'q:1: "label" is 2, there are choices 0 to 1',
             question % ('["b","c"]', 2)),
            ("choice", 'q:1: "label" is -1', question % ('["b","c"]', -1)),
            ("choice", "q:1:1067: expected at most 1024 levels", question % ('["b","c"]', DEEP)),
            ("choice", "q:1: a choice is empty", question % ('["b",""]', 0)),
            ("choice", 'q:1: "choices" is no list', question % ('{"b":1}', 0)),
            ("choice", "q:1:18: expected each key once, found 'goal' again",
             '{"goal":1,"goal":2}'),
            ("choice", "q:1:1: expected an object", "3"),
            ("choice", "q: there is no question in it", ""),
            ("lambada", 'q:1: no JSON object with a "text"', '{"txt":"a b"}'),
            ("lambada", "q:1:1: expected an object", '"a b"'),
            ("lambada", "has nothing before its last word", '{"text":""}'),
            ("lambada", "q:1:1032: expected at most 1024 levels", '{"text":' + DEEP + "}"),
            ("perplexity", "q: there are fewer than two tokens in it", ""),
            ("perplexity", "q:1:4: expected valid UTF-8", b"caf\xe9"),
        ):  # fmt: skip
            command = [word.format(task) for word in evaluate]
            self.refused(message, *command, self.with_file("q", content)[1])
        for task in ("perplexity", "lambada", "choice"):
            command = [word.format(task) for word in evaluate]
            self.refused("loop: cannot open: Too many levels of symbolic links", *command, "loop")

    def test_folders_of_models(self):
        weights = (self.folder / "theirs/model.safetensors").read_bytes()

        def folder(config, data=weights):
            path, _ = self.with_file("config.json", config)
            if data is not None:
                (self.folder / path / "model.safetensors").write_bytes(data)
            return path

        def changed(**keys):
            return folder(json.dumps({**GPT2, **keys}))

        for message, path in (
            ("config.json:1:1: H1: is not JSON", folder("")),
            ('H2: there is no "model_type"', folder("{}")),
            ("H3: vocab_size is 1e+09; write a whole number", changed(vocab_size=1e9)),
            ("S4: model.layers is 999999999999", changed(n_layer=999999999999)),
            ("S4: model.hidden is -64", changed(n_embd=-64)),
            ("S5: model.heads is 7", changed(n_head=7)),
            ("tensor 'transformer.h.1.ln_1.weight' is missing", changed(n_layer=2)),
            ("has shape [257, 32], expected [300, 32]", changed(vocab_size=300)),
            ("expected a safetensors file of at least 8 bytes, found 0",
             folder(json.dumps(GPT2), b"")),
            ("the tensors end at byte", folder(json.dumps(GPT2), weights[:5000])),
            ("expected a header of at most 100000000 bytes",
             folder(json.dumps(GPT2), b"\xff" * 8 + b"{}")),
            ("holds neither model.safetensors nor model.safetensors.index.json",
             folder(json.dumps(GPT2), None)),
            ("folder/config.json: there is no such file", "folder"),
            ("nowhere: there is no such file", "nowhere"),
        ):  # fmt: skip
            self.refused(message, "checkpoint", "import", path, "-o", "new")
        self.refused("run: holds iteration 1 already; name a folder without any", "checkpoint",
                     "import", "theirs", "-o", "run")  # fmt: skip
        self.refused("empty: cannot make the folder", "checkpoint", "import", "theirs", "-o",
                     "empty")  # fmt: skip

    def test_checkpoints(self):
        def copy(change):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "run"
            shutil.copytree(self.folder / "run", folder)
            change(folder)
            return folder.relative_to(self.folder)

        def written(name, content):
            return copy(lambda run: (run / name).write_bytes(content))

        iteration, latest = "iter_0000001", "latest_checkpointed_iteration.txt"
        weights = (self.folder / "run" / iteration / "model.safetensors").read_bytes()
        damaged = weights[:-5] + bytes([weights[-5] ^ 1]) + weights[-4:]
        for message, path in (
            ("folder: holds no checkpoint", "folder"),
            ("empty: holds no checkpoint", "empty"),
            ("loop: holds no checkpoint", "loop"),
            ("`hocket checkpoint import theirs -o RUN` makes one", "theirs"),
            ("iter_0099999: is no complete iteration", written(latest, b"99999")),
            ("expected the number of an iteration", written(latest, b"../../etc")),
            ("expected the number of an iteration", written(latest, b"")),
            ("manifest.json: byte 0: expected", written(f"{iteration}/manifest.json", b"")),
            ("has 1000 bytes, the manifest says",
             written(f"{iteration}/model.safetensors", weights[:1000])),
            ("the file is damaged", written(f"{iteration}/model.safetensors", damaged)),
        ):  # fmt: skip
            self.refused(message, "checkpoint", "export", path, "-o", "new")
            self.refused(message, "checkpoint", "merge", path, "-o", "new")
            if path != "theirs":
                self.refused(message, "generate", "spec.textproto", "--load", path, "--tokenizer",
                             "byte", "--prompt", "a")  # fmt: skip
        export = "checkpoint", "export", "run", "-o"
        for message, *arguments in (
            ("empty: cannot make the folder", "empty"),
            ("File name too long", LONG),
            ("loop: holds no tokenizer", "new", "--tokenizer", "loop"),
            (f"{LONG}: holds no tokenizer", "new", "--tokenizer", LONG),
            ("--max-shard-size wants a number above 0", "new", "--max-shard-size", "nan"),
            ("tokenizer.json: is a folder, expected a regular file", "new", "--tokenizer",
             self.with_file("tokenizer.json/x", "")[0]),
        ):  # fmt: skip
            self.refused(message, *export, *arguments)
        self.refused("run: holds iteration 1 already", "checkpoint", "merge", "run", "-o", "run")


if __name__ == "__main__":
    unittest.main()
