# Part of Hocket, under the Apache License v2.0.
"""The example in every op's description is read by hocket-opt.

An example shows an op, not a program: it uses values and symbols that it does
not define and stands outside its parent. Values are defined here, with the
types that the parser asks for; a verifier that misses the rest is content.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from lint.tree import Tree  # noqa: E402

BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
UNDECLARED = re.compile(
    r"<stdin>:(\d+):(\d+): error: use of undeclared SSA value name"
)
NAME = re.compile(r"%[A-Za-z0-9_$.#-]+")
EXPECTED = re.compile(
    r"use of value '(%[^']+)' expects different type than prior uses: "
    r"'(.*)' vs '(.*)'"
)


# For the ops that stand in a module with one.
MESH = 'dist.mesh @mesh ["dp", "cp", "tp"] sizes [2, 2, 2]'
SURROUNDINGS = re.compile(
    r"error: '[\w.]+' op .*(symbol|@|'@|expects parent op|must be inside|variable|terminator)"
)


def parse(text):
    """What is wrong with a module beside its surroundings, or ''."""
    command = [BUILD / "bin/hocket-opt", "--allow-unregistered-dialect"]
    done = subprocess.run(
        [*command, "-verify-each=0", "-o", os.devnull],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    fine = done.returncode == 0 or SURROUNDINGS.search(done.stderr)
    return "" if fine else done.stderr


def wrapped(example, values):
    """The example in a function that defines `values`: name -> type."""
    lines = [f'  {name} = "t.value"() : () -> {t}' for name, t in values.items()]
    return "\n".join(
        [MESH, "func.func private @example() {", *lines, example,
         '  "t.end"() : () -> ()', "}"]
    )


def missing(error, text):
    """The names that the parser found undeclared."""
    lines = text.split("\n")
    for row, column in UNDECLARED.findall(error):
        yield NAME.match(lines[int(row) - 1], int(column) - 1)[0].split("#")[0]


def complaint(example):
    """Defines what is missing with the types that the parser wants."""
    if not parse(example):
        return ""
    values, error = {}, ""
    for _ in range(40):
        text = wrapped(example, values)
        error = parse(text)
        names = set(missing(error, text)) - set(values)
        match = EXPECTED.search(error)
        if names:
            values |= dict.fromkeys(names, "i1")
        elif match and match[1].split("#")[0] in values:
            values[match[1].split("#")[0]] = match[2]
        else:
            break
    return error


class ExamplesTest(unittest.TestCase):
    def check(self, dialect, op):
        parts = op["description"].split("```mlir")[1:]
        self.assertTrue(parts, "no example")
        for part in parts:
            example = part.split("```")[0]
            self.assertEqual(complaint(example), "", example)


def add_tests():
    tree = Tree(ROOT)
    for dialect, td in tree.dialects:
        for op in tree.instances(td, "Op"):
            name = f"test_{dialect}_{op['opName'].replace('.', '_')}"
            setattr(
                ExamplesTest, name,
                lambda self, d=dialect, o=op: self.check(d, o),
            )  # fmt: skip


add_tests()
