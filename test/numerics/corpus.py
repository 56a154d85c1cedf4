# Part of Hocket, under the Apache License v2.0.
"""A small corpus as Megatron token files, the same on every machine.

Each token is a fixed function of the one before it most of the time and drawn
at random otherwise, so that there is something to learn.
"""

import array
import struct

DOCUMENTS, LONGEST = 60, 120


def draws(seed):
    """Numbers in [0, 2**31), by Knuth's linear congruence."""
    state = seed
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield state >> 33


def documents(vocabulary, seed=7):
    random = draws(seed)
    for _ in range(DOCUMENTS):
        token, document = next(random) % vocabulary, []
        for _ in range(LONGEST // 3 + next(random) % LONGEST):
            document.append(token)
            follows = next(random) % 4 != 0
            token = (5 * token + 3 if follows else next(random)) % vocabulary
        yield document


def write(prefix, vocabulary):
    """Writes PREFIX.bin and PREFIX.idx with one sequence a document."""
    lengths, tokens = [], array.array("H")
    for document in documents(vocabulary):
        lengths.append(len(document))
        tokens.extend(document)
    offsets = [2 * sum(lengths[:i]) for i in range(len(lengths))]
    count = len(lengths)
    with open(f"{prefix}.bin", "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))
    with open(f"{prefix}.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1))
        file.write(struct.pack(f"<{count}i", *lengths))
        file.write(struct.pack(f"<{count}q", *offsets))
        file.write(struct.pack(f"<{count + 1}q", *range(count + 1)))
