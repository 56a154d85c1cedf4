# Part of Hocket, under the Apache License v2.0.
"""Figures out of what program_times and training logs say."""

import re
import statistics

# Dense bf16, without sparsity, as NVIDIA states it.
PEAKS = {"H100 SXM": 989e12, "H100 80GB HBM3": 989e12, "H200": 989e12,
         "A100": 312e12}  # fmt: skip
WARM_UP = 5


def peak_of(device, stated=None):
    """FLOP/s, or None for a GPU whose peak is not known here."""
    if stated:
        return stated * 1e12
    return next((peak for name, peak in PEAKS.items() if name in device), None)


def median_seconds(log):
    """Of a training step, once it is warm."""
    counted = log[WARM_UP:] or log
    return statistics.median(line["seconds"] for line in counted)


def total(rows, field):
    return sum(row[field] * row["runs"] for row in rows)


def measured(rows, kind):
    return [row for row in rows if row.get("kind") == kind and "error" not in row]


def linear(rows):
    """(TFLOP/s, share of the plain GEMM's speed) of all GEMMs."""
    rows = measured(rows, "gemm")
    if not rows:
        return None
    seconds = total(rows, "seconds")
    return total(rows, "flops") / seconds / 1e12, total(rows, "plain_seconds") / seconds


def of_experts(rows):
    """[(op, TFLOP/s, share of the speed of one GEMM of as many rows)]"""
    ops = {row["op"] for row in measured(rows, "library") if "plain_seconds" in row}
    found = []
    for op in sorted(ops):
        of_op = [row for row in measured(rows, "library") if row["op"] == op]
        seconds = total(of_op, "seconds")
        found.append((op, total(of_op, "flops") / seconds / 1e12,
                      total(of_op, "plain_seconds") / seconds))  # fmt: skip
    return found


def attention_flops(row):
    """Two GEMMs forward and five backward, over the keys that are seen."""
    _, batch, sequence, heads, _, dim, causal, window = row["integers"][:8]
    seen = sequence * (sequence + 1) / 2 if causal else sequence * sequence
    if window and window < sequence:
        seen = window * sequence - window * (window - 1) / 2
    gemms = 2 if row["op"] == "attention_forward" else 5
    return gemms * 2 * batch * heads * dim * seen


def attention(rows, op):
    """[(sequence, head dim, causal, TFLOP/s)] of each shape."""
    return [
        (row["integers"][2], row["integers"][5], bool(row["integers"][6]),
         attention_flops(row) / row["seconds"] / 1e12)
        for row in measured(rows, "library")
        if row["op"] == op
    ]  # fmt: skip


MOVERS = (
    ("norms", "kernel", re.compile(r"(layer|rms)_norm")),
    ("cross-entropy", "library", re.compile(r"cross_entropy")),
    ("Adam", "kernel", re.compile(r"adamw?_")),
)


def bandwidth(times):
    """{name: (bytes/s, share of copying)} of what only moves data."""
    copy = times["copy"]["bytes"] / times["copy"]["seconds"]
    found = {"copy": (copy, 1.0)}
    for name, kind, pattern in MOVERS:
        rows = [row for row in measured(times["instructions"], kind)
                if pattern.search(row["name"])]  # fmt: skip
        field = "cold_seconds" if rows and "cold_seconds" in rows[0] else "seconds"
        seconds = total(rows, field) if rows else 0
        if seconds > 0:
            speed = total(rows, "bytes") / seconds
            found[name] = speed, speed / copy
    return found


def gaps(times, step_seconds):
    """The share of a step in which no instruction runs, if each takes as long
    as by itself."""
    rows = [row for row in times["instructions"] if "seconds" in row]
    return 1 - total(rows, "seconds") / step_seconds
