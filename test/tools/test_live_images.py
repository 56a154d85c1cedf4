# Part of Hocket, under the Apache License v2.0.
"""Conversations about images beside the transformers library, where it is installed.

    pip install torch transformers pillow
    python3 test/tools/test_live_images.py

Random images of random sizes, as files of several kinds: tokens and pixels are those of
LlavaProcessor.
"""

import importlib.util
import json
import pathlib
import struct
import tempfile
import unittest

from programs import hocket
from test_images import HEAD, TEMPLATE, begins_with, text

MISSING = [n for n in ("torch", "transformers", "PIL") if not importlib.util.find_spec(n)]
SIZE, PATCH, LENGTH, COUNT = 56, 14, 64, 40
TOKENS = (SIZE // PATCH) ** 2


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveImagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        (cls.folder / "poem.txt").write_text("Tyger Tyger, burning bright,\n" * 9)
        cls.must("tokenizer", "train", "poem.txt", "--vocab-size", 280, "-o", "model")
        path = cls.folder / "model/tokenizer.json"
        trained = json.loads(path.read_text())
        cls.token = max(trained["model"]["vocab"].values()) + 1
        cls.end = trained["added_tokens"][0]["id"]
        added = {**trained["added_tokens"][0], "id": cls.token, "content": "<image>"}
        begin = {**added, "id": cls.token + 1, "content": "<s>"}
        trained["added_tokens"] += [added, begin]
        # As a Llama's, which the processor puts before what the template makes.
        trained["post_processor"] = begins_with("<s>", begin["id"])
        path.write_text(json.dumps(trained))
        (cls.folder / "model/chat_template.jinja").write_text(TEMPLATE)

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments, cwd=cls.folder)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def images(self):
        """Files of noise on ramps, each of a kind."""
        import numpy as np
        from PIL import Image

        random = np.random.RandomState(3)
        kinds = ("RGB.png", "RGBA.png", "LA.png", "L.png", "P.png", "RGB.jpg", "L.jpg", "CMYK.jpg")
        for i in range(COUNT):
            mode, ending = kinds[i % len(kinds)].split(".")
            height, width = random.randint(1, 300, 2)
            ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)[..., None]
            noise = random.randint(0, 60, (height, width, 4))
            pixels = ((ramp * (1, 2, 3, 4) + noise) % 256).astype(np.uint8)
            channels = {"L": 1, "LA": 2, "RGBA": 4, "CMYK": 4}.get(mode, 3)
            made = "RGB" if mode == "P" else mode
            image = Image.fromarray(pixels[..., :channels].squeeze(-1) if channels == 1
                                    else np.ascontiguousarray(pixels[..., :channels]), made)  # fmt: skip
            if mode == "P":
                image = image.quantize(64)
            options = {"quality": 60 + i, "progressive": i % 2 == 0} if ending == "jpg" else {}
            name = f"{i}.{ending}"
            image.save(self.folder / name, **options)
            yield name

    def processor(self):
        from transformers import LlavaProcessor, PreTrainedTokenizerFast
        from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(self.folder / "model/tokenizer.json")
        )
        images = CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size=SIZE)
        return LlavaProcessor(
            images,
            tokenizer,
            patch_size=PATCH,
            vision_feature_select_strategy="default",
            chat_template=TEMPLATE,
            num_additional_image_tokens=1,
        )

    def test_tokens_and_pixels_are_those_of_its_processor(self):
        import numpy as np
        from PIL import Image

        talks = []
        for name in self.images():
            parts = [{"type": "image", "path": name}, text(f"What is {name}?")]
            talks.append([{"role": "user", "content": parts},
                          {"role": "assistant", "content": [text("Noise.")]}])  # fmt: skip
        lines = "".join(json.dumps({"messages": talk}) + "\n" for talk in talks)
        (self.folder / "seen.jsonl").write_text(lines)
        self.must("data", "prepare", "seen.jsonl", "-o", "out", "--tokenizer", "model", "--chat",
                  "--pack", LENGTH, "--images-per-sequence", 1, "--image-size", SIZE,
                  "--patch-size", PATCH)  # fmt: skip
        prefix = self.folder / "out_messages_document"
        tokens = np.frombuffer(prefix.with_suffix(".bin").read_bytes(), np.uint16)
        tokens = tokens.reshape(-1, LENGTH)
        file = prefix.with_suffix(".images").read_bytes()
        _, documents, *_, images, uses = HEAD.unpack_from(file)
        self.assertEqual((documents, images, uses), (COUNT, COUNT, COUNT))
        end = HEAD.size + images * SIZE * SIZE * 3
        pixels = np.frombuffer(file[HEAD.size : end], np.uint8).reshape(-1, SIZE, SIZE, 3)
        numbers = struct.unpack_from(f"<{uses}I", file, end + 8 * (documents + 1))
        processor = self.processor()
        mean, std = (np.array(v, np.float32) for v in (processor.image_processor.image_mean,
                                                       processor.image_processor.image_std))  # fmt: skip
        found = {}
        for row, number in zip(tokens.tolist(), numbers):
            talk = row[: row.index(self.end)]
            scaled = (pixels[number] * np.float64(1 / 255)).astype(np.float32)
            found[tuple(talk)] = ((scaled - mean) / std).transpose(2, 0, 1)
        self.assertEqual(len(found), COUNT)
        for talk in talks:
            name = talk[0]["content"][0]["path"]
            with self.subTest(name):
                words = processor.apply_chat_template(talk, tokenize=False)
                image = Image.open(self.folder / name)
                wanted = processor(images=image, text=words, return_tensors="np")
                self.assertEqual(wanted["input_ids"][0][0], self.token + 1)
                self.assertEqual(int((wanted["input_ids"] == self.token).sum()), TOKENS)
                ours = found[tuple(wanted["input_ids"][0].tolist())]
                np.testing.assert_array_equal(ours, wanted["pixel_values"][0])


if __name__ == "__main__":
    unittest.main()
