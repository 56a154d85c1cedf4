# Part of Hocket, under the Apache License v2.0.
"""`hocket checkpoint inspect`, verify, diff, merge and reshard.

What they say of numbers is compared with what this script reads by itself.
"""

import array
import json
import math
import pathlib
import shutil
import sys
import tempfile
import unittest

from programs import ROOT, hocket

sys.path.insert(0, str(ROOT / "test/numerics"))

import safetensors  # noqa: E402

MODEL = ROOT / "test/numerics/models/llama.textproto"
TEXT = "Tyger Tyger, burning bright,\nIn the forests of the night;\n" * 60


def must(*arguments):
    done = hocket(*arguments)
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.stderr}")
    return done.stdout


def files_of(folder):
    """Every file of an iteration: name -> (shape, floats), by file."""
    (iteration,) = folder.glob("iter_*")
    return {path.name: safetensors.read(path) for path in iteration.glob("*.safetensors")}


def whole(folder):
    """Every tensor of a merged checkpoint, by name."""
    return {name: value for file in files_of(folder).values()
            for name, value in file.items()}  # fmt: skip


class CheckpointToolsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        text = cls.folder / "poem.txt"
        text.write_text(TEXT)
        must("data", "prepare", text, "-o", cls.folder / "poem", "--tokenizer", "byte")
        must("compile", MODEL, "-o", cls.folder / "four.hkx", "--mesh", "dp=2,tp=2",
             "--zero", "1")  # fmt: skip
        must("compile", MODEL, "-o", cls.folder / "one.hkx")
        cls.run_ = cls.folder / "run"
        cls.train("four.hkx", cls.run_, 2)
        cls.train("four.hkx", cls.folder / "longer", 3)
        must("checkpoint", "merge", cls.run_, "-o", cls.folder / "merged")
        must("checkpoint", "merge", cls.folder / "longer", "-o", cls.folder / "merged3")

    @classmethod
    def train(cls, program, save, steps, *options):
        return must("train", cls.folder / program, "--data", cls.folder / "poem",
                    "--steps", steps, "--save", save, *options)  # fmt: skip

    def report(self, *arguments):
        done = hocket("checkpoint", *arguments, "--json")
        return done.returncode, json.loads(done.stdout)

    def test_other_files_hold_the_same_bits(self):
        self.assertEqual(sorted(files_of(self.folder / "merged")),
                         ["model.safetensors", "optimizer.safetensors"])  # fmt: skip
        three = self.folder / "three"
        said = must("checkpoint", "reshard", self.folder / "merged", "-o", three, "--shards", 3)
        self.assertIn("64 tensors", said)
        self.assertEqual(len(files_of(three)), 6)
        for other in (self.folder / "merged", three):
            status, found = self.report("diff", self.run_, other)
            self.assertEqual((status, found["equal"], found["different"]), (0, 64, []))
            must("checkpoint", "verify", other)
        # Slices of 128 rows in three files, put together here.
        rows = [value for _, file in sorted(files_of(three).items())
                for name, (_, values) in file.items()
                for value in values if name == "embedding.weight"]  # fmt: skip
        self.assertEqual(array.array("f", rows),
                         whole(self.folder / "merged")["embedding.weight"][1])  # fmt: skip

    def test_a_merged_run_goes_on_as_it_would_have(self):
        for source in ("merged", "run"):
            self.train("one.hkx", self.folder / f"on-{source}", 4,
                       "--load", self.folder / source)  # fmt: skip
        status, found = self.report("diff", self.folder / "on-merged", self.folder / "on-run")
        self.assertEqual((status, found["equal"]), (0, 64))

    def test_weights_alone(self):
        weights = self.folder / "weights"
        must("checkpoint", "merge", self.run_, "-o", weights, "--weights-only")
        self.assertEqual(list(files_of(weights)), ["model.safetensors"])
        status, found = self.report("diff", self.run_, weights)
        self.assertEqual((status, found["equal"]), (1, 21))
        self.assertIn("embedding.weight.exp_avg: in the first alone", found["mismatches"])
        self.assertEqual(self.report("diff", self.run_, weights, "--weights-only")[0], 0)

    def test_differences_are_those_of_the_elements(self):
        status, found = self.report("diff", self.run_, self.folder / "longer")
        self.assertEqual(status, 1)
        a, b = whole(self.folder / "merged"), whole(self.folder / "merged3")
        self.assertEqual(len(found["different"]) + found["equal"], len(a))
        self.assertGreater(len(found["different"]), 40)
        for line in found["different"]:
            ours, theirs = (values[line["tensor"]][1] for values in (a, b))
            gaps = [x - y for x, y in zip(ours, theirs, strict=True)]
            norms = [math.sqrt(math.fsum(x * x for x in values)) for values in (gaps, ours)]
            self.assertEqual(line["unequal"], sum(gap != 0 for gap in gaps))
            self.assertEqual(line["largest"], max(map(abs, gaps)))
            self.assertAlmostEqual(line["relative"] / (norms[0] / norms[1]), 1, delta=1e-12)
        far = max(line["relative"] for line in found["different"])
        paths = self.run_, self.folder / "longer", "--tolerance"
        self.assertEqual(self.report("diff", *paths, far * 1.001)[0], 0)
        self.assertEqual(self.report("diff", *paths, far * 0.999)[0], 1)

    def test_statistics_are_those_of_the_elements(self):
        found = json.loads(must("checkpoint", "inspect", self.run_, "--stats", "--json"))
        self.assertEqual((found["step"], found["consumed_samples"]), (2, 4))
        self.assertEqual(len(found["files"]), 6)
        tensors = whole(self.folder / "merged")
        self.assertEqual(len(found["tensors"]), len(tensors))
        for line in found["tensors"]:
            name = ".".join(filter(None, (line["name"], line["slot"])))
            shape, values = tensors[name]
            said = line["values"]
            self.assertEqual(line["shape"], shape)
            self.assertEqual((said["elements"], said["not_finite"]), (len(values), 0))
            self.assertEqual((said["minimum"], said["maximum"]), (min(values), max(values)))
            scale = max(map(abs, values))
            self.assertAlmostEqual(said["mean"], math.fsum(values) / len(values),
                                   delta=1e-12 * scale)  # fmt: skip
            squares = math.fsum(x * x for x in values) / len(values)
            self.assertAlmostEqual(said["rms"], math.sqrt(squares), delta=1e-12 * scale)
        self.assertIn("45.6k parameters", must("checkpoint", "inspect", self.run_))
        spec = self.folder / "again.textproto"
        spec.write_text(must("checkpoint", "inspect", self.run_, "--spec"))
        must("compile", spec, "-o", self.folder / "again.hkx")

    def test_what_is_not_finite_is_counted(self):
        broken = self.folder / "broken"
        shutil.copytree(self.folder / "merged", broken)
        (path,) = broken.glob("iter_*/model.safetensors")
        data = bytearray(path.read_bytes())
        data[-4:] = array.array("f", [math.nan]).tobytes()
        path.write_bytes(data)
        # Only verify reads every byte for its digest.
        status, found = self.report("diff", self.run_, broken)
        (line,) = found["different"]
        self.assertEqual((status, line["unequal"], line["largest"]), (1, 1, 0))
        lines = json.loads(must("checkpoint", "inspect", broken, "--stats", "--json"))["tensors"]
        self.assertEqual(sum(line["values"]["not_finite"] for line in lines), 1)
        status, found = self.report("verify", broken)
        self.assertEqual((status, found["sound"]), (1, False))
        self.assertIn("model.safetensors", found["reason"])

    def test_refuses_in_one_line_and_writes_nothing(self):
        before = sorted(self.folder.rglob("*"))
        new = self.folder / "new"
        for message, *arguments in (
            ("holds no checkpoint", "inspect", self.folder / "poem.txt"),
            ("holds no checkpoint", "verify", new),
            ("holds iteration 2 already", "merge", self.run_, "-o", self.folder / "merged"),
            ("--shards", "reshard", self.run_, "-o", new, "--shards", "0"),
            ("--tolerance", "diff", self.run_, self.run_, "--tolerance", "-1"),
            ("--output", "merge", self.run_),
        ):
            with self.subTest(arguments[0], message=message):
                done = hocket("checkpoint", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


if __name__ == "__main__":
    unittest.main()
