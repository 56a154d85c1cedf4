# Part of Hocket, under the Apache License v2.0.
"""A real English text from a Debian package, and how predictable it is.

The text is the King James Bible as the package bible-kjv prints it, without
the references: a verse a line, a chapter a document. Every twentieth chapter
is moved to the end, where the validation split is, so that what is held out is
spread evenly over the books.
"""

import collections
import json
import math
import re
import subprocess

EVERYTHING = "gen1:1-rev22:21"
HELD_OUT = 20  # one chapter in
VERSE = re.compile(r"(\S+?\d+):\d+ (.*)")


def chapters():
    """The text of every chapter, in order."""
    done = subprocess.run(
        ["bible", "-f", EVERYTHING],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    verses = {}
    for line in done.stdout.splitlines():
        if match := VERSE.fullmatch(line):
            verses.setdefault(match[1], []).append(match[2])
    return ["\n".join(lines) + "\n" for lines in verses.values()]


def documents():
    """(what is trained on, what is held out), as lists of texts."""
    training, held_out = [], []
    for number, chapter in enumerate(chapters(), 1):
        (held_out if number % HELD_OUT == 0 else training).append(chapter)
    return training, held_out


def write_json_lines(path, texts):
    with open(path, "w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")


def conditional_entropy(data, order):
    """H(next byte | the `order` bytes before it), in bits, of `data` itself.

    From the counts c(context, byte) and c(context) over all of `data`:
    -sum c(context, byte) / n * log2(c(context, byte) / c(context)). It is what
    the best predictor that sees `order` bytes would reach had it seen this very
    text before: no such predictor does better on it.
    """
    contexts, pairs = collections.Counter(), collections.Counter()
    for end in range(order, len(data)):
        contexts[data[end - order : end]] += 1
        pairs[data[end - order : end + 1]] += 1
    total = sum(pairs.values())
    bits = sum(c * math.log2(c / contexts[p[:-1]]) for p, c in pairs.items())
    return -bits / total
