# Part of Hocket, under the Apache License v2.0.
"""`hocket data prepare --chat --images-per-sequence`: conversations about images."""

import json
import pathlib
import shutil
import struct
import tempfile
import unittest

from programs import hocket

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test/runtime/data/golden/images.txt"
TEMPLATE = """{% for message in messages %}{{ message['role'].upper() + ': ' }}\
{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\\n' }}\
{% endfor %}{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}\
{% if message['role'] == 'assistant' %}{% generation %}{{ part['text'] }}{% endgeneration %}\
{% else %}{{ part['text'] + ' ' }}{% endif %}{% endfor %}{% endfor %}"""
LENGTH, SIZE, PATCH, TOKENS, MOST = 96, 16, 8, 4, 2
HEAD = struct.Struct("<8s8Q")
SPEC = """name: "seen"
model {
  layers: 2 hidden: 16 heads: 2 ffn: 32 vocab_size: 400 max_positions: 96
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 1 global_batch_size: 4 sequence_length: 96 steps: 6 log_interval: 1
  learning_rate { schedule: CONSTANT peak: 0.01 }
  data { split: "1" eod_token: END eod_mask_loss: true reset_attention_mask: true }
}
"""


def text(words):
    return {"type": "text", "text": words}


def seen(files, question, answer):
    """One line, in the form of transformers."""
    parts = [{"type": "image"}] * len(files)
    return {
        "messages": [
            {"role": "user", "content": [*parts, text(question)]},
            {"role": "assistant", "content": [text(answer)]},
        ],
        "images": files,
    }


def begins_with(word, number):
    """The post-processor of a tokenizer that puts a token before a text."""
    first, text_ = {"SpecialToken": {"id": word, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [first, text_],
            "pair": [first, text_, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {word: {"id": word, "ids": [number], "tokens": [word]}}}  # fmt: skip


class ImagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.crops = {}
        (cls.folder / "pictures").mkdir()
        for line in GOLDEN.read_text().splitlines():
            kind, name, *words = line.split()
            if kind == "image":
                (cls.folder / "pictures" / name).write_bytes(bytes.fromhex(words[0]))
            elif kind == "crop" and words[0] == str(SIZE):
                cls.crops[name] = bytes.fromhex(words[1])
        cls.make_model()
        cls.lines = [
            seen(["pictures/rgb"], "What is it?", "Noise."),
            seen(["pictures/jpeg420", "pictures/rgba"], "And these?", "More."),
            seen([], "And now?", "Nothing."),
            seen(["pictures/rgb"], "Again?", "Yes."),
            {  # A part that names its file.
                "messages": [
                    {"role": "user", "content": [{"type": "image", "path": "pictures/gray"}]},
                    {"role": "assistant", "content": [text("Gray.")]},
                ]
            },
            {  # LLaVA's form.
                "id": "7",
                "image": "pictures/jpeg444",
                "conversations": [
                    {"from": "human", "value": "What is it?\n<image>"},
                    {"from": "gpt", "value": "A ramp."},
                    {"from": "human", "value": "Of what?"},
                    {"from": "gpt", "value": "Colours."},
                ],
            },
        ]
        cls.write("seen.jsonl", *cls.lines)
        cls.must(*cls.prepare("out"))

    @classmethod
    def make_model(cls):
        """A folder of a model that sees images, with the tokenizer of bytes and merges."""
        model = cls.folder / "model"
        (cls.folder / "poem.txt").write_text("Tyger Tyger, burning bright,\n" * 9)
        cls.must("tokenizer", "train", "poem.txt", "--vocab-size", 280, "-o", "model")
        trained = json.loads((model / "tokenizer.json").read_text())
        cls.end = trained["added_tokens"][0]["id"]
        cls.token = max(trained["model"]["vocab"].values()) + 1
        added = {**trained["added_tokens"][0], "id": cls.token, "content": "<image>"}
        trained["added_tokens"].append(added)
        (model / "tokenizer.json").write_text(json.dumps(trained))
        (model / "chat_template.jinja").write_text(TEMPLATE)
        vision = {"image_size": SIZE, "patch_size": PATCH}
        config = {"vision_config": vision, "vision_feature_select_strategy": "default"}
        (model / "config.json").write_text(json.dumps(config))

    @classmethod
    def write(cls, name, *lines):
        (cls.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return name

    @classmethod
    def prepare(cls, output, *more, source="seen.jsonl", most=MOST):
        images = ("--images-per-sequence", most) if most else ()
        return ("data", "prepare", source, "-o", output, "--tokenizer", "model", "--chat",
                "--pack", LENGTH, *images, *more)  # fmt: skip

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

    def line_refused(self, message, line, **options):
        self.write("bad.jsonl", self.lines[0], line)
        command = self.prepare("bad", source="bad.jsonl", **options)
        self.refused(f"bad.jsonl:2:1: {message}", *command)
        self.assertEqual(list(self.folder.glob("bad_*")), [])

    def read(self, name):
        """The sequences, each (tokens, learned, the pixels of its images)."""
        prefix = self.folder / f"{name}_messages_document"
        raw = prefix.with_suffix(".bin").read_bytes()
        tokens = struct.unpack(f"<{len(raw) // 2}H", raw)
        mask = prefix.with_suffix(".mask").read_bytes()
        bits = [mask[40 + i // 8] >> i % 8 & 1 for i in range(len(tokens))]
        file = prefix.with_suffix(".images").read_bytes()
        magic, documents, count, size, each, token, most, images, uses = HEAD.unpack_from(file)
        self.assertEqual((magic, documents, count), (b"HKTIMGS1", len(tokens) // LENGTH, len(tokens)))
        self.assertEqual((size, token, most), (SIZE, self.token, MOST))
        self.assertEqual(each, TOKENS)
        bytes_ = 3 * size * size
        at = HEAD.size + images * bytes_
        begins = struct.unpack_from(f"<{documents + 1}Q", file, at)
        at += 8 * len(begins)
        self.assertEqual(len(file), at + 4 * uses)
        numbers = struct.unpack_from(f"<{uses}I", file, at)
        pixels = [file[HEAD.size + i * bytes_ :][:bytes_] for i in range(images)]
        self.assertEqual(len(set(pixels)), images)
        return [
            (
                list(tokens[d * LENGTH :][:LENGTH]),
                bits[d * LENGTH :][:LENGTH],
                [pixels[i] for i in numbers[begins[d] : begins[d + 1]]],
            )
            for d in range(documents)
        ]

    def talks(self, name):
        """The conversations in their sequences: texts, answers and images."""
        found = []
        for tokens, learned, pixels in self.read(name):
            self.assertEqual(tokens.count(self.token), TOKENS * len(pixels))
            self.assertLessEqual(len(pixels), MOST)
            while tokens and tokens[0] != self.end:
                size = tokens.index(self.end) + 1
                talk, bits = tokens[: size - 1], learned[: size - 1]
                images = talk.count(self.token) // TOKENS
                for i, token in enumerate(talk):
                    if token == self.token:
                        self.assertEqual(bits[i], 0)
                names = [next(n for n, c in self.crops.items() if c == p) for p in pixels[:images]]
                found.append((self.text(talk), self.text(t for t, b in zip(talk, bits) if b), names))
                pixels, tokens, learned = pixels[images:], tokens[size:], learned[size:]
            self.assertEqual(pixels, [])
            self.assertEqual(set(tokens) | {self.end}, {self.end})
        return sorted(found)

    @classmethod
    def text(cls, tokens):
        """With one <image> for those of an image."""
        file = json.loads((cls.folder / "model/tokenizer.json").read_text())
        words = {number: word for word, number in file["model"]["vocab"].items()}
        words[cls.token] = "<image>"
        joined = "".join(words[token] for token in tokens)
        return joined.replace("<image>" * TOKENS, "<image>").replace("Ġ", " ").replace("Ċ", "\n")

    def test_conversations(self):
        self.assertEqual(
            self.talks("out"),
            sorted([
                ("USER: <image>\nWhat is it? ASSISTANT: Noise.", "Noise.", ["rgb"]),
                ("USER: <image>\n<image>\nAnd these? ASSISTANT: More.", "More.",
                 ["jpeg420", "rgba"]),
                ("USER: And now? ASSISTANT: Nothing.", "Nothing.", []),
                ("USER: <image>\nAgain? ASSISTANT: Yes.", "Yes.", ["rgb"]),
                ("USER: <image>\nASSISTANT: Gray.", "Gray.", ["gray"]),
                ("USER: <image>\nWhat is it? ASSISTANT: A ramp.USER: Of what? "
                 "ASSISTANT: Colours.", "A ramp.Colours.", ["jpeg444"]),
            ]),
        )  # fmt: skip

    def test_a_conversation_begins_as_a_prompt(self):
        """With the token that the tokenizer puts before prompts, once: that of the
        template where that writes it."""
        begun = self.folder / "begun"
        shutil.copytree(self.folder / "model", begun)
        trained = json.loads((begun / "tokenizer.json").read_text())
        begin = self.token + 1
        trained["added_tokens"].append({**trained["added_tokens"][0], "id": begin, "content": "<s>"})
        trained["post_processor"] = begins_with("<s>", begin)
        (begun / "tokenizer.json").write_text(json.dumps(trained))
        (begun / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>"}))
        plain = {name: [tokens, bits] for tokens, bits, name in self.begun("out")}
        for template in (TEMPLATE, "{{ bos_token }}" + TEMPLATE):
            (begun / "chat_template.jinja").write_text(template)
            command = [*self.prepare("begun_out")]
            command[command.index("model")] = "begun"
            self.must(*command)
            for tokens, bits, name in self.begun("begun_out"):
                self.assertEqual((tokens[0], bits[0]), (begin, 0))
                self.assertEqual([tokens[1:], bits[1:]], plain.pop(name))
            self.assertEqual(plain, {})
            plain = {name: [tokens[1:], bits[1:]] for tokens, bits, name in self.begun("begun_out")}

    def begun(self, name):
        """(tokens, learned, the text without tokens of its own) of each conversation."""
        for tokens, learned, _ in self.read(name):
            while tokens and tokens[0] != self.end:
                size = tokens.index(self.end)
                own = [token for token in tokens[:size] if token <= self.token]
                yield tokens[:size], learned[:size], self.text(own)
                tokens, learned = tokens[size + 1 :], learned[size + 1 :]

    def test_threads_make_no_difference(self):
        self.write("many.jsonl", *self.lines * 60)  # Several chunks.
        for threads in (1, 3):
            self.must(*self.prepare(f"t{threads}", "--threads", threads, source="many.jsonl"))
        for end in ("bin", "idx", "mask", "images"):
            one, three = (
                (self.folder / f"t{n}_messages_document.{end}").read_bytes() for n in (1, 3)
            )
            self.assertEqual(one, three, end)
        self.assertEqual(len(self.talks("t3")), 60 * len(self.lines))

    def test_options_are_those_of_the_model(self):
        options = ("--image-size", SIZE, "--patch-size", PATCH, "--image-features", "default",
                   "--image-token", "<image>", "--image-folder", self.folder)  # fmt: skip
        (self.folder / "elsewhere").mkdir()
        self.write("elsewhere/seen.jsonl", *self.lines)
        self.must(*self.prepare("said", *options, source="elsewhere/seen.jsonl"))
        self.assertEqual(self.read("said"), self.read("out"))
        about = json.loads(self.must(*self.prepare("full", "--image-features", "full", "--json")))
        self.assertEqual((about["images"], about["image_uses"], about["documents"]), (5, 6, 6))
        about = json.loads(self.must("data", "inspect", "full", "--json"))
        self.assertEqual(about["images"], {"images": 5, "uses": 6, "size": SIZE, "tokens": 5,
                                           "token": self.token, "most_per_sequence": MOST})  # fmt: skip

    def test_long_conversations_are_cut(self):
        line = seen(["pictures/rgb", "pictures/gray"], "q" * 3, "a")
        # Of two images the second one is cut: no part of it is left.
        (self.folder / "narrow.jsonl").write_text(json.dumps(line) + "\n")
        command = [*self.prepare("narrow", source="narrow.jsonl")]
        command[command.index(LENGTH)] = 14
        done = self.call(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("longer than 14 tokens and cut", done.stderr)
        file = (self.folder / "narrow_messages_document.images").read_bytes()
        self.assertEqual(HEAD.unpack_from(file)[7:], (1, 1))
        raw = (self.folder / "narrow_messages_document.bin").read_bytes()
        tokens = struct.unpack(f"<{len(raw) // 2}H", raw)
        self.assertEqual((len(tokens), tokens.count(self.token)), (14, TOKENS))

    def test_inspect_and_merge(self):
        shown = self.must("data", "inspect", "out")
        self.assertIn(
            "images: 5 of 16 x 16 pixels, used 6 times, at most 2 in a sequence; each has 4 tokens "
            f"{self.token}\n",
            shown,
        )
        self.refused("prepare all files", "data", "merge", "out", "out", "-o", "both")

    def test_a_model_of_text_refuses_them(self):
        spec = SPEC.replace("END", str(self.end))
        (self.folder / "seen.textproto").write_text(spec)
        self.refused("these conversations have images, and the model takes none",
                     "train", "seen.textproto", "--data", "out")  # fmt: skip

    def test_text_alone_leaves_no_images(self):
        self.must(*self.prepare("again"))
        images = self.folder / "again_messages_document.images"
        self.assertTrue(images.exists())
        self.write("text.jsonl", self.lines[2])
        self.must(*self.prepare("again", source="text.jsonl", most=None))
        self.assertFalse(images.exists())

    def test_wrong_lines(self):
        def line(content, **more):
            return {"messages": [{"role": "user", "content": content},
                                 {"role": "assistant", "content": [text("a")]}], **more}  # fmt: skip

        part = {"type": "image"}
        (self.folder / "short.jpg").write_bytes(
            (self.folder / "pictures/jpeg420").read_bytes()[:-30]
        )
        for message, bad in (
            ("none.png: cannot open: No such file", seen(["none.png"], "q", "a")),
            ("short.jpg: is a damaged JPEG file: the file is cut short",
             seen(["short.jpg"], "q", "a")),
            ("seen.jsonl: expected a PNG or JPEG file, found something else",
             seen(["seen.jsonl"], "q", "a")),
            ("pictures: is a folder", seen(["pictures"], "q", "a")),
            ("expected the path of an image on this machine, found 'https://a.org/b.png'; save "
             "it as a file", seen(["https://a.org/b.png"], "q", "a")),
            ("expected the path of an image, found", seen([7], "q", "a")),
            ("the messages have a place for image 1, and no file is named for it", line([part])),
            ("the line names 1 image, and its messages have places for 0",
             line([text("q")], image="pictures/rgb")),
            ("expected parts of the types \"text\" and \"image\", found \"video\"",
             line([{"type": "video", "path": "a"}])),
            ('a part of type "text" has <image> in it', line([text("<image>")])),
            ("a turn is from \"human\", \"gpt\" or \"system\", not from \"dog\"",
             {"conversations": [{"from": "dog", "value": "wow"}]}),
            ("the conversation has 3 images, and --images-per-sequence allows 2",
             seen(["pictures/rgb"] * 3, "q", "a")),
            ("expected an object with messages", {"text": "q"}),
        ):  # fmt: skip
            with self.subTest(message):
                done = self.call(*self.prepare("bad", source=self.write(
                    "bad.jsonl", self.lines[0], bad)))  # fmt: skip
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("bad.jsonl:2:1: ", done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(list(self.folder.glob("bad_*")), [])
        self.write("bad.jsonl", self.lines[0], seen(["none.png"], "q", "a"), self.lines[2])
        command = self.prepare("skipped", "--max-bad-lines", 1, source="bad.jsonl")
        self.assertIn("2 conversations with 1 image in", self.must(*command))

    def test_a_plain_text_says_where_its_image_stands(self):
        line = seen(["pictures/rgb"], "q", "a")
        line["messages"][0]["content"] = "<image>q"
        source = self.write("plain.jsonl", line)
        self.assertIn("1 conversation with 1 image", self.must(*self.prepare("plain", source=source)))
        (self.folder / "blind.jinja").write_text(TEMPLATE.replace("<image>", ""))
        blind = self.prepare("blind", "--chat-template", "blind.jinja")
        done = self.call(*blind)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the chat template makes 0 tokens <image> of", done.stderr)
        self.assertEqual(list(self.folder.glob("blind_*")), [])

    def test_wrong_options(self):
        plain = ("data", "prepare", "seen.jsonl", "-o", "bad", "--tokenizer", "model")
        self.refused("--images-per-sequence is about conversations", *plain,
                     "--images-per-sequence", 1)  # fmt: skip
        self.refused("--image-size requires --images-per-sequence", *plain, "--chat", "--pack", 9,
                     "--image-size", 16)  # fmt: skip
        self.refused("an image has 4 tokens, and a sequence 4; write a larger --pack",
                     *plain, "--chat", "--pack", 4, "--images-per-sequence", 1)  # fmt: skip
        self.refused("not 16 pixels into patches of 5", *self.prepare("bad", "--patch-size", 5))
        self.refused("tokens of \"<picture>\", which stands for an image",
                     *self.prepare("bad", "--image-token", "<picture>"))  # fmt: skip
        bytes_ = [*self.prepare("bad", "--chat-template", "model/chat_template.jinja")]
        bytes_[bytes_.index("model")] = "byte"
        self.refused("images have no size; write --image-size N and --patch-size N", *bytes_)
        (self.folder / "model/config.json").rename(self.folder / "model/kept")
        try:
            (self.folder / "model/config.json").write_text("{}")
            self.refused('has no "vision_config", so this model sees no images',
                         *self.prepare("bad"))  # fmt: skip
        finally:
            (self.folder / "model/kept").rename(self.folder / "model/config.json")


if __name__ == "__main__":
    unittest.main()
