#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Prices of memory beside the arenas of compiled programs, of random plans.

    memory_prices.py [--build BUILD] [--plans N] [--seed S] [--only EXAMPLE ...]

Draws plans of the larger examples: mesh, microbatch, schedule, ZeRO, recompute
and chunks of the loss. `hocket simulate` prices the memory of each pipeline rank,
`hocket compile` lays its arena out, and both are compared. Nothing is run. Prints
a line for each plan and the mean and the worst error of the fullest ranks.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ("gpt2-1.5b", "llama-3-8b", "mixtral-8x7b", "gemma-3-1b")
SCHEDULES = ("", "", "interleaved-1f1b", "zb-h1", "zb-v")
TWO_CHUNKS = ("interleaved-1f1b", "zb-v")


def draw(rng, example):
    """(devices, the plan, sequences of a step), or None where they do not fit."""
    devices = rng.choice((8, 8, 16, 64))
    plan = {
        "tp": rng.choice((1, 1, 2, 4, 8)),
        "cp": rng.choice((1, 1, 1, 2)),
        "pp": rng.choice((1, 1, 2, 4)),
    }
    shared = plan["tp"] * plan["cp"] * plan["pp"]
    if shared > devices:
        return None
    plan["dp"] = devices // shared
    plan = {axis: size for axis, size in plan.items() if size > 1}
    plan["mbs"] = rng.choice((1, 2, 4))
    data = plan.get("dp", 1)
    if "tp" in plan and rng.random() < 0.7:
        plan["sp"] = 1
    zero = rng.choice((0, 0, 1, 2, 3))
    if zero and data * plan.get("cp", 1) > 1:
        plan["zero"] = zero
    if example == "mixtral-8x7b" and (ranks := rng.choice((1, 2, 4, 8))) > 1:
        plan["ep"] = ranks
    if recompute := rng.choice(("", "", "selective", "full")):
        plan["recompute"] = recompute
    if "pp" in plan and (schedule := rng.choice(SCHEDULES)):
        plan["schedule"] = schedule
        if schedule in TWO_CHUNKS:
            plan["v"] = 2
    if plan.get("zero", 0) < 2 and rng.random() < 0.2:
        plan["loss_chunks"] = 4
    text = ",".join(f"{key}={value}" for key, value in plan.items())
    return devices, text, data * plan["mbs"] * max(2 * plan.get("pp", 1), 2)


class Comparison:
    def __init__(self, hocket, folder):
        self.hocket, self.folder = hocket, pathlib.Path(folder)

    def memory(self, *arguments):
        """What a report says of each pipeline rank; None: refused."""
        command = [self.hocket, *map(str, arguments), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        return json.loads(done.stdout)["memory"] if done.returncode == 0 else None

    def of(self, example, devices, plan, sequences):
        """(priced, compiled) bytes of each rank; None where there is no such plan."""
        spec = ROOT / "examples" / example / "spec.textproto"
        batch = ("--set", f"training.global_batch_size={sequences}", "--plan", plan)
        prices = self.memory(
            "simulate", spec, *batch, "--cluster", f"h100:{devices}"
        )  # fmt: skip
        program = self.folder / "program.hkx"
        arenas = prices and self.memory(
            "compile", spec, *batch, "--arch", "native", "-o", program
        )
        if not arenas:
            return None
        return [
            (price["total"], arena["arena_bytes"])
            for price, arena in zip(prices, arenas, strict=True)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--plans", default=40, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--only", nargs="+", choices=EXAMPLES, default=EXAMPLES)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options.build / "bin/hocket", folder)
        while len(errors) < options.plans:
            example = rng.choice(options.only)
            drawn = draw(rng, example)
            ranks = drawn and comparison.of(example, *drawn)
            if not ranks:
                continue
            priced, compiled = (max(side) for side in zip(*ranks))
            off = priced / compiled - 1
            each = max((price / arena - 1 for price, arena in ranks), key=abs)
            errors.append(abs(off))
            print(
                f"{example:13} {drawn[0]:3} {drawn[1]:64} "
                f"{compiled / 2**30:7.2f} GiB {off:+6.1%}, any rank {each:+6.1%}",
                flush=True,
            )
    over = sum(error > 0.03 for error in errors)
    print(
        f"fullest ranks of {len(errors)} plans: mean {statistics.mean(errors):.2%}, "
        f"worst {max(errors):.1%}, {over} over 3 %"
    )


if __name__ == "__main__":
    main()
