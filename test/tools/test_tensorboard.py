# Part of Hocket, under the Apache License v2.0.
"""`hocket train --tensorboard-dir`: what TensorBoard reads of a run that ends, is
gone on with, and is started over."""

import json
import pathlib
import struct
import tempfile
import unittest

from programs import hocket

SPEC = """model {
  layers: 1 hidden: 8 heads: 2 ffn: 16 vocab_size: 257 max_positions: 16
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 2 sequence_length: 16 steps: 6
  validation { interval: 3 batches: 1 }
}
"""
DOUBLE, FLOAT = 1, 5  # types of a field as it is encoded


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(message):
    """{number: values} of a message of Protocol Buffers."""
    found, at = {}, 0
    while at < len(message):
        key, at = varint(message, at)
        if key % 8 == 0:
            value, at = varint(message, at)
        else:
            size = {DOUBLE: 8, FLOAT: 4}.get(key % 8)
            if size is None:
                size, at = varint(message, at)
            value, at = message[at : at + size], at + size
        found.setdefault(key // 8, []).append(value)
    return found


def events(path):
    """(step, {tag: number}, whether steps from this one on are void)."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        event = fields(data[at + 12 : at + 12 + size])
        at += 16 + size
        numbers = {}
        for summary in event.get(5, []):
            for value in map(fields, fields(summary).get(1, [])):
                numbers[value[1][0].decode()] = struct.unpack("<f", value[2][0])[0]
        yield event.get(2, [None])[0], numbers, 7 in event


class TensorBoardTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.events = self.folder / "board"
        self.spec = self.folder / "spec.textproto"
        self.spec.write_text(SPEC)
        text = self.folder / "text.txt"
        text.write_text("to be or not to be\n" * 100)
        self.data = self.folder / "text"
        done = hocket("data", "prepare", text, "-o", self.data, "--tokenizer", "byte")
        self.assertEqual(done.returncode, 0, done.stderr)

    def train(self, *arguments, status=0):
        done = hocket("train", self.spec, "--data", self.data, "--valid-data", self.data,
                      "--tensorboard-dir", self.events, *arguments)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def files(self):
        return sorted(self.events.iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def test_numbers_are_those_of_the_log(self):
        log = self.folder / "log.jsonl"
        self.train("--log", log)
        (file,) = self.files()
        self.assertIn("tfevents", file.name)
        numbers = [(step, tags) for step, tags, _ in events(file) if tags]
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([step for step, _ in numbers], [line["step"] for line in lines])
        names = {"loss": "lm loss", "lr": "learning-rate", "grad_norm": "grad-norm",
                 "global_batch_size": "batch-size", "seconds": "iteration-time",
                 "valid_loss": "lm loss validation"}  # fmt: skip
        for line, (_, tags) in zip(lines, numbers):
            if "valid_loss" in line:
                del line["seconds"]
            for name, tag in names.items():
                if name in line:
                    self.assertAlmostEqual(tags[tag] / line[name] if line[name] else 1, 1, 6)
        self.assertIn("lm loss validation ppl", numbers[-1][1])

    def test_a_run_that_goes_on_has_another_file(self):
        run = self.folder / "run"
        self.train("--save", run, "--steps", 2)
        self.train("--save", run, "--load", run)
        first, second = map(list, map(events, self.files()))
        self.assertFalse(any(void for _, _, void in first))
        self.assertIn((3, {}, True), second)
        self.assertEqual([step for step, tags, _ in second if "lm loss" in tags], [3, 4, 5, 6])

    def test_another_run_is_refused_or_replaced(self):
        self.train("--steps", 2)
        before = self.files()
        said = self.train("--steps", 2, status=2).stderr
        self.assertIn(f"{self.events}: holds the events of another run", said)
        self.assertEqual(self.files(), before)
        self.train("--steps", 3, "--overwrite")
        (file,) = self.files()
        self.assertNotIn(file, before)
        self.assertEqual([step for step, tags, _ in events(file) if "lm loss" in tags], [1, 2, 3])

    def test_a_file_is_no_folder(self):
        self.events.write_text("x")
        self.assertIn("is no folder", self.train("--steps", 1, status=2).stderr)
        self.assertEqual(self.events.read_text(), "x")
