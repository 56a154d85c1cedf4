#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket compile --emit=cuda: the kernels of models and plans as CUDA C++.

Where NVRTC is (HOCKET_NVRTC, or where the loader finds it), one program becomes
machine code; test/machine_code compiles the kernels of every example and of many
plans.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

from programs import BUILD, ROOT, has_nvrtc

COST = 15  # seconds
EXAMPLES = ("nano", "gpt2-124m", "llama-3-8b", "nano-moe")


def emit(spec, out, *options, **environment):
    if not any(option.startswith("--emit") for option in options):
        options = ("--emit=cuda", *options)
    command = [BUILD / "bin/hocket", "compile", spec, "-o", out]
    return subprocess.run(
        [*map(str, command), *options], capture_output=True, text=True,
        env=os.environ | environment, check=False,
    )  # fmt: skip


class EmitCudaTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def kernels(self, spec, *options):
        out = self.folder / "kernels"
        done = emit(spec, out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (out / "kernels.cu").read_text()

    def test_examples(self):
        for example in EXAMPLES:
            text = self.kernels(ROOT / "examples" / example / "spec.textproto")
            self.assertIn('extern "C" __global__', text)
            library = (self.folder / "kernels/library.cu").read_text()
            self.assertRegex(
                library,
                r'// \d+ launch(es)?, the first for \S*spec.textproto:\S+ .*\n'
                r'// \d+ x \d+ x \d+ blocks of \d+ threads.*, of \(buffer 0, .*\)\n',
            )
            for op in ("attention", "crossEntropy"):
                self.assertIn(op, library)
            self.assertLess(len(library), 100_000, "headers stand inside")
        for header in ("Device.cuh", "Random.cuh"):
            self.assertEqual(
                (self.folder / "kernels/kernels/cuda" / header).read_text(),
                (ROOT / "kernels/cuda" / header).read_text(),
            )

    def test_the_same_spec_gives_the_same_text(self):
        spec = ROOT / "examples/nano/spec.textproto"
        self.assertEqual(self.kernels(spec), self.kernels(spec))

    def test_machine_code(self):
        if not has_nvrtc():
            self.skipTest("there is no NVRTC on this machine")
        spec = ROOT / "examples/nano/spec.textproto"
        self.kernels(spec, "--mesh", "dp=2,tp=2", "--zero", "1", "--arch", "sm_80")
        for part in ("kernels", "library"):
            image = self.folder / f"kernels/{part}.sm_80.cubin"
            self.assertEqual(image.read_bytes()[:4], b"\x7fELF")

    def refused(self, status, *options, **environment):
        out = self.folder / "nothing"
        spec = ROOT / "examples/nano/spec.textproto"
        done = emit(spec, out, *options, **environment)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertFalse(out.exists(), "something was written")
        return done.stderr

    def test_without_nvrtc_nothing_is_written(self):
        error = self.refused(1, "--arch", "sm_90a", HOCKET_NVRTC="/no/libnvrtc.so")
        self.assertIn("there is no NVRTC on this machine (/no/libnvrtc.so: ", error)
        self.assertIn("set HOCKET_NVRTC", error)

    def test_another_library_is_not_taken_for_nvrtc(self):
        error = self.refused(1, "--arch", "sm_90a", HOCKET_NVRTC="libm.so.6")
        self.assertIn("libm.so.6 is no NVRTC that Hocket can use: ", error)
        self.assertIn("it has no nvrtcVersion; set HOCKET_NVRTC", error)

    def test_an_unknown_architecture(self):
        if not has_nvrtc():
            self.skipTest("there is no NVRTC on this machine")
        for arch in ("sm_12", "sm_75"):
            error = self.refused(2, "--arch", arch)
            self.assertIn(f"kernels need sm_80 (A100) at least, {arch} is", error)
        for arch in ("sm_999", "compute_90a", "sm_90x", "hopper"):
            error = self.refused(2, "--arch", f"sm_80,{arch}")
            self.assertIn(f"compiles no kernels for {arch}; choose of sm_80 ", error)
        error = self.refused(2, "--arch", "sm_80,sm_90a,sm_80")
        self.assertIn("--arch names sm_80 twice", error)

    def test_hopper_without_its_own_instructions(self):
        self.assertIn("write sm_90a", self.refused(2, "--arch", "sm_80,sm_90"))

    def test_wrong_flags(self):
        self.assertIn("choose one", self.refused(2, "--compile-to=kern"))
        self.assertIn("write cuda", self.refused(2, "--emit=ptx"))


if __name__ == "__main__":
    unittest.main()
