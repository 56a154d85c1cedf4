#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""What `hocket compile` says of a GPU's memory is what a run takes, to the byte."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from programs import BUILD, EMULATED, hocket

SPEC = """name: "tiny"
model { layers: 1 hidden: 32 heads: 2 ffn: 64 vocab_size: 61 max_positions: 16 }
training { micro_batch_size: 1 sequence_length: 16 steps: 1 precision: BF16 }
"""
WORKSPACE = 32 << 20  # of GEMMs


class GpuMemoryTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.spec = self.folder / "tiny.textproto"
        self.spec.write_text(SPEC)
        self.program = self.folder / "tiny.hkx"

    def compile(self, *options):
        return hocket(
            "compile", self.spec, "--target", "cuda", "-o", self.program, *options
        )

    def memory(self):
        done = self.compile("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["memory"][0]

    def start(self, memory):
        """Loads the program on a GPU with so many bytes and writes its weights."""
        cache = self.folder / "cache"
        cache.mkdir(mode=0o700, exist_ok=True)
        environment = EMULATED | {
            "HOCKET_CACHE": str(cache), "HOCKET_EMULATED_MEMORY": str(memory)
        }  # fmt: skip
        return subprocess.run(
            [BUILD / "bin/hocket", "train", self.program, "--steps", "0", "--save",
             self.folder / f"run-{memory}"],
            capture_output=True, text=True, env=os.environ | environment, check=False,
        )  # fmt: skip

    def test_a_path_with_quotes_is_one_string_of_the_summary(self):
        self.program = self.folder / 'a "tiny" \\ program.hkx'
        done = self.compile("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["output"], str(self.program))

    def test_a_specification_says_the_target(self):
        """`cluster.device` is the target where --target says none."""
        self.spec.write_text(SPEC + "cluster { device: CUDA }\n")
        done = hocket("compile", self.spec, "-o", self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(hocket("inspect", self.program, "--json").stdout)
        self.assertEqual(shown["target"], "cuda")
        done = hocket("compile", self.spec, "--target", "cpu", "-o", self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(hocket("inspect", self.program, "--json").stdout)
        self.assertEqual(shown["target"], "cpu")
        level = self.folder / "tiny.mlir"
        hocket("compile", self.spec, "--compile-to=xf", "-o", level)
        done = hocket("compile", level, "--compile-from=xf", "-o", self.program)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("S19: its specification's cluster.device is CUDA", done.stderr)
        for target in ("cpu", "cuda"):
            done = hocket("compile", level, "--compile-from=xf", "--target", target,
                          "-o", self.program)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_run_takes_what_was_said(self):
        said = self.memory()
        needed = said["device_bytes"]
        self.assertEqual(needed, said["arena_bytes"] + 256 + WORKSPACE)
        done = self.start(needed)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.start(needed - 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(
            done.stderr,
            r"the program needs 3\d\.\d\d MiB of memory \(32\.00 MiB of it scratch "
            r"memory\), Emulated GPU has 3\d\.\d\d MiB, 3\d\.\d\d MiB of it free",
        )

    def test_a_plan_is_compared_with_all_of_it(self):
        needed = self.memory()["device_bytes"]
        done = self.compile("--memory", str(needed))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.compile("--memory", str(needed - 1))
        self.assertEqual(done.returncode, 2)
        self.assertIn("S42: rank 0 needs 3", done.stderr)


if __name__ == "__main__":
    unittest.main()
