# Part of Hocket, under the Apache License v2.0.
"""Writes files as torch.save and torch.distributed.checkpoint do, with the
standard library alone. test/runtime/megatron/golden/generate.py holds them
against PyTorch."""

import collections
import dataclasses
import io
import pickle
import struct
import sys
import types
import zipfile

ALIGNMENT = 64  # of a storage in the file


def _module(name):
    """A module that pickles can name; nothing is imported."""
    return sys.modules.setdefault(name, types.ModuleType(name))


def _named(module, name, thing=None):
    """A class or a function that a pickle names `module.name`."""
    thing = thing or type(name, (), {})
    thing.__module__, thing.__name__, thing.__qualname__ = module, name, name
    setattr(_module(module), name, thing)
    return thing


for _name in ("torch", "torch._utils", "torch.distributed", "torch.distributed.checkpoint"):
    _module(_name)

FORMATS = {"float32": ("FloatStorage", "f"), "bfloat16": ("BFloat16Storage", "H"),
           "float16": ("HalfStorage", "e"), "float64": ("DoubleStorage", "d"),
           "int64": ("LongStorage", "q")}  # fmt: skip
STORAGES = {name: _named("torch", row[0]) for name, row in FORMATS.items()}
METADATA = "torch.distributed.checkpoint.metadata"


def _rebuild_tensor_v2(*_arguments):
    raise AssertionError("only named")


_named("torch._utils", "_rebuild_tensor_v2", _rebuild_tensor_v2)


class Storage:
    def __init__(self, dtype, raw, claimed=None):
        self.dtype, self.raw, self.claimed = dtype, raw, claimed


class Tensor:
    """`values` in the order of `shape`, or what the keywords say instead."""

    def __init__(self, shape, values, dtype="float32", **said):
        self.shape, self.dtype = tuple(shape), dtype
        self.values = list(values)
        self.storage = said.get("storage") or Storage(dtype, encode(self.values, dtype))
        self.offset = said.get("offset", 0)
        self.stride = said.get("stride", strides(self.shape))

    def __reduce__(self):
        arguments = (self.storage, self.offset, self.shape, self.stride, False,
                     collections.OrderedDict())  # fmt: skip
        return _rebuild_tensor_v2, arguments


def strides(shape):
    result, step = [], 1
    for size in reversed(shape):
        result.insert(0, step)
        step *= size
    return tuple(result)


def encode(values, dtype):
    if dtype == "bfloat16":  # Exact ones: the low half is cut.
        values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    return struct.pack(f"<{len(values)}{FORMATS[dtype][1]}", *values)


class _Pickler(pickle._Pickler):  # The C one finds classes by another way.
    def __init__(self, file, protocol, storages):
        super().__init__(file, protocol)
        self.storages = storages

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        if not any(storage is obj for storage in self.storages):
            self.storages.append(obj)
        key = next(i for i, storage in enumerate(self.storages) if storage is obj)
        size = struct.calcsize("<" + FORMATS[obj.dtype][1])
        count = len(obj.raw) // size if obj.claimed is None else obj.claimed
        return "storage", STORAGES[obj.dtype], str(key), "cpu", count


def archive(program, storages=(), order=b"little", compression=zipfile.ZIP_STORED, folder="archive"):
    """The bytes of a file with this data.pkl and these storages."""
    out = io.BytesIO()
    members = [("data.pkl", program), ("byteorder", order)]
    members += [(f"data/{i}", storage) for i, storage in enumerate(storages)]
    members += [("version", b"3\n")]
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in members:
            info = zipfile.ZipInfo(f"{folder}/{name}", (1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            # Room is made by an extra field, so that storages are aligned.
            begin = out.tell() + 30 + len(info.filename) + 4
            info.extra = b"FB" + struct.pack("<H", -begin % ALIGNMENT) + bytes(-begin % ALIGNMENT)
            file.writestr(info, content)
    return out.getvalue()


def save(value, protocol=2, **options):
    """The bytes of torch.save(value)."""
    program, storages = io.BytesIO(), []
    _Pickler(program, protocol, storages).dump(value)
    return archive(program.getvalue(), [storage.raw for storage in storages], **options)


# What torch.distributed.checkpoint says of its files.


class Size(tuple):
    def __reduce__(self):
        return Size, (tuple(self),)


_named("torch", "Size", Size)


def _dataclass(module, name, *fields):
    made = dataclasses.make_dataclass(name, fields, eq=False)
    return _named(module, name, made)


MetadataIndex = _dataclass(METADATA, "MetadataIndex", "fqn", "offset", "index")
ChunkStorageMetadata = _dataclass(METADATA, "ChunkStorageMetadata", "offsets", "sizes")
TensorStorageMetadata = _dataclass(METADATA, "TensorStorageMetadata", "properties", "size", "chunks")
Metadata = _dataclass(METADATA, "Metadata", "state_dict_metadata", "planner_data", "storage_data")
StorageInfo = _dataclass("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                         "relative_path", "offset", "length")  # fmt: skip


def save_distributed(folder, tensors, files=2):
    """`tensors`: name -> (global shape, [(offsets, Tensor)]). Shards go to
    `files` files in turn."""
    described, places, content = {}, {}, [b""] * files
    for name, (shape, shards) in tensors.items():
        chunks = []
        for offsets, tensor in shards:
            at, raw = len(places) % files, save(tensor)
            index = MetadataIndex(name, Size(offsets), len(chunks))
            places[index] = StorageInfo(f"__0_{at}.distcp", len(content[at]), len(raw))
            content[at] += raw
            chunks.append(ChunkStorageMetadata(Size(offsets), Size(tensor.shape)))
        described[name] = TensorStorageMetadata(None, Size(shape), chunks)
    for i, raw in enumerate(content):
        (folder / f"__0_{i}.distcp").write_bytes(raw)
    program = io.BytesIO()
    pickle._Pickler(program, 4).dump(Metadata(described, {}, places))
    (folder / ".metadata").write_bytes(program.getvalue())
