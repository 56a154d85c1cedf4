#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes rampup.txt: the batch of every step as Megatron-LM's own calculator has
it. Needs an unpacked wheel of megatron-core (golden numbers are of 0.16.1); run
it in this folder:

    pip download --no-deps megatron-core==0.16.1
    unzip megatron_core-*.whl -d WHEEL
    python3 rampup.py WHEEL

A line has start, increment, samples and the global batch, then, until the batch
is whole, each new size with the samples that were consumed before it.
"""

import importlib.util
import sys

CASES = [
    # start, increment, samples, global batch
    (2, 2, 30, 8),
    (1, 1, 1, 2),
    (16, 16, 100, 48),
    (32, 32, 65536, 1536),
    (3, 7, 1000, 31),
    (5, 1, 777, 12),
    (256, 256, 100000, 4096),
    (8, 8, 3, 64),
    (1, 3, 99991, 100),
    (12, 36, 5859375, 480),
]


def load_calculator(wheel):
    spec = importlib.util.spec_from_file_location(
        "calculator", wheel + "/megatron/core/num_microbatches_calculator.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RampupBatchsizeNumMicroBatchesCalculator


def changes(calculator, start, increment, samples, whole):
    steps = calculator(whole, 1, 1, False, 1, start, increment, samples)
    consumed, last, found = 0, None, []
    while last != whole:
        steps.update(consumed, True)
        size = steps.get_current_global_batch_size()
        if size != last:
            found += [size, consumed]
            last = size
        consumed += size
    return found


def main():
    calculator = load_calculator(sys.argv[1])
    with open("rampup.txt", "w") as out:
        for case in CASES:
            numbers = list(case) + changes(calculator, *case)
            out.write(" ".join(map(str, numbers)) + "\n")


main()
