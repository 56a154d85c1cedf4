# Part of Hocket, under the Apache License v2.0.
"""Writes token files as `hocket data prepare` does: Megatron's indexed datasets
of 16-bit tokens, one sequence a document, or one a sentence."""

import itertools
import pathlib
import struct

UINT16 = 8  # the format's number for it


def write(prefix, documents):
    """PREFIX.bin and PREFIX.idx; makes their folder."""
    write_sentences(prefix, [[document] for document in documents])


def write_sentences(prefix, documents):
    """The same of documents that are lists of sentences."""
    prefix = pathlib.Path(prefix)
    prefix.parent.mkdir(parents=True, exist_ok=True)
    sentences = list(itertools.chain.from_iterable(documents))
    starts = list(itertools.accumulate(map(len, documents), initial=0))
    lengths = [len(sentence) for sentence in sentences]
    count, total = len(lengths), sum(lengths)
    tokens = itertools.chain.from_iterable(sentences)
    pathlib.Path(f"{prefix}.bin").write_bytes(struct.pack(f"<{total}H", *tokens))
    offsets = itertools.accumulate(lengths[:-1], initial=0)
    index = struct.pack("<QBQQ", 1, UINT16, count, len(starts))
    index += struct.pack(f"<{count}i", *lengths)
    index += struct.pack(f"<{count}q", *(2 * offset for offset in offsets))
    index += struct.pack(f"<{len(starts)}q", *starts)
    pathlib.Path(f"{prefix}.idx").write_bytes(b"MMIDIDX\0\0" + index)


def write_classes(prefix, names, labels, choices=False):
    """PREFIX.classes: of which of the classes each document is."""
    text = "".join(f"{name}\n" for name in names).encode()
    head = struct.pack(
        "<8sQQQQ", b"HKTCLSS1", len(labels), len(names), len(names) * choices, len(text)
    )
    body = struct.pack(f"<{len(labels)}H", *labels)
    pathlib.Path(f"{prefix}.classes").write_bytes(head + text + body)


def write_mask(prefix, learned, sequence, end):
    """PREFIX.mask of sequences of so many tokens, each with a list of whether its
    tokens are learned; `end` ends each conversation."""
    bits = list(itertools.chain.from_iterable(learned))
    head = struct.pack("<8sQQQQ", b"HKTMASK1", len(bits), sequence, end, sum(bits))
    body = bytearray((len(bits) + 7) // 8)
    for at, bit in enumerate(bits):
        body[at // 8] |= bool(bit) << at % 8
    pathlib.Path(f"{prefix}.mask").write_bytes(head + body)


def write_images(prefix, tokens, side, per_image, token, images, uses):
    """PREFIX.images of `side` x `side` pixels, bytes of red, green and blue each;
    `uses` lists the images of each document."""
    flat = list(itertools.chain.from_iterable(uses))
    starts = itertools.accumulate(map(len, uses), initial=0)
    numbers = (len(uses), tokens, side, per_image, token, max(map(len, uses)), len(images))
    head = struct.pack("<8s8Q", b"HKTIMGS1", *numbers, len(flat))
    places = struct.pack(f"<{len(uses) + 1}Q{len(flat)}I", *starts, *flat)
    pathlib.Path(f"{prefix}.images").write_bytes(head + b"".join(images) + places)
