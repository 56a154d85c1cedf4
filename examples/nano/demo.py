#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Trains a small GPT on real text and says whether it learned.

    python3 examples/nano/demo.py [--build build] [--steps N]
    python3 /usr/share/hocket/examples/nano/demo.py      (where it is installed)

It has learned if it predicts held-out text better, by three hundredths at
least, than any predictor that sees three bytes could: see conditional_entropy.
Exit status: 0 if so; 130 if it was interrupted.
"""

import argparse
import json
import math
import pathlib
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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        help="a build folder; without it and beside none, the "
                        "installed hocket trains in ./hocket-demo")  # fmt: skip
    parser.add_argument("--steps", type=int, help="fewer than the spec's")
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


def run(*command):
    """Shows a command and runs it; its failure ends the demo."""
    command = [
        str(shown(part)) if isinstance(part, pathlib.Path) else str(part)
        for part in command
    ]
    print("\n$ " + " ".join(command), flush=True)
    interrupts = []  # The command has them, too, and may save.
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    status = subprocess.run(command, check=False).returncode
    signal.signal(signal.SIGINT, before)
    if interrupts:
        print("\nstopped; the demo begins anew when it is run again")
        sys.exit(130)
    if status:
        sys.exit(f"the command failed with exit status {status}")


def write_text(folder):
    """Writes the documents; returns their order-3 entropy in bits."""
    training, held_out = text.documents()
    text.write_json_lines(folder / "kjv.jsonl", training + held_out)
    data = "".join(training + held_out).encode()
    print(
        f"The King James Bible: {len(data):,} bytes in "
        f"{len(training) + len(held_out):,} chapters, of which "
        f"{len(held_out)} are held out."
    )
    return text.conditional_entropy(data, ORDER)


def train(hocket, folder, steps):
    """Compiles and trains; returns the log's lines."""
    spec = HERE / "spec.textproto"
    program, prefix, log = folder / "nano.hkx", folder / "kjv", folder / "log.jsonl"
    run(hocket, "data", "prepare", folder / "kjv.jsonl", "-o", prefix,
        "--tokenizer", "byte", "--append-eod")  # fmt: skip
    run(hocket, "compile", spec, "-o", program)
    options = ["--steps", steps] if steps else []
    print("\nThe first line of training says how long it takes on this machine: 'time left'.")
    run(hocket, "train", program, "--data", prefix, "--save",
        folder / "checkpoint", "--log", log, *options)  # fmt: skip
    return [json.loads(line) for line in log.read_text().splitlines()]


def validation_loss(log):
    """The last one, in nats a token."""
    losses = [line["valid_loss"] for line in log if "valid_loss" in line]
    if not losses:
        sys.exit("the log holds no validation loss")
    return losses[-1]


def verdict(loss, entropy):
    """Prints both figures side by side; whether it learned."""
    bits = loss / math.log(2)
    learned = bits < MARGIN * entropy
    print(f"""
                                       bits a byte   nats a byte
  held-out text, as the GPT sees it       {bits:7.4f}       {loss:7.4f}
  order-{ORDER} entropy of the text            {entropy:7.4f}       {entropy * math.log(2):7.4f}

(Order-{ORDER} entropy: of a byte given the {ORDER} before it, from the counts of the
whole text. A document's end counts as a byte for the GPT.)
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
    log = train(arguments.hocket.resolve(), folder, arguments.steps)
    print(f"\nCompiled and trained in {time.monotonic() - start:.0f} s.")
    return 0 if verdict(validation_loss(log), entropy) else 1


if __name__ == "__main__":
    sys.exit(main())
