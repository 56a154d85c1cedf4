# Part of Hocket, under the Apache License v2.0.
"""What `hocket train` says before, between and instead of steps."""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

from programs import BUILD, hocket

SPEC = """model {
  layers: 1 hidden: 8 heads: 2 ffn: 16 vocab_size: 257 max_positions: 16
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 2 sequence_length: 16 steps: 400 log_interval: 200
  data { split: "1,0,0" } validation { interval: 0 }
}
"""


def on_a_terminal(*arguments):
    """What a command writes to a terminal that it is given."""
    ours, theirs = pty.openpty()
    command = [BUILD / "bin/hocket", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so where the other end is closed.
                break
            if not part:
                break
            text += part
    os.close(ours)
    return process.returncode, text.decode()


class TrainOutputTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.spec = self.folder / "spec.textproto"
        self.spec.write_text(SPEC)
        text = self.folder / "text.txt"
        text.write_text("to be or not to be\n" * 100)
        self.data = self.folder / "text"
        self.must("data", "prepare", text, "-o", self.data, "--tokenizer", "byte")

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_a_terminal_has_a_line_that_is_rewritten(self):
        status, text = on_a_terminal("train", self.spec, "--data", self.data)
        self.assertEqual(status, 0, text)
        # What stays: the banner, a notice, and steps 1, 200 and 400.
        kept = [line.split("\x1b[K")[-1] for line in text.split("\r\n")]
        steps = [line.split("|")[0] for line in kept if "elapsed time" in line]
        self.assertEqual([int(step.split()[1].strip("/")) for step in steps],
                         [1, 200, 400])  # fmt: skip
        shown = [part for part in text.split("\r") if part.startswith("\x1b[Kstep ")]
        self.assertTrue(any(part == "\x1b[Kstep 1 of 400" for part in shown), text)
        self.assertTrue(
            any(" of 400 (" in part and "time left: " in part for part in shown), text
        )
        self.assertTrue(text.endswith("\r\x1b[K"), text[-80:])

    def test_elsewhere_there_are_lines_alone(self):
        said = self.must("train", self.spec, "--data", self.data).stdout
        self.assertNotIn("\r", said)
        self.assertNotIn("\x1b", said)
        self.assertNotIn("step 1 of", said)

    def test_a_long_sequence_is_said_with_its_place(self):
        self.spec.write_text(SPEC.replace("sequence_length: 16", "sequence_length: 32"))
        said = self.must("train", self.spec, "--data", self.data, "--steps", 1).stderr
        self.assertIn(
            f"hocket: {self.spec}:6:23: warning: training.sequence_length is 32, "
            "longer than model.max_positions (16)",
            said,
        )
        out = self.folder / "x.hkx"
        self.assertIn("warning: ", self.must("compile", self.spec, "-o", out).stderr)
        self.spec.write_text(SPEC)
        self.assertEqual(self.must("compile", self.spec, "-o", out).stderr, "")

    def test_weights_that_are_not_used_are_said(self):
        self.must("train", self.spec, "--steps", 0, "--save", self.folder / "run")
        model = self.folder / "model"
        self.must("checkpoint", "export", self.folder / "run",
                  "--format", "huggingface", "-o", model)  # fmt: skip
        said = self.must("train", model, "--data", self.data, "--steps", 1).stdout
        options = f"--load {model} --finetune"
        self.assertIn(f"the weights in {model} are not used: ", said)
        self.assertIn(options, said)
        said = self.must("train", model, "--data", self.data, "--steps", 1,
                         *options.split()).stdout  # fmt: skip
        self.assertNotIn("are not used", said)

    def test_another_model_with_the_same_weights_is_said(self):
        run = self.folder / "run"
        self.must("train", self.spec, "--data", self.data, "--steps", 1, "--save", run)
        onward = ["train", self.spec, "--data", self.data, "--load", run, "--steps", 2]
        self.assertNotIn("was trained with", self.must(*onward).stdout)
        warning = f"warning: {run} was trained with model.activation: SWIGLU, which is GEGLU here"
        other = ["--set", "model.activation=GEGLU"]
        self.assertIn(warning, self.must(*onward, *other).stdout)
        written = self.must("generate", "--load", run, "--tokenizer", "byte",
                            "--prompt", "to", "--tokens", 1, *other)  # fmt: skip
        self.assertIn(warning, written.stderr)


if __name__ == "__main__":
    unittest.main()
