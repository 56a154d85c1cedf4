#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes the golden numbers of the data tests: random_state.txt (NumPy's own
RandomState) and sample_index.txt (a slow and separate statement of the sample
order). Needs NumPy; run it in this folder."""

import numpy as np


def line(out, name, values):
    out.write(name + "".join(f" {int(v)}" for v in values) + "\n")


def random_state():
    with open("random_state.txt", "w") as out:
        for seed in (0, 1, 1234, 4294967295):
            line(out, "seed", [seed])
            raw = np.random.RandomState(seed)
            line(out, "raw", raw.randint(0, 2**32, size=8, dtype=np.uint32))
            for size in (1, 2, 3, 10, 33, 700):
                state = np.random.RandomState(seed)
                order = np.arange(size, dtype=np.uint32)
                state.shuffle(order)
                line(out, "shuffle", order)
            # Two shuffles of one generator: the second continues the stream.
            state = np.random.RandomState(seed)
            state.shuffle(np.arange(20))
            order = np.arange(12)
            state.shuffle(order)
            line(out, "second", order)


def epochs_for(tokens, samples, length):
    epochs = 1
    while epochs * tokens < samples * length + 1:
        epochs += 1
    return epochs


def ordered(parts, state):
    """Shuffles each part in turn and concatenates."""
    done = []
    for part in parts:
        part = np.array(part, dtype=np.int64)
        state.shuffle(part)
        done += part.tolist()
    return done


def sample_index(lengths, begin, end, samples, length, seed):
    used = list(range(begin, end))
    tokens = sum(lengths[i] for i in used)
    epochs = epochs_for(tokens, samples, length)
    count = (epochs * tokens - 1) // length
    separate, before = False, count
    if epochs > 1:
        first = ((epochs - 1) * tokens - 1) // length
        separate = samples - first < int(0.80 * ((tokens - 1) // length))
        if separate:
            before = first
    state = np.random.RandomState(seed)
    parts = [used * (epochs - 1), used] if separate else [used * epochs]
    documents = ordered(parts, state)
    # The whole text, one entry a token.
    text = [(p, o) for p, d in enumerate(documents) for o in range(lengths[d])]
    starts = [text[i * length] for i in range(count + 1)]
    parts = [range(before), range(before, count)] if separate else [range(count)]
    shuffle = ordered(parts, state)
    return epochs, separate, documents, starts, shuffle


CASES = [
    # lengths, begin, end, samples, length, seed
    ([5, 3, 7, 4], 0, 4, 0, 4, 1234),
    ([5, 3, 7, 4], 0, 4, 4, 4, 1234),
    ([5, 3, 7, 4], 0, 4, 5, 4, 1234),  # second epoch barely used: separate
    ([5, 3, 7, 4], 0, 4, 7, 4, 1234),  # second epoch well used: together
    ([5, 3, 7, 4], 1, 3, 9, 3, 7),  # a split
    ([1, 0, 2, 0, 0, 6, 1, 1, 30], 0, 9, 17, 5, 42),  # empty documents
    ([3], 0, 1, 11, 8, 5),  # samples longer than the text
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 41, 8, 4294967295),
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 100, 8, 0),
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 11, 8, 0),  # exactly one epoch
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 20, 8, 3),  # 9 of 11: >= 80 %
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 18, 8, 3),  # 7 of 11: < 80 %
    ([9, 11, 2, 17, 8, 1, 23, 4, 4, 12], 0, 10, 19, 8, 3),  # 8 of 11: int() = 8
]


def sample_indices():
    with open("sample_index.txt", "w") as out:
        for lengths, begin, end, samples, length, seed in CASES:
            epochs, separate, documents, starts, shuffle = sample_index(
                lengths, begin, end, samples, length, seed
            )
            line(out, "case", [begin, end, samples, length, seed])
            line(out, "lengths", lengths)
            line(out, "plan", [epochs, separate])
            line(out, "documents", documents)
            line(out, "starts", [v for start in starts for v in start])
            line(out, "shuffle", shuffle)


random_state()
sample_indices()
