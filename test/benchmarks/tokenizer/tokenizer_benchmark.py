#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Encoding English on one core, beside Hugging Face's `tokenizers`, in turns.

    pip install tokenizers
    python3 tokenizer_benchmark.py VOCABULARY CORPUS.txt [--turns 5]

VOCABULARY is a folder with vocab.json and merges.txt, such as GPT-2's. The same
text without white space and random letters come after it. Hocket's time includes
writing the numbers as text; `tokenizers` is given the text in documents of 4,000
characters, which it is fastest with, and keeps its numbers in memory.
"""

import argparse
import os
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
MEGABYTES = 10


def texts(corpus):
    """The text, repeated, the same without spaces, and random letters."""
    size = MEGABYTES * 1_000_000
    english = (corpus * (size // len(corpus) + 1))[:size]
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=size)
    return {
        "English": english,
        "without white space": re.sub(r"\s", "", english),
        "random letters": "".join(letters),
    }


def ours(path, vocabulary, out):
    command = [BUILD / "bin/hocket", "tokenizer", "encode", path, "-o", out]
    command += ["--tokenizer", vocabulary]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(re.search(r"([0-9.]+) MB/s", done.stdout).group(1))


def theirs(tokenizer, text):
    documents = [text[i : i + 4000] for i in range(0, len(text), 4000)]
    begin = time.perf_counter()
    for document in documents:
        tokenizer.encode(document, add_special_tokens=False)
    return len(text.encode()) / (time.perf_counter() - begin) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabulary", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="Hocket without the other")
    arguments = parser.parse_args()
    tokenizer = None
    if not arguments.alone:
        from tokenizers import Tokenizer, models, pre_tokenizers

        files = [str(arguments.vocabulary / name) for name in ("vocab.json", "merges.txt")]
        tokenizer = Tokenizer(models.BPE.from_file(*files))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    print("| text | Hocket MB/s | tokenizers MB/s | ratio |\n|---|---|---|---|")
    corpus = arguments.corpus.read_text(encoding="utf-8", errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "text.txt", pathlib.Path(folder) / "out.ids"
        for name, text in texts(corpus).items():
            path.write_text(text)
            pairs = []
            for _ in range(arguments.turns):
                other = theirs(tokenizer, text[:2_000_000]) if tokenizer else float("nan")
                pairs.append((ours(path, arguments.vocabulary, out), other))
            mine, other = (statistics.median(column) for column in zip(*pairs))
            print(f"| {name} | {mine:.1f} | {other:.1f} | {mine / other:.1f} |")


if __name__ == "__main__":
    main()
