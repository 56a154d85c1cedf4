#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes whole_words.txt: texts whose words were cut into pieces, and what samples of
masked tokens are made of them where whole words are masked (BERT's
do_whole_word_mask), by a plain loop over NumPy's draws. Run it in this folder:

    python3 whole_words.py
"""

import math

import numpy as np

CLS, SEP, MASK, PAD, VOCABULARY = 1, 2, 3, 0, 1000
BEGINS, CONTINUES = 100, 500  # The first token that begins a word, and continues one.


def line(out, name, values):
    out.write(name + "".join(f" {int(v)}" for v in values) + "\n")


def pieces_of(words):
    """The words of a text, each of so many pieces, one string a piece."""
    return [
        ("##" if piece else "") + str((17 * word + 5 * piece) % 400)
        for word, pieces in enumerate(words)
        for piece in range(pieces)
    ]


def token_of(piece):
    return CONTINUES + int(piece[2:]) if piece.startswith("##") else BEGINS + int(piece)


def sample_of(pieces, longest, probability, seed):
    """The tokens that are seen, and the labels, of a sample without padding."""
    random = np.random.RandomState(seed)
    text = list(pieces)
    while len(text) > longest:  # Which end goes is drawn; both are pieces.
        text.pop(0 if random.random_sample() < 0.5 else -1)
    seen = [CLS] + [token_of(piece) for piece in text] + [SEP]
    words = []
    for place, piece in enumerate(text, start=1):
        if words and piece.startswith("##"):
            words[-1].append(place)
        else:
            words.append([place])
    order = np.arange(len(words))
    random.shuffle(order)
    count = max(1, min(round(len(seen) * probability), math.ceil(probability * longest)))
    chosen = []
    for word in order:
        if sum(map(len, chosen)) + len(words[word]) <= count:
            chosen.append(words[word])
    labels = [-1] * len(seen)
    for place in (place for word in chosen or [words[order[0]]] for place in word):
        labels[place] = seen[place]
        draw = random.random_sample()
        if draw < 0.8:
            seen[place] = MASK
        elif draw < 0.8 + 0.1:
            seen[place] = random.randint(0, VOCABULARY)
    return seen, labels


CASES = [
    # pieces of each word, sequence length, probability in percent, seed
    ([1 + w * w % 4 for w in range(24)], 80, 15, 7),
    ([1] * 30, 40, 15, 1234),
    ([3, 1, 2, 5, 1, 1, 4, 2, 2, 1, 6, 1], 20, 30, 5),  # Cut at both ends.
    ([4, 5, 4], 24, 15, 99),  # No word is short enough: one is masked whole.
    ([1, 9, 1, 9, 1, 2], 40, 50, 4294967),
]


def main():
    with open("whole_words.txt", "w") as out:
        for words, length, percent, seed in CASES:
            pieces = pieces_of(words)
            line(out, "text", map(token_of, pieces))
            line(out, "options", [length, percent, seed])
            for number in range(12):
                seen, labels = sample_of(pieces, length - 3, percent / 100, seed + number)
                line(out, "tokens", seen)
                line(out, "labels", labels)


main()
