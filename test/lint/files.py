# Part of Hocket, under the Apache License v2.0.
"""Rules about files as such."""

import re
import subprocess

from lint.tree import FOLDERS

LICENSE = "Part of Hocket, under the Apache License v2.0."
LONGEST = 700
VAGUE = re.compile(r"(?i)(utils?|helpers?|manager|common)([^a-z]|$)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
ROOT_FILES = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "Makefile"}
ROOT_FILES |= {"README.md"}
GIVEN = {"common.pt"}  # a name that Megatron-LM gives


def banners(tree):
    """Every source says what it belongs to."""
    for path in tree.with_suffix(".h", ".cpp", ".td", ".py", ".sh", ".cu"):
        text = tree.text(path)
        if text and LICENSE not in text[:600]:
            yield f"{path}:1: expected the line '{LICENSE}' near the top"


def lengths(tree):
    """No file is too long."""
    suffixes = ".h .cpp .td .py .sh .cu .cmake .proto .mlir".split()
    for path in tree.with_suffix(*suffixes):
        lines = tree.text(path).count("\n")
        if lines > LONGEST:
            yield f"{path}: {lines} lines; at most {LONGEST}: split it"


def names(tree):
    """Files and folders are named for what they hold."""
    for path in tree.files:
        for part in path.parts:
            if part not in GIVEN and VAGUE.search(part.rsplit(".", 1)[0]):
                yield f"{path}: '{part}' says nothing; name the thing it holds"


def unfinished(tree):
    """Nothing is marked as unfinished."""
    for path in tree.files:
        if path.name == "files.py" or path.suffix in (".safetensors", ".bin"):
            continue
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: {line.strip()}"


def root_folders(tree):
    """The root holds what the design lists."""
    for entry in tree.root.iterdir():
        name = entry.name
        built = name.startswith("build") or name in ("data", "shared")
        if name[0] != "." and not built and name not in {*FOLDERS, *ROOT_FILES}:
            yield f"{name}: not among the root's folders and files"


def formatted(tree):
    """clang-format has nothing to change."""
    sources = map(str, tree.with_suffix(".h", ".cpp"))
    command = ["clang-format-19", "--dry-run", "-Werror", *sources]
    done = subprocess.run(
        command, cwd=tree.root, capture_output=True, text=True, check=False
    )
    for line in done.stderr.split("\n"):
        if "error:" in line:
            yield line
    if done.returncode and not done.stderr:
        yield f"clang-format-19: exit {done.returncode}"
