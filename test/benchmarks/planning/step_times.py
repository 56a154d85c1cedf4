#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Predicts what steps of small plans take on this machine, and runs them.

    step_times.py [--build BUILD] [--seconds S] [--steps N] [--only TEXT]

For each number of ranks `hocket calibrate` measures this machine's processor as
so many ranks share it; `hocket simulate` predicts each plan on that, `hocket
train` runs it. Prints both, what the prediction is off by and made of, and the
mean. Nothing is fitted to these steps. Run it on a machine that does nothing else: ranks and
whatever else runs share the cores, and a busy minute is an error of its own.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test"))

import token_files  # noqa: E402

WARM_UP = 3  # steps that are not counted
VOCABULARY = 4096

SMALL = "layers: 4 hidden: 256 heads: 4 "
DEEP = "layers: 12 hidden: 256 heads: 8 "
WIDE = "layers: 2 hidden: 768 heads: 12 "

# Model, tokens of a sequence, sequences of a step, plan: 20 of them.
PLANS = [
    (SMALL, 128, 8, "mbs=8"),
    (SMALL, 128, 8, "mbs=2"),
    (SMALL, 512, 4, "mbs=4"),
    (SMALL, 512, 4, "mbs=1,recompute=full"),
    (DEEP, 128, 8, "mbs=4"),
    (DEEP, 256, 4, "mbs=2,recompute=full"),
    (WIDE, 128, 8, "mbs=8"),
    (WIDE, 256, 4, "mbs=2"),
    (SMALL, 128, 8, "dp=2,mbs=4"),
    (SMALL, 128, 8, "tp=2,mbs=4"),
    (SMALL, 256, 8, "pp=2,mbs=2"),
    (DEEP, 128, 8, "dp=2,mbs=2"),
    (DEEP, 128, 8, "pp=2,mbs=2"),
    (WIDE, 256, 4, "tp=2,mbs=2"),
    (WIDE, 256, 4, "dp=2,mbs=2,zero=1"),
    (SMALL, 256, 8, "dp=4,mbs=2"),
    (DEEP, 128, 16, "pp=4,mbs=2"),
    (DEEP, 128, 16, "dp=2,pp=2,mbs=2"),
    (WIDE, 256, 8, "dp=2,tp=2,mbs=2"),
    (WIDE, 256, 8, "tp=4,mbs=4"),
]
FIELDS = {
    "pp": "pipeline_parallel",
    "dp": "data_parallel",
    "tp": "tensor_parallel",
    "mbs": "micro_batch_size",
    "zero": "zero_stage",
    "recompute": "recompute",
}
# What a prediction is made of: the rest computes.
PARTS = {
    "overhead": ("gaps", "host", "outside"),
    "traffic": ("tensor", "context", "expert", "transfers", "data"),
    "sharing": ("shared",),
    "waiting": ("bubble",),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--seconds", default=20, type=float, help="of a calibration")
    parser.add_argument("--steps", default=12, type=int, help="that are counted")
    parser.add_argument("--only", default="", help="plans with this in their text")
    return parser.parse_args()


def parts_of(times):
    """Milliseconds of a prediction, in words."""
    sums = {part: sum(times[item] for item in PARTS[part]) for part in PARTS}
    sums = {"computing": sum(times.values()) - sum(sums.values()), **sums}
    return ", ".join(
        f"{part} {1e-6 * sums[part]:.1f}" for part in sums if sums[part] >= 50_000
    )


def write_tokens(prefix):
    """Random tokens, one document."""
    rng = random.Random(0)
    token_files.write(prefix, [[rng.randrange(VOCABULARY) for _ in range(200_000)]])


class Runs:
    def __init__(self, arguments, folder):
        self.program = arguments.build / "bin/hocket"
        self.arguments, self.folder = arguments, folder
        self.systems = {}
        write_tokens(folder / "tokens")

    def hocket(self, *words):
        command = [self.program, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"hocket {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def system(self, ranks):
        """The path of a description of this machine as `ranks` share it."""
        if ranks not in self.systems:
            path = self.folder / f"ranks{ranks}.textproto"
            seconds = self.arguments.seconds
            self.hocket("calibrate", "--ranks", ranks, "--seconds", seconds, "-o", path)
            self.systems[ranks] = path
        return self.systems[ranks]

    def write_spec(self, model, sequence, batch, values):
        plan = "".join(f"{FIELDS[k]}: {v.upper()} " for k, v in values.items())
        path = self.folder / "spec.textproto"
        path.write_text(
            f'name: "small"\n'
            f"model {{ {model} vocab_size: {VOCABULARY} max_positions: {sequence} }}\n"
            f"training {{ sequence_length: {sequence} global_batch_size: {batch} "
            f"precision: FP32 log_interval: 1 validation {{ interval: 0 }} "
            f'data {{ split: "1,0,0" }} }}\n'
            f"plan {{ {plan} }}\n"
        )
        return path

    def measured(self, spec):
        """Seconds of a step: the median."""
        program, log = self.folder / "small.hkx", self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        self.hocket("compile", spec, "-o", program)
        data, steps = self.folder / "tokens", WARM_UP + self.arguments.steps
        words = ("--data", data, "--steps", steps, "--log", log)
        self.hocket("train", program, *words)
        records = [json.loads(line) for line in log.read_text().splitlines()]
        times = [record["seconds"] for record in records if "seconds" in record]
        return statistics.median(times[WARM_UP:])

    def off(self, model, sequence, batch, plan):
        """What the prediction of a plan is off by; prints it."""
        values = dict(part.split("=") for part in plan.split(","))
        ranks = 1
        for axis in ("pp", "dp", "tp"):
            ranks *= int(values.get(axis, 1))
        spec = self.write_spec(model, sequence, batch, values)
        cluster = f"{self.system(ranks)}:{ranks}"
        words = ("--plan", plan, "--cluster", cluster, "--json")
        report = json.loads(self.hocket("simulate", spec, *words))
        predicted = report["nanoseconds"] * 1e-9
        measured = self.measured(spec)
        off = predicted / measured - 1
        print(
            f"{model}{batch} x {sequence:4} {plan:22} {1e3 * measured:9.1f} ms "
            f"{1e3 * predicted:9.1f} ms {100 * off:+7.1f} %  "
            f"{parts_of(report['time'])}",
            flush=True,
        )
        return off


def main():
    arguments = parse_arguments()
    chosen = [row for row in PLANS if arguments.only in row[3]]
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(arguments, pathlib.Path(scratch))
        print("model, sequences x tokens, plan: measured, predicted, off by, of ms"
              " predicted")
        all_off = [runs.off(*row) for row in chosen]
    mean = statistics.mean(map(abs, all_off))
    print(f"mean {100 * mean:.1f} % of {len(all_off)} plans (to reach: 15 %)")


if __name__ == "__main__":
    main()
