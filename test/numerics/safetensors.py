# Part of Hocket, under the Apache License v2.0.
"""Reads safetensors files of f32 and bf16, and writes those of f32, with the standard
library alone."""

import array
import json
import struct
import sys

assert sys.byteorder == "little"


def read(path):
    """name -> (shape, array of floats)."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] not in ("F32", "BF16"):
            raise ValueError(f"{path}: {name} is {entry['dtype']}, expected F32 or BF16")
        begin, end = (8 + length + at for at in entry["data_offsets"])
        raw = data[begin:end]
        if entry["dtype"] == "BF16":  # the upper halves of f32
            wide = array.array("H", bytes(2 * len(raw)))
            wide[1::2] = array.array("H", raw)
            raw = wide.tobytes()
        tensors[name] = entry["shape"], array.array("f", raw)
    return tensors


def write(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(tensors):
        shape, values = tensors[name]
        raw = array.array("f", values).tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {
            "dtype": "F32",
            "shape": list(shape),
            "data_offsets": offsets,
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
