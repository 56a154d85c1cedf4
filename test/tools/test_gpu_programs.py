#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket compile --target cuda --arch: whole programs, with the kernels of the
library, as machine code; no GPU is needed for that, and no memory of the model's
size. Each kernel of every example and of many plans: test/machine_code."""

import pathlib
import tempfile
import unittest

from programs import ROOT, has_nvrtc, hocket

COST = 15  # seconds


@unittest.skipUnless(has_nvrtc(), "there is no NVRTC on this machine")
class GpuProgramsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def compile(self, name, spec, *options):
        out = self.folder / f"{name}.hkx"
        done = hocket("compile", spec, "--target", "cuda", "-o", out, *options)
        out.unlink(missing_ok=True)
        return done

    def test_fp8(self):
        """8-bit operands, for a GPU that takes some, one that takes all, and one
        that takes none."""
        spec = ROOT / "examples/nano/spec.textproto"
        for arch in ("sm_90a", "sm_100a", "sm_80"):
            done = self.compile("fp8", spec, "--set", "training.precision=BF16",
                                "--set", "training.fp8_format=HYBRID",
                                "--arch", arch)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_experts(self):
        """Of the most kinds of kernels: attention, experts, dense layers."""
        spec = ROOT / "examples/nano-moe/spec.textproto"
        done = self.compile("experts", spec, "--arch", "sm_90a")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
