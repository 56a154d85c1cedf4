#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket-gpu-check: a bundle of tiny programs, prepared, taken elsewhere, and run
on an emulated GPU, on none, and with something wrong."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from programs import BUILD, EMULATED, ROOT

SCRIPT = ROOT / "test/gpu_check/hocket-gpu-check"
RIGHT = (
    "The contract of devices",
    "Kernels against their references",
    "Losses against the CPU target's",
    "Two runs, the same bits",
    "The same in fp8",
)


def run(script, *options, **environment):
    return subprocess.run(
        [sys.executable, script, *map(str, options)], capture_output=True, text=True,
        env=os.environ | environment, check=False,
    )  # fmt: skip


class GpuCheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        made = cls.folder / "made"
        done = run(SCRIPT, "--prepare", made, "--tiny", "--arch", "none",
                   "--build", BUILD)  # fmt: skip
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.said = done.stdout
        cls.bundle = cls.folder / "elsewhere"
        made.rename(cls.bundle)

    def report(self, bundle, status, *options, **environment):
        """{section: it} of a run, and the report's text."""
        out = self.folder / self.id()
        done = run(bundle / "run", "--out", out, *options, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        document = json.loads((out / "report.json").read_text())
        sections = {section["name"]: section for section in document["sections"]}
        return sections, (out / "report.md").read_text()

    def test_the_bundle_is_small_and_says_what_it_needs(self):
        self.assertIn("glibc 2.", self.said)
        files = [path for path in self.bundle.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), 64 << 20)
        needed = subprocess.run(
            ["ldd", self.bundle / "bin/hocket-runtime"], capture_output=True,
            text=True, check=True,
            env=os.environ | {"LD_LIBRARY_PATH": f"{self.bundle}/lib:{self.bundle}/lib/base"},
        ).stdout  # fmt: skip
        outside = [
            line for line in needed.splitlines()
            if "=>" in line and str(self.bundle) not in line
        ]  # fmt: skip
        for line in outside:
            self.assertRegex(line, r"lib(c|m|dl|rt|pthread)\.so")

    def test_an_emulated_gpu(self):
        sections, text = self.report(
            self.bundle, 0, "--peak", "1", "--python", "/no/python3", **EMULATED
        )
        for name in RIGHT:
            self.assertEqual(sections[name]["status"], "passed", sections[name]["why"])
        self.assertGreater(len(sections[RIGHT[0]]["rows"]), 10)
        self.assertEqual(sections["PyTorch"]["status"], "skipped")
        self.assertIn("Emulated GPU", text)
        figures = {f["what"]: f for s in sections.values() for f in s["figures"]}
        for what in ("MFU, tiny", "MFU, tiny-fp8", "products, tiny",
                     "products, tiny-fp8", "tokens/s over those in bf16, tiny-fp8",
                     "copy, tiny", "norms, tiny",
                     "cross-entropy, tiny", "Adam, tiny",
                     "attention_forward causal 32 x 64, tiny",
                     "attention_backward causal 32 x 64, tiny"):  # fmt: skip
            self.assertGreater(figures[what]["value"], 0, what)
            self.assertIn(what, text)
        self.assertEqual(figures["gaps between kernels, tiny"]["target"], 0.03)
        for row in sections["Kernels' speed"]["rows"]:
            self.fail(f"not measured: {row}")

    def test_without_a_gpu_everything_is_a_said_skip(self):
        sections, text = self.report(self.bundle, 0, HOCKET_LIBCUDA="/no/libcuda.so")
        for name, section in sections.items():
            expected = "measured" if name == "The machine" else "skipped"
            self.assertEqual(section["status"], expected, name)
            self.assertEqual(section["figures"], [], name)
        self.assertIn("there is no CUDA driver on this machine", text)
        self.assertIn("0 of 0 targets missed", text)

    def copy(self):
        folder = self.folder / f"{self.id()}-bundle"
        shutil.copytree(self.bundle, folder)
        return folder

    def test_losses_beyond_the_band_are_a_failure(self):
        folder = self.copy()
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["parity"]["band"] = 0.0
        path.write_text(json.dumps(manifest))
        sections, text = self.report(folder, 1, "--only", "parity", **EMULATED)
        self.assertEqual(sections[RIGHT[2]]["status"], "failed")
        self.assertEqual(sections[RIGHT[3]]["status"], "skipped")
        self.assertIn("not asked for (--only)", text)

    def test_a_damaged_bundle_is_refused(self):
        folder = self.copy()
        with open(folder / "programs/tiny.hkx", "ab") as file:
            file.write(b"x")
        done = run(folder / "run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("tiny.hkx is not what was prepared", done.stderr)

    def test_what_was_not_prepared_is_refused(self):
        done = run(SCRIPT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("manifest.json is missing", done.stderr)
        done = run(SCRIPT, "--prepare", self.bundle, "--build", BUILD)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not empty", done.stderr)


if __name__ == "__main__":
    unittest.main()
