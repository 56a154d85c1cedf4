#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes the same tokens with `hocket generate` and with transformers, in turns.

    beside_transformers.py HOCKET RUN TOKENIZER [--tokens 64] [--rounds 3]
                           [--rows 1,8]

RUN is a run or a checkpoint of a GPT-2; it is exported to a folder, which
transformers reads. transformers writes as it is (eager), and through torch.compile
with its static cache. Prints the tokens a second of each, the medians of all rounds,
and of Hocket's the share of the faster of the two. TOKENIZER is GPT-2's: the prompt is
nine ids of it. The time is that of the whole text, the prompt's pass included. Needs
PyTorch and transformers: run it with a Python that has them.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TEXT = "Once upon a time there was a king who"
PROMPT = [7454, 2402, 257, 640, 612, 373, 257, 5822, 508]


def write_with_transformers(folder, precision, rows, tokens, compiled):
    """A generator of seconds; what is compiled is compiled before the first."""
    import torch
    import transformers

    torch.set_num_threads(os.cpu_count())
    dtype = {"FP32": torch.float32, "BF16": torch.bfloat16}[precision]
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    model.eval()
    if compiled:
        model.forward = torch.compile(model.forward, dynamic=False)
    ids = torch.tensor([PROMPT] * rows)
    # Of one shape in every call, so that nothing is compiled again.
    cache = "static" if compiled else None

    def write():
        with torch.no_grad():
            return model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens,
                min_new_tokens=tokens, do_sample=False, pad_token_id=0,
                cache_implementation=cache, disable_compile=True,
            )

    for _ in range(2):
        write()
    while True:
        begin = time.monotonic()
        text = write()
        seconds = time.monotonic() - begin
        assert text.shape == (rows, len(PROMPT) + tokens)
        yield seconds


def write_with_hocket(arguments, precision, rows, model):
    folder = os.path.dirname(model)
    prompts = os.path.join(folder, "prompts.jsonl")
    with open(prompts, "w") as out:
        for _ in range(rows):
            out.write(json.dumps({"prompt": TEXT}) + "\n")
    command = [
        arguments.hocket, "generate", "--load", arguments.run, "--prompts", prompts,
        "--output", os.path.join(folder, "texts.jsonl"), "--greedy", "--ignore-eos",
        "--tokens", str(arguments.tokens), "--tokenizer", arguments.tokenizer,
    ]
    for field, value in (("precision", precision), ("micro_batch_size", rows),
                         ("global_batch_size", rows), ("sequence_length", 512)):
        command += ["--set", f"training.{field}={value}"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    found = re.search(r"tokens in .*, ([\d,.]+) tokens/s", run.stdout + run.stderr)
    return float(found.group(1).replace(",", ""))


def measure(arguments, folder, precision, rows):
    tokens = rows * arguments.tokens
    others = {
        name: write_with_transformers(folder, precision, rows, arguments.tokens,
                                      name == "compiled")
        for name in ("eager", "compiled")
    }
    rates = {"hocket": [], "eager": [], "compiled": []}
    for _ in range(arguments.rounds):
        rates["hocket"].append(write_with_hocket(arguments, precision, rows, folder))
        for name, seconds in others.items():
            rates[name].append(tokens / next(seconds))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    best = max(medians["eager"], medians["compiled"])
    print(f"{precision} {rows} rows: hocket {medians['hocket']:.1f} tokens/s, "
          f"transformers {medians['eager']:.1f} eager, {medians['compiled']:.1f} "
          f"compiled; {medians['hocket'] / best:.2f} of the faster", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hocket")
    parser.add_argument("run")
    parser.add_argument("tokenizer")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", default="1,8")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model")
        subprocess.run([arguments.hocket, "checkpoint", "export", arguments.run,
                        "--output", model], check=True, stdout=subprocess.DEVNULL)
        for precision in ("FP32", "BF16"):
            for rows in arguments.rows.split(","):
                measure(arguments, model, precision, int(rows))


main()
