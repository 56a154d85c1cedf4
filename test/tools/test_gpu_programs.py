#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket compile --target cuda --arch: whole programs, with the kernels of the
library, as machine code. NVRTC says of every kernel whether it compiles; no GPU
is needed for that, and no memory of the model's size."""

import concurrent.futures
import os
import pathlib
import tempfile
import unittest

from programs import ROOT, has_nvrtc, hocket

COST = 120  # seconds
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/spec.textproto"))

# Heads of 64, and rows of whole 16-byte pieces: what tensor cores take.
SIZES = "layers: 4 hidden: 128 heads: 2 vocab_size: 96 max_positions: 256"
GPT = SIZES + " ffn: 256 activation: GELU_TANH"
LLAMA = SIZES + (" ffn: 192 norm: RMS_NORM activation: SWIGLU position: ROTARY"
                 " bias: false tied_embeddings: false")  # fmt: skip
MODELS = {
    "gpt": GPT,
    "dropout": GPT + " dropout { attention: 0.1 residual: 0.1 embedding: 0.1 }",
    "llama": LLAMA + " kv_heads: 2",
    "sliding": LLAMA + " kv_heads: 1 sliding_window: 100",
    "experts": LLAMA + " moe { experts: 4 top_k: 2 ffn: 64 aux_loss: 0.01 }",
    "dropping": LLAMA + (" moe { experts: 8 top_k: 2 ffn: 64 capacity_factor: 0.75"
                         " scores: SIGMOID groups: 4 topk_groups: 2 bias_rate: 0.01"
                         " shared_experts: 1 }"),
}  # fmt: skip
SEQUENCES = 24

PLANS = (
    ("gpt", "--mesh dp=2 --microbatches 3"),
    ("gpt", "--mesh dp=4 --zero 2"),
    ("gpt", "--mesh dp=2 --zero 3 --set training.precision=FP32"),
    ("gpt", "--mesh tp=2 --sequence-parallel --set training.precision=FP16"),
    ("gpt", "--mesh pp=4 --schedule gpipe --microbatches 4"),
    ("gpt", "--mesh pp=2,dp=2 --schedule zb-h1 --microbatches 4 --zero 1"),
    ("dropout", "--mesh pp=2,dp=2,tp=2 --sequence-parallel --microbatches 3 --zero 1"),
    ("dropout", "--mesh cp=2 --recompute selective"),
    ("llama", "--mesh dp=2,tp=2 --microbatches 2 --zero 3"),
    ("llama", "--mesh pp=2 --virtual-stages 2 --schedule zb-v --microbatches 4"),
    ("llama", "--mesh pp=2 --virtual-stages 2 --schedule dualpipe-v --microbatches 4"),
    ("llama", "--mesh pp=2,tp=2 --virtual-stages 2 --microbatches 4 --recompute full"),
    ("llama", "--mesh cp=2 --cp-strategy alltoall"),
    ("llama", "--mesh pp=2,cp=2,tp=2 --microbatches 4"),
    ("sliding", "--mesh dp=2,cp=2 --zero 1"),
    ("sliding", "--mesh cp=4 --cp-strategy ring"),
    ("experts", "--mesh dp=2,ep=2 --microbatches 2"),
    ("experts", "--mesh dp=2,cp=2,ep=4 --cp-strategy ring --zero 1"),
    ("experts", "--mesh cp=4,ep=2 --cp-strategy ring"),
    ("dropping", "--mesh dp=4,ep=4,tp=2 --sequence-parallel --zero 1"),
    ("dropping", "--mesh pp=2,dp=2,ep=2,tp=2 --sequence-parallel --microbatches 2"),
)  # fmt: skip


def in_parallel(function, cases):
    """Pairs of a case and what `function` makes of it, as many at a time as
    there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from zip(cases, pool.map(function, cases), strict=True)


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

    def expect_compiled(self, compile_case, cases):
        for case, done in in_parallel(compile_case, cases):
            with self.subTest(case=str(case)):
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_example(self):
        self.assertEqual(len(EXAMPLES), 7)
        self.expect_compiled(
            lambda path: self.compile(
                path.name, path / "spec.textproto", "--arch", "sm_90a"
            ),
            EXAMPLES,
        )

    def test_plans(self):
        training = (f"training {{ sequence_length: 256 global_batch_size: {SEQUENCES} "
                    "precision: BF16 micro_batch_size: ")  # fmt: skip
        for name, model in MODELS.items():
            (self.folder / name).write_text(
                f'name: "{name}"\nmodel {{ {model} }}\n{training} 1 }}\n'
            )

        def compile_plan(case):
            model, plan = case
            name = str(PLANS.index(case))
            return self.compile(
                name, self.folder / model, "--arch", "sm_90a", *plan.split()
            )

        self.assertEqual(len(PLANS), 21)
        self.expect_compiled(compile_plan, PLANS)

    def test_fp8(self):
        """8-bit factors, for a GPU that takes some, one that takes all, and one
        that takes none."""
        spec = ROOT / "examples/nano/spec.textproto"
        for arch in ("sm_90a", "sm_100a", "sm_80"):
            done = self.compile("fp8", spec, "--set", "training.precision=BF16",
                                "--set", "training.fp8_format=HYBRID",
                                "--arch", arch)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_architecture(self):
        """Of the most kinds of kernels: attention, experts, dense layers."""
        for example in ("nano", "nano-moe"):
            spec = ROOT / "examples" / example / "spec.textproto"
            done = self.compile(example, spec, "--arch", "sm_80,sm_100a")
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
