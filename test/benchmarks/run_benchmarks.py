#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Measures Hocket beside PyTorch on this machine, in one run.

    make bench    or    python3 test/benchmarks/run_benchmarks.py [--write]

Trains GPT-2 124M on random tokens in both, in turns, with each instruction set
that this machine has, and compiles the examples. PyTorch's libraries are held to
the same instruction set. What Hocket takes is given as it is and where attention
and MLPs are computed again (plan.recompute), which keeps less in memory.
The speed of a shared machine drifts: only figures of one run are compared, each
the median of its turns, and the processor's matrix peak is measured in every
turn. Last come the kernels alone, as their own programs print them: GEMMs
beside oneDNN, generated kernels beside memcpy. --write puts the tables into
docs/benchmarks.md. --python names an
interpreter with PyTorch; without it one is made under the build's folder.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

SHAPES = ((4, 256), (1, 1024))
# The finding of `hocket doctor` -> the name for HOCKET_CPU_ISA, the precisions
# that it is there for, and what holds PyTorch, oneDNN and MKL to it.
INSTRUCTION_SETS = {
    "AVX2, FMA, F16C": ("avx2", ("fp32", "bf16"), ("avx2", "AVX2", "AVX2")),
    "AVX-512": ("avx512", ("fp32", "bf16"), ("avx512", "AVX512_CORE", "AVX512")),
    "AVX-512 BF16": ("avx512_bf16", ("bf16",),
                     ("avx512", "AVX512_CORE_BF16", "AVX512")),
    "AMX bf16": ("amx", ("bf16",), ("avx512", "AVX512_CORE_AMX", "AVX512")),
}  # fmt: skip
RECOMPUTE = {
    "plan.recompute": "SELECTIVE",
    "plan.recompute_modules": "CORE_ATTN,MLP",
}
WARM_UP = 2  # steps that are not counted
# Seconds of one run of PyTorch: without instructions for bf16 a step takes minutes.
SLOWEST_PYTORCH = 180
KERNELS = (  # one core
    ("few_rows_benchmark", "1", "5"),
    ("codegen_benchmark",),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--python", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4, help="of each turn")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def run(command, limit=3600, **options):
    """(output, seconds, peak bytes) of a program that must succeed, within `limit`
    seconds."""
    start = time.monotonic()
    command = [str(part) for part in command]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
    alarm = threading.Timer(limit, child.kill)
    alarm.start()
    output = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    alarm.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    if time.monotonic() - start >= limit:
        raise RuntimeError(f"{' '.join(command)}: more than {limit} s")
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {child.returncode}")
    return output, time.monotonic() - start, usage.ru_maxrss * 1024


def python_with_torch(build):
    folder = build / "venv"
    python = folder / "bin/python"
    if not python.exists():
        print("Installing PyTorch from PyPI for the comparison", flush=True)
        run([sys.executable, "-m", "venv", folder])
        run([python, "-m", "pip", "install", "-q", "torch", "numpy"])
    return python


class Bench:
    def __init__(self, arguments):
        self.build = arguments.build.resolve()
        self.python = arguments.python or python_with_torch(self.build)
        self.steps = arguments.steps + WARM_UP
        self.folder = self.build / "bench"
        self.folder.mkdir(exist_ok=True)
        self.sets = self.instruction_sets()
        self.peaks = {}
        self.torch = ""

    def instruction_sets(self):
        """Those of INSTRUCTION_SETS that this machine has."""
        text = run([self.build / "bin/hocket", "doctor", "--json"])[0]
        found = {line["name"] for line in json.loads(text) if line["found"]}
        return [INSTRUCTION_SETS[name] for name in INSTRUCTION_SETS if name in found]

    def environment(self, isa):
        name, _, (torch, onednn, mkl) = isa
        return {
            **os.environ,
            "HOCKET_CPU_ISA": name,
            "ATEN_CPU_CAPABILITY": torch,
            "ONEDNN_MAX_CPU_ISA": onednn,
            "MKL_ENABLE_INSTRUCTIONS": mkl,
        }

    def measure_peak(self, isa, precision):
        program = [self.build / "bin/matrix_peak"]
        peak = json.loads(run(program, env=self.environment(isa))[0])
        self.peaks.setdefault((isa[0], precision), []).append(peak[precision])

    def hocket(self, shape, precision, isa, changes):
        """(tokens/s of every counted step, peak bytes)."""
        batch, sequence = shape
        settings = {
            "training.micro_batch_size": batch,
            "training.global_batch_size": batch,
            "training.sequence_length": sequence,
            "training.precision": precision.upper(),
            "training.log_interval": 1,
            "training.validation.interval": 0,
            "training.data.split": "1,0,0",
            **changes,
        }
        options = [f"--set={path}={value}" for path, value in settings.items()]
        spec = ROOT / "examples/gpt2-124m/spec.textproto"
        program, log = self.folder / "gpt2.hkx", self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        hocket = self.build / "bin/hocket"
        run([hocket, "compile", spec, *options, "-o", program],
            stderr=subprocess.DEVNULL)  # fmt: skip
        # Without the compiler, as on the nodes of a cluster.
        _, _, peak = run(
            [self.build / "bin/hocket-runtime", "train", program, "--mock-data",
             "--steps", self.steps, "--log", log],
            stderr=subprocess.DEVNULL, env=self.environment(isa),
        )  # fmt: skip
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        speeds = [line["tokens_per_second"] for line in lines if "loss" in line]
        return speeds[WARM_UP:], peak

    def pytorch(self, shape, precision, isa, mode):
        script = HERE / "pytorch/gpt2.py"
        output, _, peak = run(
            [self.python, script, *shape, precision, mode, self.steps],
            limit=SLOWEST_PYTORCH, env=self.environment(isa),
        )  # fmt: skip
        result = json.loads(output.splitlines()[-1])
        self.torch = result["torch"]
        tokens = shape[0] * shape[1]
        return [tokens / s for s in result["seconds"][WARM_UP:]], peak

    def train(self, shape, precision, isa, turns):
        """name -> (median tokens/s, peak bytes), all in turns."""
        case = (shape, precision, isa)
        ways = {
            "hocket": lambda: self.hocket(*case, {}),
            "recomputing": lambda: self.hocket(*case, RECOMPUTE),
            "eager": lambda: self.pytorch(*case, "eager"),
            "compiled": lambda: self.pytorch(*case, "compiled"),
        }
        speeds, memory = {name: [] for name in ways}, dict.fromkeys(ways, 0)
        for turn in range(turns):
            self.measure_peak(isa, precision)
            for name, way in list(ways.items()):
                try:
                    found, peak = way()
                except RuntimeError as error:
                    if name not in ("eager", "compiled"):
                        raise
                    print(f"  left out: {error}")
                    del ways[name]
                    continue
                speeds[name] += found
                memory[name] = max(memory[name], peak)
                print(f"  turn {turn + 1}: {name} "
                      f"{statistics.median(found):.0f} tokens/s", flush=True)  # fmt: skip
        return {n: (statistics.median(s), memory[n]) for n, s in speeds.items() if s}

    def compile(self, example, *options):
        """(seconds, peak bytes) of compiling an example."""
        spec = ROOT / "examples" / example / "spec.textproto"
        out = self.folder / "compiled.out"
        command = [self.build / "bin/hocket", "compile", spec, *options]
        return run([*command, "-o", out])[1:]


def flops_of_a_token(sequence):
    """Forward and backward: 6 for every weight of a GEMM, and 6 for
    every visible key and hidden feature in every layer's two GEMMs."""
    hidden, layers, vocabulary = 768, 12, 50304
    weights = layers * 12 * hidden * hidden + vocabulary * hidden
    return 6 * weights + 6 * layers * sequence * hidden


TRAINING_HEAD = """
| instruction set | tokens | precision | Hocket tokens/s | share of the peak | \
PyTorch tokens/s (best) | ratio | memory | PyTorch's | ratio | \
recomputing: tokens/s | ratio | memory | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def training_row(bench, shape, precision, isa, result):
    speed, memory = result["hocket"]
    again, less = result["recomputing"]
    rivals = [name for name in ("eager", "compiled") if name in result]
    peak = statistics.median(bench.peaks[isa[0], precision]) * 1e9
    share = speed * flops_of_a_token(shape[1]) / peak
    ours = (
        f"| {isa[0]} | {shape[0]} x {shape[1]} | {precision} | {speed:.0f} | "
        f"{share:.0%} of {peak / 1e9:.0f} GFLOP/s | "
    )
    if not rivals:
        return (
            f"{ours}none in {SLOWEST_PYTORCH} s | | {memory / 1e9:.2f} GB | | | "
            f"{again:.0f} | | {less / 1e9:.2f} GB | |\n"
        )
    best = max(rivals, key=lambda name: result[name][0])
    other, other_memory = result[best]
    return (
        f"{ours}{other:.0f} ({best}) | "
        f"{speed / other:.2f} | {memory / 1e9:.2f} GB | {other_memory / 1e9:.2f} GB | "
        f"{memory / other_memory:.2f} | {again:.0f} | {again / other:.2f} | "
        f"{less / 1e9:.2f} GB | {less / other_memory:.2f} |\n"
    )


def training_table(bench, turns):
    rows = []
    for isa in bench.sets:
        for shape in SHAPES:
            for precision in isa[1]:
                title = f"{isa[0]}: GPT-2 124M, {shape[0]} x {shape[1]}, {precision}"
                print(title, flush=True)
                result = bench.train(shape, precision, isa, turns)
                rows.append(training_row(bench, shape, precision, isa, result))
                print(rows[-1], flush=True)
    return TRAINING_HEAD.lstrip() + "".join(rows)


def compile_table(bench):
    table = "| compiled | seconds | memory |\n|---|---|---|\n"
    targets = (
        ("GPT-2 124M, to an executable", "gpt2-124m", ()),
        ("GPT-3 175B, to `exec`", "gpt-3-175b", ("--compile-to=exec",)),
    )
    for title, example, options in targets:
        seconds, memory = bench.compile(example, *options)
        table += f"| {title} | {seconds:.1f} | {memory / 1e9:.2f} GB |\n"
    return table


def kernel_figures(bench):
    """What the programs that measure kernels alone print, as they print it."""
    gemms = [("gemm_benchmark", "1", "5", "cpu", isa[0]) for isa in bench.sets]
    for name, *options in (*gemms, *KERNELS):
        isa = options[-1] if name == "gemm_benchmark" else bench.sets[-1][0]
        environment = bench.environment(
            next(found for found in bench.sets if found[0] == isa)
        )
        program = [bench.build / "bin" / name, *options]
        figures = run(program, env=environment)[0].strip()
        print(figures, flush=True)
        yield f"`{' '.join([name, *options])}`:\n\n```\n{figures}\n```\n"


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = next(
        line.split(":")[1].strip()
        for line in text.splitlines()
        if line.startswith("model name")
    )
    return f"{os.cpu_count()} cores of {model}"


def write_document(text):
    """Replaces what stands between the two marks of docs/benchmarks.md."""
    path = ROOT / "docs/benchmarks.md"
    begin, end = "<!-- measured -->", "<!-- end -->"
    before, rest = path.read_text().split(begin)
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}")


def main():
    arguments = parse_arguments()
    bench = Bench(arguments)
    compiled = compile_table(bench)
    print(compiled, flush=True)
    trained = training_table(bench, arguments.turns)
    kernels = "\n".join(kernel_figures(bench))
    text = (
        f"On {machine()}, {time.strftime('%Y-%m-%d')}, against PyTorch "
        f"{bench.torch} limited to the same instruction set. The peak is measured in "
        f"the same run.\n\n{trained}\n{compiled}\n{kernels}"
    )
    print(text)
    if arguments.write:
        write_document(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
