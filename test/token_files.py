# Part of Hocket, under the Apache License v2.0.
"""Writes token files as `hocket data prepare` does: Megatron's indexed datasets
of 16-bit tokens, one sequence a document."""

import itertools
import pathlib
import struct

UINT16 = 8  # the format's number for it


def write(prefix, documents):
    """PREFIX.bin and PREFIX.idx; makes their folder."""
    prefix = pathlib.Path(prefix)
    prefix.parent.mkdir(parents=True, exist_ok=True)
    lengths = [len(document) for document in documents]
    count, total = len(lengths), sum(lengths)
    tokens = itertools.chain.from_iterable(documents)
    pathlib.Path(f"{prefix}.bin").write_bytes(struct.pack(f"<{total}H", *tokens))
    offsets = itertools.accumulate(lengths[:-1], initial=0)
    index = struct.pack("<QBQQ", 1, UINT16, count, count + 1)
    index += struct.pack(f"<{count}i", *lengths)
    index += struct.pack(f"<{count}q", *(2 * offset for offset in offsets))
    index += struct.pack(f"<{count + 1}q", *range(count + 1))
    pathlib.Path(f"{prefix}.idx").write_bytes(b"MMIDIDX\0\0" + index)
