# Part of Hocket, under the Apache License v2.0.
"""What `hocket data neighbors` writes and reads, without the code under test."""

import struct

PAGE, CONTENT, HEAD = 4096, 4092, 88
NONE = 2**32 - 1


def read_rows(path, layout):
    """The rows of a table of pages, each as struct.unpack(`layout`) has it."""
    pages = path.read_bytes()
    content = b"".join(pages[at : at + CONTENT] for at in range(0, len(pages), PAGE))
    row_bytes, rows = struct.unpack_from("<2Q", content, 72)
    assert row_bytes == struct.calcsize(layout), (row_bytes, layout)
    return [struct.unpack_from(layout, content, HEAD + i * row_bytes) for i in range(rows)]


def write_npy(path, rows):
    shape = (len(rows), len(rows[0]))
    header = str({"descr": "<f4", "fortran_order": False, "shape": shape})
    header = header.ljust(117) + "\n"
    values = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
    path.write_bytes(head + header.encode() + values)


def read_tokens(prefix):
    """The documents of a pair of token files of u16."""
    index = prefix.with_suffix(".idx").read_bytes()
    tokens = prefix.with_suffix(".bin").read_bytes()
    (count,) = struct.unpack_from("<Q", index, 18)
    lengths = struct.unpack_from(f"<{count}i", index, 34)
    begins = struct.unpack_from(f"<{count}q", index, 34 + 4 * count)
    return [
        list(struct.unpack_from(f"<{length}H", tokens, begin))
        for length, begin in zip(lengths, begins, strict=True)
    ]


def cut(tokens, length):
    return [tokens[at : at + length] for at in range(0, len(tokens), length)]
