#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes wikitext.json beside it: texts, and what WikiText's rules make of them.

The rules are those that Megatron-LM applies before it measures perplexity
(tasks/zeroshot_gpt/detokenizer.py), stated here once more for Python's regular
expressions, which also say what white space is. The texts are cut at random out
of what the rules are about, so that they overlap in every way.
"""

import json
import pathlib
import random
import re

BEFORE = [
    ("s '", "s'"), (" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."),
    (" : ", ": "), (" ; ", "; "), (" . ", ". "), (" ! ", "! "),
    (" ? ", "? "), (" , ", ", "),
]  # fmt: skip
PAIRS = [
    (r"\(\s*([^\)]*?)\s*\)", r"(\1)"),
    (r"\[\s*([^\]]*?)\s*\]", r"[\1]"),
    (r"{\s*([^}]*?)\s*}", r"{\1}"),
    (r"\"\s*([^\"]*?)\s*\"", r'"\1"'),
    (r"'\s*([^']*?)\s*'", r"'\1'"),
]
BEHIND = [
    ("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" \u00b0 ", "\u00b0"),
    (" \n", "\n"), ("\n ", "\n"), (" N ", " 1 "), (" 's", "'s"),
]  # fmt: skip
PARTS = [
    "s", " ", " ", "'", "@-@", "@,@", "@.@", ":", ";", ".", "!", "?", ",", "(",
    ")", "[", "]", "{", "}", '"', "=", "\u00b0", "\n", "N", "'s", "word", "\u00a0",
    "\u2003", "\u3000", "\x1c", "\x85", "\u00e9", "12", "<unk>", "\t", "\u1680",
]  # fmt: skip


def join(text):
    for old, new in BEFORE:
        text = text.replace(old, new)
    for pattern, new in PAIRS:
        text = re.sub(pattern, new, text)
    for old, new in BEHIND:
        text = text.replace(old, new)
    return text


def main():
    draw = random.Random(20261124)
    texts = [
        "",
        " \n = Robert Boulter = \n \n He had a role in the 2006 play ( Citizenship"
        " ) , written by Mark Ravenhill . \n",
        "the team 's 1 @,@ 000 wins , 3 @.@ 5 per year ; \" so @-@ called \" .",
    ]
    texts += [
        "".join(draw.choice(PARTS) for _ in range(draw.randrange(60)))
        for _ in range(400)
    ]
    cases = [
        {"text": text, "joined": join(text),
         "words": len(text.strip().split(" ")) if text.strip() else 0}
        for text in texts
    ]  # fmt: skip
    path = pathlib.Path(__file__).parent / "wikitext.json"
    path.write_text(json.dumps(cases, indent=0) + "\n")


main()
