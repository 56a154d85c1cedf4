# Part of Hocket, under the Apache License v2.0.
"""The tree, its build, and the program that the tests of this folder call."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
LIBRARIES = {"LIBCUDA": "cuda", "NVRTC": "nvrtc", "CUBLASLT": "cublaslt", "NCCL": "nccl"}
# The environment of a run on emulated GPUs.
EMULATED = {
    f"HOCKET_{variable}": str(BUILD / f"test/lib/libemulated_{name}.so")
    for variable, name in LIBRARIES.items()
}


def hocket(*arguments, cwd=None):
    """What `hocket ARGUMENTS` came to: its status, stdout and stderr."""
    command = [BUILD / "bin/hocket", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, errors="replace"
    )


def has_nvrtc():
    """Whether NVRTC is there: named by HOCKET_NVRTC, or where the loader looks."""
    lines = [line.split() for line in hocket("doctor").stdout.splitlines()]
    return any(words[:2] == ["NVRTC", "found"] for words in lines)
