# Part of Hocket, under the Apache License v2.0.
"""Rules about the documents."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^ *(```\S*)", re.M)
CONSTRAINT = re.compile(r"^\| ([A-Z]\d+) \|", re.M)
QUOTED = re.compile(r"\"([DEHKPQSVX]\d+): ")
NUMBER = re.compile(r"\b[DEHKPQSVX]\d+\b")
RULE_NAME = re.compile(r"\b(?:Program)?Rule::(\w+)")
PROGRAM_RULE = re.compile(r"^  (\w+) = (\d+),", re.M)


def generated_are_current(tree):
    """docs/generated is what `make docs` writes."""
    command = [sys.executable, tree.root / "docs/generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield (done.stdout + done.stderr).strip()


def links_lead_somewhere(tree):
    """Every link between documents leads to a file."""
    readme = (tree.root / "README.md").relative_to(tree.root)
    for path in [readme, *tree.with_suffix(".md")]:
        if not (tree.root / path).exists():
            yield f"{path}: missing"
            continue
        for target in LINK.findall(tree.text(path)):
            outside = "://" in target or target.startswith("mailto:")
            if not outside and not is_kept(tree.root / path.parent / target):
                yield f"{path}: links to {target}, which does not exist"


def code_blocks_end(tree):
    """Every code block of a document has both of its fences."""
    for path in tree.with_suffix(".md"):
        fences = FENCE.findall(tree.text(path))
        for number, fence in enumerate(fences):
            if number % 2 and fence != "```":
                yield f"{path}: {fence} stands in another block of code"
        if len(fences) % 2:
            yield f"{path}: a block of code has only one ```"


def is_kept(path):
    """Whether a clone holds it: git keeps no folder without files."""
    return path.is_file() or any(below.is_file() for below in path.rglob("*"))


def constraints(tree):
    return CONSTRAINT.findall(tree.text(pathlib.Path("docs/spec.md")))


def constraints_are_tested(tree):
    """Every constraint of docs/spec.md is broken by a test, by its number."""
    suffixes = (".cpp", ".h", ".py", ".mlir", ".test", ".textproto", ".txt")
    tests = "".join(
        tree.text(path)
        for path in tree.with_suffix(*suffixes)
        if path.parts[0] == "test"
    )
    broken = set(NUMBER.findall(tests))
    rules = set(RULE_NAME.findall(tests))
    enum = tree.text(pathlib.Path("runtime/program/ProgramRules.h"))
    broken |= {f"V{n}" for name, n in PROGRAM_RULE.findall(enum) if name in rules}
    for number in constraints(tree):
        if number not in broken:
            yield f"docs/spec.md: no test breaks {number}"


def constraints_are_documented(tree):
    """Every constraint that a message quotes stands in docs/spec.md."""
    known = set(constraints(tree))
    for path in tree.with_suffix(".cpp", ".h"):
        if path.parts[0] == "test":
            continue
        for number in sorted(set(QUOTED.findall(tree.text(path))) - known):
            yield f"{path}: quotes {number}, which docs/spec.md lacks"
