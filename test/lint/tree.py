# Part of Hocket, under the Apache License v2.0.
"""The files of the tree that people wrote."""

import functools
import json
import os
import pathlib
import subprocess

FOLDERS = (
    "base compiler runtime dialects passes frontends kernels test examples docs"
).split()
LLVM = pathlib.Path("/usr/lib/llvm-19")


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    @functools.cached_property
    def files(self):
        """Every file below the folders of the design, relative to the root."""
        found = []
        for top in FOLDERS:
            for folder, names, files in os.walk(self.root / top):
                names[:] = [n for n in names if n[0] != "." and n != "__pycache__"]
                here = pathlib.Path(folder).relative_to(self.root)
                found += [here / name for name in files if name[0] != "."]
        return sorted(found)

    def with_suffix(self, *suffixes):
        return [path for path in self.files if path.suffix in suffixes]

    @functools.cache
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    @functools.cache
    def records(self, td):
        """TableGen's records of a file, as a dict."""
        command = [LLVM / "bin/llvm-tblgen", "--dump-json"]
        command += ["-I", LLVM / "include", "-I", self.root, self.root / td]
        done = subprocess.run(command, capture_output=True, check=True)
        return json.loads(done.stdout)

    def instances(self, td, kind):
        """The records of a file that derive from a class."""
        records = self.records(td)
        return [records[name] for name in records["!instanceof"].get(kind, [])]

    @property
    def dialects(self):
        """(name, td of its ops) of every dialect."""
        for folder in sorted((self.root / "dialects").iterdir()):
            for td in sorted(folder.glob("IR/*Ops.td")):
                if td.stem.lower() == folder.name + "ops":
                    yield folder.name, td.relative_to(self.root)

    @property
    def pass_files(self):
        return [path for path in self.files if path.name == "Passes.td"]
