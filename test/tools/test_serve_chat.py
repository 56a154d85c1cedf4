# Part of Hocket, under the Apache License v2.0.
"""`hocket serve` answers conversations, with images too; `hocket ask --chat` asks it."""

import base64
import concurrent.futures
import json
import pathlib
import random
import shutil
import struct
import tempfile
import unittest
import zlib

from programs import ROOT, hocket
from servers import Server, converse

SPEC = """model {
  layers: 2 hidden: 32 heads: 2 ffn: 48 vocab_size: 644 max_positions: 96
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false tied_embeddings: false
  initializer { stddev: 0.3 }
  %s
}
training {
  micro_batch_size: 4 global_batch_size: 8 sequence_length: 96 steps: 1
  precision: FP32 learning_rate { peak: 1e-2 }
  %s
}
"""
VISION = "vision { layers: 3 hidden: 24 heads: 2 image_size: 8 patch_size: 4 } image_token: 642"
IMAGES = "images_per_sequence: 2 data { eod_token: 641 eod_mask_loss: true }"
ROWS = 4  # of an image
BEGIN, IMAGE = 640, 642
# Of parts: as llava has it. It has no token that begins a text.
PARTS = """{% for m in messages %}{{ m['role'].upper() + ': ' }}\
{% for p in m['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\\n' }}{% endfor %}\
{% for p in m['content'] | selectattr('type', 'equalto', 'text') %}{{ p['text'] + ' ' }}\
{% endfor %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"""
# Of texts, with special tokens.
TEXTS = """{{ bos_token }}{% for m in messages %}{{ m.role + ': ' + m.content | trim + '<|eot|>' }}\
{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"""


def png(seed, width, height, claims=None):
    """Noise; of a file that `claims` a size of its own."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(
            ">I", zlib.crc32(kind + body)
        )  # fmt: skip

    own = random.Random(seed)
    rows = b"".join(b"\0" + own.randbytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", *(claims or (width, height)), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*part) for part in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def golden(name):
    """An image of the tests of images."""
    for line in (ROOT / "test/runtime/data/golden/images.txt").read_text().splitlines():
        words = line.split()
        if words[:2] == ["image", name]:
            return bytes.fromhex(words[2])
    raise AssertionError(name)


def url_of(image):
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


def image_part(image):
    return {"type": "image_url", "image_url": {"url": url_of(image)}}


def text_part(text):
    return {"type": "text", "text": text}


def about(text, *images):
    """A message of a user."""
    return {"role": "user", "content": [*map(image_part, images), text_part(text)]}


def said(text, role="assistant"):
    return {"role": role, "content": text}


class ChatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.make_tokenizer()
        for name, model, training in (("seeing", VISION, IMAGES), ("blind", "", "")):
            (cls.folder / f"{name}.textproto").write_text(SPEC % (model, training))
            cls.must("compile", cls.folder / f"{name}.textproto", "-o", cls.folder / "a.hkx")
            cls.must("train", cls.folder / "a.hkx", "--steps", 0, "--save", cls.folder / name)
        cls.texts = cls.folder / "texts.jinja"
        cls.texts.write_text(TEXTS)
        cls.seeing = Server("--load", cls.folder / "seeing", tokenizer=cls.words)
        cls.addClassCleanup(cls.seeing.end)
        cls.blind = Server("--load", cls.folder / "blind", "--chat-template", cls.texts,
                           tokenizer=cls.words)  # fmt: skip
        cls.addClassCleanup(cls.blind.end)

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @classmethod
    def make_tokenizer(cls):
        """Llama 3's, which puts a token before a prompt, with two more."""
        cls.words = cls.folder / "words"
        cls.words.mkdir()
        trained = json.loads((ROOT / "test/runtime/tokenizer/golden/llama3.json").read_text())
        for number, text in ((IMAGE, "<image>"), (643, "<|eot|>")):
            added = {**trained["added_tokens"][0], "id": number, "content": text}
            trained["added_tokens"].append(added)
        (cls.words / "tokenizer.json").write_text(json.dumps(trained))
        config = {"bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|eot|>"}}
        (cls.words / "tokenizer_config.json").write_text(json.dumps(config))
        (cls.words / "chat_template.jinja").write_text(PARTS)

    def generated(self, prompt, *images, run="seeing", tokens=12):
        """What `hocket generate` writes of a text."""
        files = []
        for i, image in enumerate(images):
            files += ["--image", self.folder / f"{i}.image"]
            files[-1].write_bytes(image)
        return json.loads(self.must(
            "generate", "--load", self.folder / run, "--tokenizer", self.words, "--json",
            "--greedy", "--ignore-eos", "--tokens", tokens, "--prompt", prompt, *files))  # fmt: skip

    WRITING = {"max_tokens": 12, "temperature": 0, "ignore_eos": True, "logprobs": True}

    def check_same(self, choice, own):
        """A choice of a chat, and what `hocket generate` wrote."""
        self.assertEqual(choice["message"], said(own["text"]))
        parts = choice["logprobs"]["content"]
        self.assertEqual([part["logprob"] for part in parts], own["log_probabilities"])

    def test_texts_about_images_are_those_of_generate(self):
        png_, jpeg = png(1, 9, 7), golden("jpeg420")
        for messages, prompt, images in (
            ([about("What is it?", png_)], "USER: <image>\nWhat is it? ASSISTANT:", [png_]),
            ([about("And it?", jpeg)], "USER: <image>\nAnd it? ASSISTANT:", [jpeg]),
            ([about("Which?", jpeg, png_)], "USER: <image>\n<image>\nWhich? ASSISTANT:",
             [jpeg, png_]),
            (["Who?"], "USER: Who? ASSISTANT:", []),
            ([said("Brief.", "system"), about("What?", png_), said("No."), about("Why?", jpeg)],
             "SYSTEM: Brief. USER: <image>\nWhat? ASSISTANT: No. USER: <image>\nWhy? ASSISTANT:",
             [png_, jpeg]),
        ):  # fmt: skip
            with self.subTest(prompt):
                own = self.generated(prompt, *images)
                answer = self.seeing.chat(*messages, **self.WRITING)
                self.assertEqual((answer["object"], answer["model"]), ("chat.completion", "seeing"))
                choice, = answer["choices"]
                self.check_same(choice, own)
                self.assertEqual(choice["finish_reason"], "length")
                # The tokenizer begins a text that its template does not, as processors have it.
                tokens = self.seeing.say("/tokenize", {"prompt": prompt})["tokens"]
                self.assertEqual(tokens[0], BEGIN)
                expected = sum(([t] * (ROWS if t == IMAGE else 1) for t in tokens), [])
                whole = [said(m, "user") if isinstance(m, str) else m for m in messages]
                told = self.seeing.say("/tokenize", {"messages": whole})
                self.assertEqual(told["tokens"], expected)
                usage = answer["usage"]
                self.assertEqual(usage["prompt_tokens"], len(expected))
                self.assertEqual((usage["completion_tokens"], usage["total_tokens"]),
                                 (12, len(expected) + 12))  # fmt: skip
                # Streamed: the role, the text, the reason.
                parts = self.seeing.parts("/v1/chat/completions", {
                    "messages": whole, "stream_options": {"include_usage": True}, **self.WRITING,
                })  # fmt: skip
                self.assertEqual(parts[-1]["usage"], usage)
                choices = [part["choices"][0] for part in parts[:-1]]
                self.assertEqual(choices[0]["delta"], said(""))
                self.assertEqual("".join(c["delta"].get("content", "") for c in choices),
                                 own["text"])  # fmt: skip
                self.assertEqual(
                    sum(((c["logprobs"] or {"content": []})["content"] for c in choices), []),
                    choice["logprobs"]["content"],
                )
                self.assertEqual([c["finish_reason"] for c in choices],
                                 [None] * (len(choices) - 1) + ["length"])  # fmt: skip

    def test_many_ask_about_their_images_at_once(self):
        """More than there are rows, and none changes what another gets."""
        def ask(i):
            images = [png(10 + i + k, 5 + i, 9) for k in range(i % 3)]
            return self.seeing.chat(about(f"It is {i % 2}", *images), **self.WRITING)["choices"]

        alone = [ask(i) for i in range(10)]
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            together = list(pool.map(ask, range(10)))
        self.assertEqual(together, alone)
        # Each says of its own: two pairs of equal texts, and different images.
        self.assertEqual(len({json.dumps(each) for each in alone}), 8)
        own = self.generated("USER: <image>\nIt is 1 ASSISTANT:", png(11, 6, 9))
        self.check_same(alone[1][0], own)
        # Choices share what they are about, and are drawn each for itself.
        drawn = self.seeing.chat(about("It is", png(1, 9, 7)), n=4, seed=3, max_tokens=9)
        self.assertEqual([c["index"] for c in drawn["choices"]], list(range(4)))
        self.assertGreater(len({c["message"]["content"] for c in drawn["choices"]}), 1)
        again = self.seeing.chat(about("It is", png(1, 9, 7)), n=4, seed=3, max_tokens=9)
        self.assertEqual(again["choices"], drawn["choices"])

    def test_all_ranks_see_the_images(self):
        own = self.generated("USER: <image>\nWhat? ASSISTANT:", png(1, 9, 7))
        for plan in ("dp=2", "tp=2,pp=2"):
            server = Server("--load", self.folder / "seeing", "--mesh", plan, tokenizer=self.words)
            try:
                answer = server.chat(about("What?", png(1, 9, 7)), **self.WRITING)
            finally:
                self.assertEqual(server.end(), 0, server.lines)
            choice, = answer["choices"]
            self.assertEqual(choice["message"]["content"], own["text"])
            for part, value in zip(choice["logprobs"]["content"], own["log_probabilities"],
                                   strict=True):  # fmt: skip
                self.assertAlmostEqual(part["logprob"], value, delta=1e-4)

    def test_special_tokens_of_templates_are_tokens(self):
        """The template begins the text, so that nothing else does."""
        def tokens_of(**body):
            return self.blind.say("/tokenize", body)["tokens"]

        talk = [said("Be brief.", "system"), said(" Hi. ", "user")]
        prompt = "system: Be brief.<|eot|>user: Hi.<|eot|>assistant:"
        tokens = tokens_of(messages=talk)
        self.assertEqual(tokens, tokens_of(prompt=prompt))  # Behind the token that begins it.
        self.assertEqual((tokens.count(BEGIN), tokens[0], tokens.count(643)), (1, BEGIN, 2))
        self.assertEqual(tokens_of(messages=talk, add_special_tokens=True), [BEGIN, *tokens])
        own = self.generated(prompt, run="blind")
        self.check_same(self.blind.chat(*talk, **self.WRITING)["choices"][0], own)
        # Parts become lines, where a template takes texts.
        lines = [{"role": "user", "content": [text_part("a"), text_part("b")]}]
        self.assertEqual(tokens_of(messages=lines), tokens_of(messages=[said("a\nb", "user")]))
        # What was begun is gone on with.
        begun = [said("Hi.", "user"), said("It is")]
        self.assertEqual(tokens_of(messages=begun, continue_final_message=True),
                         tokens_of(prompt="user: Hi.<|eot|>assistant: It is"))  # fmt: skip
        self.assertEqual(tokens_of(messages=begun[:1], add_generation_prompt=False),
                         tokens_of(prompt="user: Hi.<|eot|>"))  # fmt: skip

    def test_texts_end_at_the_models_tokens(self):
        """Not at the end of a document alone: answers, completions and what is generated."""
        prompt = "user: Hi.<|eot|>assistant:"
        own = self.generated(prompt, run="blind")
        at = next(i for i, t in enumerate(own["tokens"]) if i > 1 and own["tokens"].index(t) == i)
        words = self.folder / "ending"
        shutil.copytree(self.words, words)
        (words / "generation_config.json").write_text(
            json.dumps({"eos_token_id": [641, own["tokens"][at]]})
        )
        server = Server("--load", self.folder / "blind", "--chat-template", self.texts,
                        tokenizer=words)  # fmt: skip
        try:
            ended = server.chat("Hi.", max_tokens=12, temperature=0)
            self.assertEqual(ended["choices"][0]["finish_reason"], "stop")
            self.assertEqual(ended["usage"]["completion_tokens"], at + 1)
            before = self.generated(prompt, run="blind", tokens=at)["text"]
            self.assertEqual(ended["choices"][0]["message"]["content"], before)
            asked = {"prompt": prompt, "max_tokens": 12, "temperature": 0, "logprobs": 0}
            told = server.complete(**asked)["choices"][0]
            self.assertEqual((told["text"], told["finish_reason"]), (before, "stop"))
            self.assertEqual(told["logprobs"]["token_logprobs"],
                             own["log_probabilities"][: at + 1])  # fmt: skip
            for path, body in (("/v1/completions", asked),
                               ("/v1/chat/completions",
                                {"messages": [said("Hi.", "user")], "temperature": 0})):  # fmt: skip
                self.assertEqual(server.stream(path, body), (before, "stop"))
            written = json.loads(self.must(
                "generate", "--load", self.folder / "blind", "--tokenizer", words, "--json",
                "--greedy", "--tokens", 12, "--prompt", prompt))  # fmt: skip
            self.assertEqual((written["text"], written["finish"]), (before, "stop"))
            self.assertEqual(written["tokens"], own["tokens"][: at + 1])
            on = server.complete(**asked, ignore_eos=True)["choices"][0]
            self.assertEqual((on["text"], on["finish_reason"]), (own["text"], "length"))
            whole = server.chat("Hi.", **self.WRITING)
            self.check_same(whole["choices"][0], own)
            # Without a length as much as there is room for.
            full = server.chat("Hi.", temperature=0, ignore_eos=True)
            self.assertEqual(full["usage"]["total_tokens"], 97)
        finally:
            server.end()

    def test_what_nobody_says_is_the_models_to_say(self):
        """In generation_config.json; flags and the fields of requests go before it."""
        prompt = "user: Hi.<|eot|>assistant:"
        words = self.folder / "saying"
        shutil.copytree(self.words, words)
        config = words / "generation_config.json"
        says = {"do_sample": True, "temperature": 0.5, "top_k": 7, "top_p": 0.9,
                "repetition_penalty": 1.3, "max_new_tokens": 9}  # fmt: skip
        config.write_text(json.dumps({**says, "num_beams": 4, "use_cache": True}))
        flags = ("--temperature", 0.5, "--top-k", 7, "--top-p", 0.9, "--repetition-penalty", 1.3,
                 "--tokens", 9)  # fmt: skip
        told = (f"defaults of {config}: temperature 0.5, top_k 7, top_p 0.9, "
                "repetition_penalty 1.3, max_new_tokens 9\n",
                f'{config} has what Hocket does not use: "num_beams"\n')  # fmt: skip
        asked = ("generate", "--load", self.folder / "blind", "--json", "--ignore-eos",
                 "--seed", 7, "--prompt", prompt)  # fmt: skip

        def written(tokenizer, *arguments):
            done = hocket(*asked, "--tokenizer", tokenizer, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout), done.stderr

        own, notes = written(words)
        self.assertEqual((len(own["tokens"]), own["finish"]), (9, "length"))
        for line in told:
            self.assertEqual(notes.count(line), 1, notes)
        self.assertEqual(own, written(self.words, *flags)[0])
        plain, notes = written(words, "--ignore-generation-config", "--tokens", 9)
        self.assertNotIn("generation_config", notes)
        self.assertEqual(plain, written(self.words, "--tokens", 9)[0])
        self.assertNotEqual(plain["tokens"], own["tokens"])
        hot, notes = written(words, "--temperature", 3, "--top-k", 0, "--tokens", 5)
        self.assertEqual(hot, written(self.words, *flags[4:-1], 5, "--temperature", 3)[0])
        self.assertIn("json: top_p 0.9, repetition_penalty 1.3\n", notes)
        likeliest = written(words, "--greedy")[0]
        self.assertEqual(likeliest, written(self.words, "--greedy", *flags[6:])[0])

        server = Server("--load", self.folder / "blind", "--chat-template", self.texts,
                        tokenizer=words)  # fmt: skip
        try:
            for line in told:
                self.assertEqual(server.lines.count(line), 1, server.lines)
            body = {"ignore_eos": True, "seed": 7}

            def completed(**more):
                answer = server.complete(prompt=prompt, **body, **more)
                return answer["choices"][0]["text"], answer["usage"]["completion_tokens"]

            self.assertEqual(completed(), (own["text"], 9))
            self.assertEqual(completed(temperature=None, top_k=None), (own["text"], 9))
            self.assertEqual(completed(temperature=3, top_k=0, max_tokens=5), (hot["text"], 5))
            self.assertEqual(completed(temperature=0), (likeliest["text"], 9))
            answer = server.chat("Hi.", **body)
            self.assertEqual(answer["choices"][0]["message"]["content"], own["text"])
            self.assertEqual(answer["usage"]["completion_tokens"], 9)
            asks = ("ask", f"127.0.0.1:{server.port}", "--prompt", prompt, "--seed", 7,
                    "--ignore-eos")  # fmt: skip
            self.assertEqual(self.must(*asks, "--tokens", 9), f"{prompt}{own['text']}\n")
            self.assertEqual(self.must(*asks, "--tokens", 9, "--greedy"),
                             f"{prompt}{likeliest['text']}\n")  # fmt: skip
            # Megatron's of one prompt, which may end.
            body = {"prompts": [prompt], "random_seed": 7, "logprobs": True}
            for fields, expected in (({}, own), ({"temperature": 0}, likeliest)):
                told = server.say("/api", {**body, **fields}, method="PUT")
                ended = len(told["logprobs"][0]) - len(server.say(
                    "/tokenize", {"prompt": prompt})["tokens"]) + 1  # fmt: skip
                self.assertEqual(told["logprobs"][0][-ended:],
                                 expected["log_probabilities"][:ended])  # fmt: skip
        finally:
            server.end()

        # More than there is room for is as much as there is; a text ends before a string.
        letter = next(c for c in self.generated(prompt, run="blind")["text"] if c.isascii())
        config.write_text(
            json.dumps({"do_sample": False, "max_new_tokens": 5000, "stop_strings": [letter]})
        )
        server = Server("--load", self.folder / "blind", "--chat-template", self.texts,
                        tokenizer=words)  # fmt: skip
        try:
            body = {"ignore_eos": True, "stop": [chr(0x2603)]}
            for answer in (server.chat("Hi.", **body), server.complete(prompt=prompt, **body)):
                self.assertEqual(answer["usage"]["total_tokens"], 97)
            whole = answer["choices"][0]["text"]
            ended = server.complete(prompt=prompt, ignore_eos=True)["choices"][0]
            self.assertEqual(ended["text"], whole[: whole.index(letter)])
        finally:
            server.end()

        config.write_text('{\n  "top_p": 0\n}')
        message = f'{config}:2:12: expected "top_p" to be a number above 0, up to 1'
        for command in (asked, ("serve", "--load", self.folder / "blind")):
            done = hocket(*command, "--tokenizer", words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(message, done.stderr)
        written(words, "--ignore-generation-config", "--tokens", 1)

    def test_likeliest_tokens(self):
        answer = self.blind.chat("Hi.", **self.WRITING, top_logprobs=3)
        content = answer["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(content), 12)
        for part in content:
            tops = part["top_logprobs"]
            self.assertEqual([top["logprob"] for top in tops],
                             sorted((top["logprob"] for top in tops), reverse=True))  # fmt: skip
            self.assertEqual((len(tops), tops[0]["token"]), (3, part["token"]))
            self.assertEqual(tops[0]["logprob"], part["logprob"])
            whole = bytes(part["bytes"]).decode(errors="replace")
            self.assertIn("\ufffd" if "\ufffd" in whole else part["token"], whole)
        text = b"".join(bytes(part["bytes"]) for part in content).decode(errors="replace")
        for special in ("<|begin_of_text|>", "<|end_of_text|>", "<image>", "<|eot|>"):
            text = text.replace(special, "")
        self.assertEqual(text.strip(), answer["choices"][0]["message"]["content"].strip())

    def wrong(self, server, body, message, path="/v1/chat/completions", status=400):
        got, text = server.ask("POST", path, body)
        self.assertEqual(got, status, text)
        self.assertIn(message, json.loads(text)["error"]["message"])

    def test_wrong_requests_are_told_what_is_wrong(self):
        image = png(1, 9, 7)
        fetched = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/cat.png"}}
        damaged = image_part(image[:60])
        bomb = image_part(png(1, 9, 7, claims=(60000, 50000)))
        for body, message in (
            ("{", "no JSON object"),
            ({}, "there is no field 'messages'"),
            ({"messages": [said("a", "user")], "max_token": 1}, "did you mean max_tokens?"),
            ({"messages": [about("", image, image, image)]}, "the model sees at most 2"),
            ({"messages": [about("<image>", image)]}, "'messages[0].content[1].text' has <image>"),
            ({"messages": [said("a <image>", "user")]}, "'messages[0].content' has <image> in it"),
            ({"messages": [{"role": "user", "content": [fetched]}]}, "the server fetches nothing"),
            ({"messages": [{"role": "user", "content": [damaged]}]}, "is a damaged PNG file"),
            ({"messages": [{"role": "user", "content": [bomb]}]}, "expected at most 33554432"),
            ({"messages": [said("a " * 200, "user")]}, "the model sees 96"),
            ({"messages": [said("a", "user")], "max_tokens": 96}, "can follow"),
        ):
            with self.subTest(message):
                self.wrong(self.seeing, body, message)
        self.wrong(self.seeing, {"messages": [said("a", "user")], "model": "gpt-5"},
                   "'seeing' is served", status=404)  # fmt: skip
        self.wrong(self.seeing, {"prompt": "a <image>"},
                   "has the token of an image, <image> (642): send texts about images to "
                   "/v1/chat/completions", "/v1/completions")  # fmt: skip
        self.wrong(self.blind, {"messages": [about("a", image)]},
                   "'messages[0].content[0]' is an image, and the model 'blind' sees none")  # fmt: skip
        # To a model that sees none it is a text like others.
        self.blind.chat("a <b>", max_tokens=1)
        self.assertEqual(self.seeing.ask("GET", "/v1/chat/completions")[0], 405)
        server = Server("--load", self.folder / "seeing", "--max-image-pixels", "62",
                        "--max-body-bytes", "2000", tokenizer=self.words)  # fmt: skip
        try:
            self.wrong(server, {"messages": [about("a", image)]}, "expected at most 62")
            self.wrong(server, {"messages": [about("a", png(1, 30, 30))]}, "more than 2000 bytes",
                       status=413)  # fmt: skip
            server.chat(about("a", png(1, 7, 8)), max_tokens=1)
        finally:
            server.end()

    def test_photos_are_large_and_texts_are_not(self):
        photo = png(1, 1500, 1100)
        self.assertGreater(len(photo), 4 << 20)
        self.seeing.chat(about("a", photo), max_tokens=1)
        # What only looks like an image is not read as a text, and counts as one.
        for body in (
            {"messages": [said("a" * (4 << 20), "user")]},
            {"messages": [said('\\"image_url": {"url": "' + "a" * (4 << 20), "user")]},
            {"messages": [said("a", "user")], "chat_template_kwargs": {"url": "a" * (4 << 20)}},
        ):
            self.wrong(self.seeing, body, "the body has more than 4194304 bytes beside its images",
                       status=413)  # fmt: skip
        hidden = {"image_url": {"url": "a" * (4 << 20)}}
        self.wrong(self.seeing, {"messages": [said("a", "user")], "chat_template_kwargs": hidden},
                   "'image_url' is a text, a number, true or false")  # fmt: skip

    def test_models_without_a_template(self):
        for template, lines, message in (
            (None, "", "name one with --chat-template"),
            ("{% endfor %}", "takes no conversations", "chat_template.jinja:1:4"),
        ):
            words = self.folder / f"bare{bool(template)}"
            shutil.copytree(self.words, words)
            (words / "chat_template.jinja").unlink()
            if template:
                (words / "chat_template.jinja").write_text(template)
            server = Server("--load", self.folder / "blind", tokenizer=words)
            try:
                self.assertIn(lines, "".join(server.lines))
                self.wrong(server, {"messages": [said("a", "user")]}, message)
                server.complete(prompt="a", max_tokens=1)
            finally:
                server.end()
            # One that is named has to be there, and sound.
            named = words / "chat_template.jinja"
            done = hocket("serve", "--load", self.folder / "blind", "--tokenizer", words,
                          "--chat-template", named)  # fmt: skip
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(str(named), done.stderr)

    def test_ask_has_conversations(self):
        url = f"http://127.0.0.1:{self.seeing.port}"
        file = self.folder / "noise.png"
        file.write_bytes(png(1, 9, 7))
        jpeg = self.folder / "ramp.jpg"
        jpeg.write_bytes(golden("jpeg420"))
        writing = ("--tokens", 6, "--greedy", "--ignore-eos")
        body = {"max_tokens": 6, "temperature": 0, "ignore_eos": True}
        talk = [said("Be brief.", "system"),
                about("What?", file.read_bytes(), jpeg.read_bytes())]  # fmt: skip
        first = self.seeing.chat(*talk, **body)["choices"][0]["message"]["content"]
        shared = (url, "--chat", "--system", "Be brief.", "--image", file, "--image", jpeg)
        done = hocket("ask", *shared, "--prompt", "What?", *writing)
        self.assertEqual((done.returncode, done.stdout), (0, first + "\n"), done.stderr)
        # Typed: the second answer is to all that was said; what was refused was not.
        talk += [said(first), said("Why?", "user")]
        second = self.seeing.chat(*talk, **body)["choices"][0]["message"]["content"]
        self.assertNotEqual(first, second)
        status, shown = converse("ask", *shared, *writing, lines=["What?", "a " * 150, "Why?"],
                                 ends=b"\x04")  # fmt: skip
        self.assertEqual(status, 0, shown)
        self.assertIn("the server refuses: the prompt has", shown)
        plain = "".join(shown.replace("\r", "").split("\n"))
        for text in (first, second):
            self.assertIn("".join(text.replace("\r", "").split("\n")), plain)
        (self.folder / "text.png").write_text("no image")
        for arguments, message in (
            ((url, "--prompt", "a", "--system", "b"), "--chat"),
            ((url, "--prompt", "a", "--image", file), "--chat"),
            ((url, "--chat", "--prompt", "a", "--image", "none.png"), "none.png"),
            ((url, "--chat", "--prompt", "a", "--image", self.folder / "text.png"),
             "expected a PNG or JPEG file"),
            ((f"127.0.0.1:{self.blind.port}", "--chat", "--prompt", "a", "--image", file),
             "the server refuses: 'messages[0].content[0]' is an image"),
        ):  # fmt: skip
            done = hocket("ask", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
