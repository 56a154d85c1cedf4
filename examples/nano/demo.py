#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Trains a tokenizer and a small GPT on real text and says whether it learned.

    python3 examples/nano/demo.py [--build build] [--steps N]
    python3 /usr/share/hocket/examples/nano/demo.py      (where it is installed)

It has learned if it predicts held-out text better, by three hundredths at
least, than any predictor that sees three bytes could: see conditional_entropy.
Then it writes a paragraph.
Exit status: 0 if so; 130 if it was interrupted.
"""

import argparse
import json
import math
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import text  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ORDER, MARGIN = 3, 0.97
VOCABULARY, STEPS = 2048, 1400
PROMPT = "And it came to pass"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        help="a build folder; without it and beside none, the "
                        "installed hocket trains in ./hocket-demo")  # fmt: skip
    parser.add_argument("--steps", type=int, help="fewer than usual", default=STEPS)
    arguments = parser.parse_args()
    build = arguments.build or HERE.parents[1] / "build"
    arguments.hocket, arguments.folder = build / "bin/hocket", build / "demo"
    if not arguments.build and not arguments.hocket.exists():
        found = shutil.which("hocket") or HERE.parents[3] / "bin/hocket"
        arguments.hocket = pathlib.Path(found)
        arguments.folder = pathlib.Path("hocket-demo")
    return arguments


def shown(path):
    """A path as a person would type it."""
    path, here = pathlib.Path(path).resolve(), pathlib.Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def run(*command, output=None):
    """Shows a command and runs it, and returns what it printed if `output` is
    subprocess.PIPE; its failure ends the demo."""
    command = [
        str(shown(part)) if isinstance(part, pathlib.Path) else str(part)
        for part in command
    ]
    print("\n$ " + shlex.join(command), flush=True)
    interrupts = []  # The command has them, too, and may save.
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    done = subprocess.run(command, check=False, stdout=output, text=True)
    signal.signal(signal.SIGINT, before)
    if interrupts:
        print("\nstopped; the demo begins anew when it is run again")
        sys.exit(130)
    if done.returncode:
        sys.exit(f"the command failed with exit status {done.returncode}")
    return done.stdout


def write_text(folder):
    """Writes the documents; returns their order-3 entropy in bits."""
    training, held_out = text.documents()
    text.write_json_lines(folder / "kjv.jsonl", training + held_out)
    text.write_json_lines(folder / "training.jsonl", training)
    (folder / "held-out.txt").write_text("\n".join(held_out))
    data = "".join(training + held_out).encode()
    print(
        f"The King James Bible: {len(data):,} bytes in "
        f"{len(training) + len(held_out):,} chapters, of which "
        f"{len(held_out)} are held out."
    )
    return text.conditional_entropy(data, ORDER)


def train(hocket, folder, steps):
    """Trains a tokenizer on the training text, and a model on its tokens."""
    spec = HERE / "spec.textproto"
    program, prefix, tokenizer = folder / "nano.hkx", folder / "kjv", folder / "bpe"
    run(hocket, "tokenizer", "train", folder / "training.jsonl",
        "--vocab-size", VOCABULARY, "-o", tokenizer)  # fmt: skip
    run(hocket, "data", "prepare", folder / "kjv.jsonl", "-o", prefix,
        "--tokenizer", tokenizer, "--append-eod")  # fmt: skip
    run(hocket, "compile", spec, "--set", f"model.vocab_size={VOCABULARY}",
        "--set", f"training.steps={steps}", "-o", program)  # fmt: skip
    print("\nThe first line of training says how long it takes on this machine: 'time left'.")
    run(hocket, "train", program, "--data", prefix, "--save",
        folder / "run", "--log", folder / "log.jsonl")  # fmt: skip


def ask(hocket, folder):
    """Has the model write, and returns what it makes of the held-out text."""
    of_run = ["--load", folder / "run", "--tokenizer", folder / "bpe"]
    measured = run(hocket, "eval", "perplexity", *of_run, "--data",
                   folder / "held-out.txt", "--json", output=subprocess.PIPE)  # fmt: skip
    run(hocket, "generate", *of_run, "--prompt", PROMPT, "--tokens", 120,
        "--temperature", 0.8, "--top-k", 40)  # fmt: skip
    return json.loads(measured)


def verdict(measured, size, entropy):
    """Prints both figures side by side; whether it learned."""
    loss = -measured["log_probability"] / size
    bits = loss / math.log(2)
    learned = bits < MARGIN * entropy
    print(f"""
                                       bits a byte   nats a byte
  held-out text, as the GPT sees it       {bits:7.4f}       {loss:7.4f}
  order-{ORDER} entropy of the text            {entropy:7.4f}       {entropy * math.log(2):7.4f}

(Order-{ORDER} entropy: of a byte given the {ORDER} before it, from the counts of the
whole text.) Of the {measured["words"]:,} words that are held out, the perplexity
is {measured["word_perplexity"]:.1f}.
""")
    print("It learned." if learned else "It did not learn.", flush=True)
    return learned


def main():
    arguments = parse_arguments()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entropy = write_text(folder)
    start = time.monotonic()
    hocket = arguments.hocket.resolve()
    train(hocket, folder, arguments.steps)
    print(f"\nCompiled and trained in {time.monotonic() - start:.0f} s.")
    measured = ask(hocket, folder)
    size = (folder / "held-out.txt").stat().st_size
    return 0 if verdict(measured, size, entropy) else 1


if __name__ == "__main__":
    sys.exit(main())
