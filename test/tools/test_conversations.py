# Part of Hocket, under the Apache License v2.0.
"""`hocket data prepare --chat`: conversations as packed sequences with a mask of
answers, and what a run makes of them."""

import json
import pathlib
import random
import struct
import tempfile
import unittest

from programs import hocket

TEMPLATE = """{% for message in messages %}<{{ message.role }}>{{ message.content }}<end>
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
MARKED = """{% for message in messages %}<{{ message.role }}>{% if message.role == 'assistant' %}\
{% generation %}{{ message.content }}{% endgeneration %}{% else %}{{ message.content }}{% endif %}\
<end>
{% endfor %}"""
END, LENGTH = 256, 128
SPEC = """name: "talks"
model {
  layers: 2 hidden: 16 heads: 2 ffn: 32 vocab_size: 257 max_positions: 128
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 1 global_batch_size: 4 sequence_length: 128 steps: 6 log_interval: 1
  learning_rate { schedule: CONSTANT peak: 0.01 } data { split: "1" DATA }
}
"""
MARKS = "eod_token: 256 eod_mask_loss: true reset_attention_mask: true reset_position_ids: true"


def conversations(count):
    """Some of two messages, some of four; the texts differ in length."""
    choice = random.Random(5)
    for i in range(count):
        messages = []
        for _ in range(choice.choice((1, 1, 2))):
            messages.append({"role": "user", "content": "q" * choice.randrange(1, 9)})
            messages.append({"role": "assistant", "content": "äb"[i % 2] * choice.randrange(0, 7)})
        yield messages


def wanted_tokens(messages, marked=False):
    """Bytes, and which of them are learned: an answer, with its end unless marked."""
    tokens, learned = [], []
    for message in messages:
        is_answer = message["role"] == "assistant"
        parts = ((f"<{message['role']}>", False), (message["content"], is_answer),
                 ("<end>\n", is_answer and not marked))  # fmt: skip
        for text, learns in parts:
            tokens += text.encode()
            learned += [int(learns)] * len(text.encode())
    return [*tokens, END], [*learned, 0]


class ConversationsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.messages = list(conversations(60))
        lines = (json.dumps({"messages": messages}) + "\n" for messages in cls.messages)
        (cls.folder / "talks.jsonl").write_text("".join(lines))
        (cls.folder / "plain.jinja").write_text(TEMPLATE)
        (cls.folder / "marked.jinja").write_text(MARKED)
        (cls.folder / "talks.textproto").write_text(SPEC.replace("DATA", MARKS))
        (cls.folder / "unmarked.textproto").write_text(SPEC.replace("DATA", ""))
        cls.must(*cls.prepare("plain", "plain.jinja"))

    @classmethod
    def prepare(cls, output, template, *more):
        return ("data", "prepare", "talks.jsonl", "-o", output, "--tokenizer", "byte", "--chat",
                "--chat-template", template, "--pack", LENGTH, *more)  # fmt: skip

    @classmethod
    def call(cls, *arguments):
        return hocket(*arguments, cwd=cls.folder)

    @classmethod
    def must(cls, *arguments):
        done = cls.call(*arguments)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def refused(self, message, *arguments):
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)

    def read(self, name):
        """The sequences, each (tokens, learned)."""
        prefix = self.folder / f"{name}_messages_document"
        raw = prefix.with_suffix(".bin").read_bytes()
        tokens = struct.unpack(f"<{len(raw) // 2}H", raw)
        mask = prefix.with_suffix(".mask").read_bytes()
        magic, count, length, end, learned = struct.unpack_from("<8s4Q", mask)
        self.assertEqual((magic, count, length, end), (b"HKTMASK1", len(tokens), LENGTH, END))
        bits = [mask[40 + i // 8] >> i % 8 & 1 for i in range(count)]
        self.assertEqual(sum(bits), learned)
        return [(list(tokens[i : i + LENGTH]), bits[i : i + LENGTH])
                for i in range(0, count, LENGTH)]  # fmt: skip

    def check_packed(self, name, marked):
        """Every conversation is there once, whole, with its mask."""
        left = sorted(wanted_tokens(messages, marked) for messages in self.messages)
        found = []
        for tokens, learned in self.read(name):
            while tokens and tokens[0] != END:
                size = tokens.index(END) + 1
                found.append((tokens[:size], learned[:size]))
                tokens, learned = tokens[size:], learned[size:]
            self.assertEqual(set(tokens) | {END}, {END})
            self.assertEqual(sum(learned), 0)
        self.assertEqual(sorted(found), left)

    def test_packed(self):
        self.check_packed("plain", False)
        # Tight: hardly more than the tokens that there are.
        every = sum(len(wanted_tokens(messages)[0]) for messages in self.messages)
        self.assertLessEqual(len(self.read("plain")) * LENGTH, 1.1 * every + LENGTH)

    def test_marked(self):
        self.must(*self.prepare("marked", "marked.jinja"))
        self.check_packed("marked", True)

    def test_threads_make_no_difference(self):
        self.must(*self.prepare("one", "plain.jinja", "--threads", 1))
        self.assertEqual(self.read("one"), self.read("plain"))

    def test_inspect_and_show(self):
        about = json.loads(self.must("data", "inspect", "plain", "--json"))
        learned = sum(sum(bits) for _, bits in self.read("plain"))
        self.assertEqual((about["learned"], about["packed"], about["end_of_conversation"]),
                         (learned, LENGTH, END))  # fmt: skip
        self.assertIn("tokens are answers", self.must("data", "inspect", "plain"))
        (line,) = self.must("data", "show", "plain", "--spec", "talks.textproto", "--samples", "0",
                            "--json").splitlines()  # fmt: skip
        sample = json.loads(line)
        self.assertIn((sample["tokens"][:LENGTH], sample["learned"][:LENGTH]), self.read("plain"))
        text = self.must("data", "show", "plain", "--spec", "talks.textproto")
        self.assertRegex(text, r"<assistant>\[\[[^<]*<end>\\n\]\]")

    def losses(self, *options):
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        self.must("train", "talks.textproto", "--data", "plain", "--log", log, *options)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["loss"] for line in lines if "grad_norm" in line]

    def test_a_run_learns_answers(self):
        one = self.losses()
        self.assertLess(one[-1], one[0] - 0.3)
        for mesh in ("dp=2", "pp=2", "tp=2", "cp=2"):
            found = self.losses("--mesh", mesh)
            for a, b in zip(found, one, strict=True):
                self.assertAlmostEqual(a, b, delta=2e-4, msg=mesh)

    def test_a_run_that_would_learn_all_is_refused(self):
        self.refused("--set training.data.eod_token=256 --set training.data.eod_mask_loss=true",
                     "train", "unmarked.textproto", "--data", "plain")  # fmt: skip
        self.refused("conversations are packed into sequences of 128 tokens, and a sample has 32; "
                     "prepare them again with --pack 32", "train", "talks.textproto", "--data",
                     "plain", "--set", "training.sequence_length=32")  # fmt: skip

    def test_wrong_inputs(self):
        self.refused("has no chat template", "data", "prepare", "talks.jsonl", "-o", "x",
                     "--tokenizer", "byte", "--chat", "--pack", LENGTH)  # fmt: skip
        self.refused("write --pack N", "data", "prepare", "talks.jsonl", "-o", "x", "--tokenizer",
                     "byte", "--chat", "--chat-template", "plain.jinja")  # fmt: skip
        self.refused("say --chat too", "data", "prepare", "talks.jsonl", "-o", "x", "--pack", 64)
        (self.folder / "bad.jsonl").write_text('{"messages": []}\n')
        self.refused("bad.jsonl:1:1: expected an object with messages under the key 'messages'",
                     "data", "prepare", "bad.jsonl", "-o", "x", "--tokenizer", "byte", "--chat",
                     "--chat-template", "plain.jinja", "--pack", LENGTH)  # fmt: skip
        (self.folder / "bad.jinja").write_text("\n{% include 'x' %}")
        self.refused("bad.jinja:2:4: the block 'include' is not supported",
                     *self.prepare("x", "bad.jinja"))  # fmt: skip
        self.refused("talks.jsonl:1:1: plain2.jinja:1:4: the template refuses these messages: no",
                     *self.prepare("x", self.refusing()))  # fmt: skip
        self.must("data", "prepare", "talks.jsonl", "-o", "other", "--tokenizer", "byte",
                  "--json-key", "messages", "--chat", "--chat-template", "plain.jinja", "--pack",
                  LENGTH)  # fmt: skip
        self.refused("prepare all files at once in place of merging", "data", "merge",
                     "plain_messages_document", "other_messages_document", "-o", "all")  # fmt: skip

    def refusing(self):
        (self.folder / "plain2.jinja").write_text("{{ raise_exception('no') }}")
        return "plain2.jinja"

    def test_long_ones_are_cut(self):
        long = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x" * 200}]
        (self.folder / "long.jsonl").write_text(json.dumps({"messages": long}) + "\n")
        done = self.call("data", "prepare", "long.jsonl", "-o", "long", "--tokenizer", "byte",
                         "--chat", "--chat-template", "plain.jinja", "--pack", LENGTH)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 conversation is longer than 128 tokens and cut there", done.stderr)
        ((tokens, learned),) = self.read("long")
        wanted, marks = wanted_tokens(long)
        self.assertEqual(tokens, [*wanted[: LENGTH - 1], END])
        self.assertEqual(learned, [*marks[: LENGTH - 1], 0])

    def test_other_tokens_take_the_mask_away(self):
        self.must(*self.prepare("gone", "plain.jinja"))
        mask = self.folder / "gone_messages_document.mask"
        damaged = bytearray(mask.read_bytes())
        damaged[8] ^= 1
        mask.write_bytes(damaged)
        self.refused("gone_messages_document.mask: is of", "data", "inspect", "gone")
        (self.folder / "text.jsonl").write_text('{"messages": "plain text"}\n')
        self.must("data", "prepare", "text.jsonl", "-o", "gone", "--tokenizer", "byte",
                  "--json-key", "messages")  # fmt: skip
        self.assertFalse(mask.exists())


if __name__ == "__main__":
    unittest.main()
