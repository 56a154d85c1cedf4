# Part of Hocket, under the Apache License v2.0.
"""NVRTC from Python: machine code of a source, and what the assembler says of it.

What it made of a source is kept in <build>/machine_code, under the digest of all
that this depends on, until nobody has asked for it for a week.
"""

import concurrent.futures
import ctypes
import functools
import hashlib
import os
import pathlib
import re
import tempfile
import time
from dataclasses import dataclass

from machine_code import sass
from programs import BUILD, EMULATED, ROOT, has_nvrtc

LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12")
OPTIONS = ("--std=c++17", "--ptxas-options=-v")
KEPT = BUILD / "machine_code"
WEEK = 7 * 24 * 3600  # seconds


def is_there():
    """Whether Hocket finds an NVRTC that makes machine code."""
    emulated = os.environ.get("HOCKET_NVRTC") == EMULATED["HOCKET_NVRTC"]
    return not emulated and has_nvrtc()


@functools.cache
def library():
    name = os.environ.get("HOCKET_NVRTC")
    for candidate in [name] if name else LIBRARIES:
        try:
            found = ctypes.CDLL(candidate)
        except OSError:
            continue
        if "/" in candidate:  # Its other half is looked for by name alone.
            major, minor = ctypes.c_int(), ctypes.c_int()
            found.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            half = f"libnvrtc-builtins.so.{major.value}.{minor.value}"
            ctypes.CDLL(os.path.join(os.path.dirname(candidate), half))
        found.nvrtcGetErrorString.restype = ctypes.c_char_p
        return found
    raise OSError(f"no NVRTC: neither HOCKET_NVRTC nor any of {LIBRARIES} loads")


def architectures():
    """The numbers of those that it knows: 80, 90, 100."""
    count = ctypes.c_int()
    library().nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library().nvrtcGetSupportedArchs(numbers)
    return list(numbers)


def known(names):
    """Those of `names` that it compiles for: 12.8 is the first with sm_100a."""
    return [name for name in names if sass.number_of(name) in architectures()]


@functools.cache
def headers():
    """{name in includes: text} of what kernels include."""
    return {
        str(path.relative_to(ROOT)): path.read_text()
        for path in sorted((ROOT / "kernels/cuda").glob("*.cuh"))
    }


def strings(texts):
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


def result(program, what):
    """A text or an image: what nvrtcGet`what` gives."""
    size = ctypes.c_size_t()
    getattr(library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library(), f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


#===------------------------------------------------------------------------===#
# What is kept
#===------------------------------------------------------------------------===#


@functools.cache
def identity():
    """Of the files of the NVRTC that is loaded: names, sizes, times; empty if they
    are not known."""
    library()
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if "libnvrtc" in line}
    folders = {pathlib.Path(path).resolve().parent for path in paths}
    files = sorted(file for folder in folders for file in folder.glob("libnvrtc*"))
    stats = [(str(file), file.stat()) for file in files]
    return repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats] or "")


def place_of(text, arch):
    """Where it is kept what NVRTC makes of `text`."""
    parts = (identity(), arch, *OPTIONS, text, *headers(), *headers().values())
    return KEPT / hashlib.sha256(repr(parts).encode()).hexdigest()


def find(place):
    """The bytes kept there; None if there are none, or not those that were."""
    try:
        kept = place.read_bytes()
        os.utime(place)
    except OSError:
        return None
    digest, found = kept[:32], kept[32:]
    return found if hashlib.sha256(found).digest() == digest else None


def keep(place, found):
    """Whole or not at all."""
    place.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        file.write(hashlib.sha256(found).digest() + found)
    os.replace(file.name, place)


def forget():
    """What nobody has asked for lately."""
    for file in KEPT.glob("*"):
        if time.time() - file.stat().st_mtime > WEEK:
            file.unlink(missing_ok=True)


def compile_once(text, arch):
    """compile_source(), or what it came to before."""
    place = place_of(text, arch)
    found = find(place)
    if found is None:
        image, notes = compile_source(text, arch)
        found = notes.encode() + b"\0" + image
        keep(place, found)
    notes, image = found.split(b"\0", 1)
    return image, notes.decode()


#===------------------------------------------------------------------------===#
# Compiling
#===------------------------------------------------------------------------===#


def compile_source(text, arch):
    """(cubin, the assembler's notes); ValueError with the messages if it fails."""
    program = ctypes.c_void_p()
    known = headers()
    library().nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernels.cu", len(known),
        strings(list(known.values())), strings(list(known)),
    )  # fmt: skip
    try:
        options = (f"--gpu-architecture={arch}", *OPTIONS)
        status = library().nvrtcCompileProgram(program, len(options), strings(options))
        notes = result(program, "ProgramLog").rstrip(b"\0").decode()
        if status:
            why = library().nvrtcGetErrorString(status).decode()
            raise ValueError(f"does not compile for {arch}: {why}\n{notes}")
        return result(program, "CUBIN"), notes
    finally:
        library().nvrtcDestroyProgram(ctypes.byref(program))


@dataclass(frozen=True)
class MachineCode:
    """A kernel for one architecture."""

    arch: str
    code: list[sass.Instruction]
    registers: int  # of a thread when the kernel is launched
    stack: int  # bytes of local memory, those that registers are spilled to too
    spills: int  # bytes of spill stores and loads
    complaints: tuple[str, ...]  # what the assembler could not do as it was meant


def machine_code(text, arch):
    """{symbol: MachineCode} of a source."""
    image, notes = compile_once(text, arch)
    codes = sass.kernels_of(image)
    found = {}
    for part in notes.split("Compiling entry function '")[1:]:
        symbol = part.split("'")[0]
        stack, stores, loads = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", part
        ).groups())  # fmt: skip
        found[symbol] = MachineCode(
            arch, codes[symbol], int(re.search(r"Used (\d+) registers", part)[1]), stack,
            stores + loads, complaints(notes, symbol),
        )  # fmt: skip
    return found


def complaints(notes, symbol):
    """Codes C7500 and on: warpgroup MMAs put in sequence ("serialized")
    or registers that could not change hands, each in the name of a function."""
    return tuple(
        line
        for line in notes.split("\n")
        if "(C75" in line and (f"'{symbol}'" in line or "function" not in line)
    )


def compile_all(jobs):
    """The machine code of each (text, arch), in processes: NVRTC compiles one
    program at a time in each."""
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(machine_code, *zip(*jobs, strict=True))
    forget()
