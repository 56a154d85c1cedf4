#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""The table of predicted rooflines in docs/benchmarks.md: every example as
`hocket inspect --roofline` predicts it on H200s. Nothing is run; with NVRTC the
registers of kernels are known. Prints the rows."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOCKET = ROOT / "build/bin/hocket"
SYSTEM, ARCHITECTURE = "h200", "sm_90a"

# An example, its batch and plan in words, and what they are to the compiler.
ONE = ["--microbatches", "1"]
CASES = (
    ("gpt2-124m", "64 x 1024", [*ONE, "--set", "training.micro_batch_size=64"]),
    ("gpt2-124m", "64 x 1024, joint gradient of attention",
     [*ONE, "--set", "training.micro_batch_size=64", "--attention-gradient", "joint"]),
    ("gpt2-1.5b", "32 x 1024", [*ONE, "--set", "training.micro_batch_size=32"]),
    ("gpt2-1.5b", "32 x 1024, nothing recomputed",
     [*ONE, "--set", "training.micro_batch_size=32", "--recompute", "none"]),
    ("gpt2-1.5b", "32 x 1024, nothing recomputed, joint gradient of attention",
     [*ONE, "--set", "training.micro_batch_size=32", "--recompute", "none",
      "--attention-gradient", "joint"]),
    ("llama-3-8b", "1 x 8192", ONE),
    ("llama-3-8b", "8 x 8192, dp=8, ZeRO-1, nothing recomputed",
     ["--mesh", "dp=8", "--zero", "1", *ONE, "--recompute", "none"]),
    ("llama-3-8b", "1 x 8192, tp=8, sequence parallel, nothing recomputed",
     ["--mesh", "tp=8", "--sequence-parallel", *ONE, "--recompute", "none"]),
    ("mixtral-8x7b", "8 x 4096, dp=8, ep=8, ZeRO-1",
     ["--mesh", "dp=8,ep=8", "--zero", "1", *ONE]),
    ("gpt-3-175b", "1536 x 2048, pp=16, dp=8, tp=8, 2 virtual stages, ZeRO-1, "
     "sequence parallel",
     ["--mesh", "pp=16,dp=8,tp=8", "--virtual-stages", "2", "--zero", "1",
      "--sequence-parallel"]),
    ("nano", "4 x 128", []),
    ("nano-moe", "4 x 128", []),
)  # fmt: skip

# What a launch is, by words of its name; the first that fits.
KINDS = (
    ("GEMMs", ("gemm ", "grouped_")),
    ("attention", ("attention_",)),
    ("norms", ("_norm_gradient",)),  # with the sums that they may have
    ("column sums", ("sum_leading", "weight_gradient")),
    ("loss", ("cross_entropy", "log_sum_exp", "mean_loss", "count_labels")),
    ("activations", ("gelu", "silu")),
    ("update", ("adamw", "global_norm")),
    ("norms", ("_norm",)),
)


def kind_of(kernel):
    if kernel["bound"] == "link":
        return "messages"
    for kind, words in KINDS:
        if any(word in kernel["name"] for word in words):
            return kind
    return "other"


def hocket(*arguments):
    command = [HOCKET, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def shares(seconds, step):
    """Percentages, the largest first; what is below one is left out."""
    found = {name: 100 * value / step for name, value in seconds.items()}
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.1f}" for name, share in ordered if share >= 1)


def row(example, batch, options):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.hkx"
        spec = ROOT / "examples" / example / "spec.textproto"
        hocket("compile", spec, "--target", "cuda", "--arch", ARCHITECTURE,
               "-o", program, *options)  # fmt: skip
        found = json.loads(hocket("inspect", program, "--roofline", "--json",
                                  "--system", SYSTEM))  # fmt: skip
        memory = json.loads(hocket("inspect", program, "--json"))["memory"]
    step, last = found["seconds"], found["roles"][found["last_role"]]
    kinds = {"waiting": found["waiting_seconds"]}
    for kernel in last["kernels"]:
        if kernel["stream"] == 0:
            kind = kind_of(kernel)
            kinds[kind] = kinds.get(kind, 0) + kernel["step_seconds"]
    arena = max(role["arena_bytes"] for role in memory) / 2**30
    ranks = sum(role["ranks"] for role in found["roles"])
    return (f"| {example} | {batch} | {ranks:,} | {arena:.1f} | {1e3 * step:,.1f} "
            f"| {found['tokens_per_second']:,.0f} | {100 * found['mfu']:.1f} "
            f"| {shares(last['seconds_by_bound'], step)} | {shares(kinds, step)} |")  # fmt: skip


for case in CASES:
    print(row(*case), flush=True)
