# Part of Hocket, under the Apache License v2.0.
"""The commands of examples/llava, as they stand there, on a small model and on images
that are made here: each has one colour, which no question tells."""

import json
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))

COLOURS = {"red": (230, 20, 30), "green": (10, 200, 60), "blue": (20, 40, 240),
           "white": (250, 250, 250)}  # fmt: skip
TEMPLATE = """{% for message in messages %}{{ message['role'].upper() + ': ' }}\
{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>' }}\
{% endfor %}{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}\
{% if message['role'] == 'assistant' %}{% generation %}{{ part['text'] }}{% endgeneration %}\
{% else %}{{ part['text'] + ' ' }}{% endif %}{% endfor %}{% endfor %}"""
LENGTH = 48


def settings(values):
    return [word for item in values.items() for word in ("--set", "%s=%s" % item)]


def png(colour, width, height):
    """A file of one colour, in the least form that there is."""

    def chunk(kind, body):
        body = kind + body
        return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*part) for part in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


class LlavaTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def hocket(self, *words, status=0):
        done = subprocess.run(
            [BUILD / "bin/hocket", *map(str, words)],
            capture_output=True, text=True, check=False, cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, status, f"{words}\n{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def write_conversations(self):
        lines = []
        for i in range(120):
            name, colour = list(COLOURS.items())[i * i % 7 % 4]
            shade = tuple(max(0, c - i % 5) for c in colour)
            (self.folder / f"{i}.png").write_bytes(png(shade, 5 + i % 9, 4 + i % 7))
            asks = {"from": "human", "value": "<image>\nWhat is it?"}
            says = {"from": "gpt", "value": name}
            lines.append(json.dumps({"image": f"{i}.png", "conversations": [asks, says]}) + "\n")
        (self.folder / "seen.jsonl").write_text("".join(lines))

    def make_tokenizer(self):
        """Of the words, with a token for images; its numbers."""
        words = f"USER: What is it? ASSISTANT: {' '.join(COLOURS)}\n"
        (self.folder / "words.txt").write_text(words * 20)
        self.hocket("tokenizer", "train", "words.txt", "--vocab-size", 300, "-o", "words")
        path = self.folder / "words/tokenizer.json"
        trained = json.loads(path.read_text())
        end = trained["added_tokens"][0]["id"]
        image = max(*trained["model"]["vocab"].values(), end) + 1
        added = {**trained["added_tokens"][0], "id": image, "content": "<image>"}
        trained["added_tokens"].append(added)
        path.write_text(json.dumps(trained))
        (self.folder / "words/chat_template.jinja").write_text(TEMPLATE)
        return end, image

    def small(self, end, image):
        return {
            "model.vision": "{layers: 3 hidden: 24 heads: 2 image_size: 8 patch_size: 4}",
            "model.image_token": image,
            "model.layers": 2,
            "model.hidden": 32,
            "model.heads": 2,
            "model.ffn": 48,
            "model.vocab_size": image + 1,
            "model.max_positions": LENGTH,
            # So small a model learns from larger weights.
            "model.initializer.stddev": 0.1,
            "training.micro_batch_size": 4,
            "training.global_batch_size": 8,
            "training.sequence_length": LENGTH,
            "training.steps": 90,
            "training.precision": "FP32",
            "training.learning_rate": "{schedule: CONSTANT peak: 1e-2}",
            "training.images_per_sequence": 2,
            "training.data.eod_token": end,
            "training.data.eod_mask_loss": "true",
            "training.data.reset_attention_mask": "true",
            "training.data.reset_position_ids": "true",
            "training.data.split": "80,20",
            "training.validation": "{interval: 45 batches: 1}",
            "training.save_interval": 0,
        }

    def test_the_page(self):
        self.write_conversations()
        small = self.small(*self.make_tokenizer())
        # In the place of the published folder one of random weights.
        spec = ROOT / "examples/llava/spec.textproto"
        self.hocket("compile", spec, "-o", "start.hkx", *settings(small))
        self.hocket("train", "start.hkx", "--steps", 0, "--save", "start")
        self.hocket("checkpoint", "export", "start", "-o", "llava-1.5-7b-hf",
                    "--tokenizer", "words")  # fmt: skip
        (self.folder / "cat.jpg").write_bytes(png(COLOURS["green"], 9, 7))
        page = (ROOT / "examples/llava/README.md").read_text()
        lines = re.search(r"^```sh\n(.*?)^```$", page, re.M | re.S)[1].splitlines()
        told = {}
        for line in lines:
            line = line.replace("--pack 2048", f"--pack {LENGTH}")
            words = [str(ROOT / w) if w.startswith("examples/") else w for w in shlex.split(line)]
            self.assertEqual(words[0], "hocket")
            more = settings(small) if "examples/" in line else ()
            told[" ".join(words[1:3])] = self.hocket(*words[1:], *more)
        self.assertIn("images: ", told["data inspect"])
        self.assertIn("ASSISTANT: green", told["generate --load"])
        log = [json.loads(row) for row in (self.folder / "run.jsonl").read_text().splitlines()]
        validations = [row for row in log if "valid_loss" in row]
        # Whoever does not see the images is wrong three times of four.
        self.assertLess(validations[-1]["valid_loss"], 0.1 * math.log(4), validations)
        again = json.loads(self.hocket("eval", "loss", "--load", "run", "--data", "seen",
                                       "--split", "valid", "--json"))  # fmt: skip
        self.assertAlmostEqual(again["loss"], validations[-1]["valid_loss"], places=5)
        config = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual(config["architectures"], ["LlavaForConditionalGeneration"])
        self.assertEqual(config["vision_config"]["num_hidden_layers"], 3)
        # The tower is as it was.
        self.hocket("checkpoint", "import", "exported", "-o", "imported",
                    *settings({k: v for k, v in small.items() if "model" not in k}))  # fmt: skip
        told = json.loads(self.hocket("eval", "loss", "--load", "imported", "--data", "seen",
                                      "--split", "valid", "--json"))  # fmt: skip
        self.assertAlmostEqual(told["loss"], again["loss"], places=6)

    def test_full_size(self):
        spec = ROOT / "examples/llava/spec.textproto"
        told = self.hocket("compile", spec, "-o", "llava.hkx", "--mesh", "pp=2,dp=2,tp=2",
                           "--target", "cuda", "--sequence-parallel", "--zero", "1")  # fmt: skip
        self.assertIn("7.1G parameters", told)
        # The flags of the page, each of which compiles; the plan that is found, and its arena.
        page = (ROOT / "examples/llava/README.md").read_text()
        for flags in re.findall(r"^\| .* \| `(--[^`]+)` \|$", page, re.M):
            with self.subTest(flags):
                self.hocket("compile", spec, "-o", "llava.hkx", *shlex.split(flags))
        found = json.loads(self.hocket("plan", spec, "--cluster", "h100:8", "--json"))
        self.assertTrue(found["plans"])
        for plan in ("dp=4,tp=2,sp=1,zero=1,mbs=1,recompute=full",
                     "pp=2,dp=4,zero=1,mbs=1,recompute=selective", "tp=8,sp=1,mbs=2"):  # fmt: skip
            with self.subTest(plan):
                priced = json.loads(self.hocket("simulate", spec, "--cluster", "h100:8", "--plan",
                                                plan, "--json"))["memory"]  # fmt: skip
                compiled = json.loads(self.hocket("compile", spec, "-o", "llava.hkx", "--plan", plan,
                                                  "--json"))["memory"]  # fmt: skip
                price = max(rank["total"] for rank in priced)
                arena = max(role["arena_bytes"] for role in compiled)
                self.assertLess(abs(price / arena - 1), 0.03, (price, arena))


if __name__ == "__main__":
    unittest.main()
