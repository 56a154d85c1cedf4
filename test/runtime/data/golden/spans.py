#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes spans.txt: samples of corrupted spans as T5's recipe makes them (arXiv
1910.10683), restated with NumPy's arrays: a mask over the tokens is drawn, and
both sequences are what it leaves. Run it in this folder."""

import numpy as np


def rounded(x):
    return max(int(round(x)), 1)


def lengths(tokens, density, mean):
    noise = min(rounded(tokens * density), tokens - 1)
    spans = min(rounded(noise / mean), noise, tokens - noise)
    return noise, spans


def fitting(encoder, density, mean):
    """Tokens one after another, until the encoder's sequence is too long."""

    def size(tokens):
        noise, spans = lengths(tokens, density, mean)
        return tokens - noise + spans + 1

    tokens = 2
    while size(tokens + 1) <= encoder:
        tokens += 1
    return tokens


def cut(items, segments, random):
    begins = np.arange(items - 1) < segments - 1
    random.shuffle(begins)
    number = np.cumsum(np.concatenate([[False], begins]))
    return np.bincount(number, minlength=segments)


def mask_of(tokens, density, mean, random):
    noise, spans = lengths(tokens, density, mean)
    of_noise = cut(noise, spans, random)
    of_rest = cut(tokens - noise, spans, random)
    both = np.stack([of_rest, of_noise], 1).reshape(-1)
    return np.repeat(np.tile([False, True], spans), both)


def replaced(tokens, mask, first):
    """The tokens where `mask` is off, and a sentinel for each run of where it is
    on; sentinels count down."""
    begins = mask & ~np.concatenate([[False], mask[:-1]])
    sentinels = first + 1 - np.cumsum(begins)
    return np.where(begins, sentinels, tokens)[begins | ~mask]


def sample(tokens, density, mean, first, end, seed):
    mask = mask_of(len(tokens), density, mean, np.random.RandomState(seed))
    return [
        np.append(replaced(tokens, mask, first), end),
        np.append(replaced(tokens, ~mask, first), end),
    ]


CASES = [
    # encoder, density * 100, mean length * 100, seed
    (4, 15, 300, 1),
    (16, 15, 300, 3),
    (33, 25, 200, 7),
    (64, 50, 300, 11),
    (114, 15, 100, 1234),
    (512, 15, 300, 42),
]


def line(out, name, values):
    out.write(name + "".join(f" {int(v)}" for v in values) + "\n")


if __name__ == "__main__":
    with open("spans.txt", "w") as out:
        for encoder, density, mean, seed in CASES:
            line(out, "case", [encoder, density, mean, seed])
            share, length = density / 100, mean / 100
            tokens = fitting(encoder, share, length)
            line(out, "lengths", [tokens, *lengths(tokens, share, length)])
            for number in range(3):
                text = (np.arange(tokens) * 7 + number) % 600 + 100
                both = sample(text, share, length, 999, 1, seed + number)
                line(out, "encoder", both[0])
                line(out, "labels", both[1])
