# Part of Hocket, under the Apache License v2.0.
"""The commands of a guide, run as they stand there, on a small model."""

import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from programs import BUILD, ROOT, hocket

# Its sequences are as long as the guide's.
SPEC = """name: "qwen"
model {
  layers: 1 hidden: 32 heads: 2 kv_heads: 1 head_dim: 16 ffn: 48 vocab_size: 300
  max_positions: 512 norm: RMS_NORM activation: SWIGLU position: ROTARY qk_norm: true bias: false
}
training {
  micro_batch_size: 1 global_batch_size: 2 sequence_length: 128 steps: 2
  data { split: "1" }
}
"""
# The guide trains longer than a test may.
SHORTER = {"training.steps=1000": "training.steps=12", "peak=2e-5": "peak=2e-3"}


def blocks(guide):
    """The shell commands of a guide, a text for each block."""
    text = (ROOT / "docs" / guide).read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


class GuideTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def publish_model(self, name):
        """A folder as others publish them, of a model that has learned little."""
        text = self.folder / "first.txt"
        text.write_text("The quick brown fox jumps over the lazy dog.\n" * 200)
        words, data = self.folder / "words", self.folder / "first"
        (self.folder / "spec.textproto").write_text(SPEC)
        self.must("tokenizer", "train", text, "--vocab-size", "300", "-o", words)
        self.must("data", "prepare", text, "-o", data, "--tokenizer", words)
        self.must("compile", self.folder / "spec.textproto", "-o", self.folder / "first.hkx")
        self.must("train", self.folder / "first.hkx", "--data", f"{data}_text_document",
                  "--save", self.folder / "first-run")  # fmt: skip
        self.must("checkpoint", "export", self.folder / "first-run", "-o", self.folder / name,
                  "--tokenizer", words)  # fmt: skip

    def test_from_hugging_face(self):
        self.publish_model("Qwen3-0.6B")
        line = "Once upon a time there was a miller who had a beautiful daughter. "
        (self.folder / "books.jsonl").write_text((json.dumps({"text": line * 20}) + "\n") * 60)
        (self.folder / "held-out.txt").write_text(line * 30)
        found = blocks("guide-hugging-face.md")
        self.assertEqual(len(found), 7)
        outputs = []
        environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
        for block in found:
            for long, short in SHORTER.items():
                block = block.replace(long, short)
            done = subprocess.run(["bash", "-emc", block], cwd=self.folder, env=environment,
                                  capture_output=True, encoding="utf-8", errors="replace",
                                  timeout=300)  # fmt: skip
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout}\n{done.stderr}")
            outputs.append(done.stdout)
        losses = [float(re.search(r"^ *loss +([\d.]+)", outputs[i], re.M)[1]) for i in (1, 4)]
        self.assertLess(losses[1], losses[0] - 0.5)
        self.assertIn("Once upon a time", outputs[4])
        answer = json.loads(outputs[5][outputs[5].index("{") :])
        choice, tokens = answer["choices"][0], answer["usage"]["completion_tokens"]
        # A sampled end of text stops it earlier, on some processors and not on others.
        self.assertEqual(choice["finish_reason"] == "length", tokens == 40, answer)
        self.assertIn(choice["finish_reason"], ("length", "stop"))
        self.assertIn(tokens, range(1, 41))
        logprobs = choice["logprobs"]["token_logprobs"]
        self.assertGreater(len(logprobs), 0)
        self.assertTrue(all(math.exp(each) <= 1 for each in logprobs))
        # Everything that was published comes back.
        for name in (self.folder / "Qwen3-0.6B").iterdir():
            self.assertTrue((self.folder / "mine" / name.name).exists(), name)
        config = json.loads((self.folder / "mine/config.json").read_text())
        self.assertEqual((config["model_type"], config["torch_dtype"]), ("qwen3", "bfloat16"))


if __name__ == "__main__":
    unittest.main()
