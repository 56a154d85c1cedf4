#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes the op and pass references of docs/generated from TableGen.

    python3 docs/generate.py [--check]

--check writes nothing and exits 1 where a reference is out of date.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLVM = pathlib.Path("/usr/lib/llvm-19")
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "test"))

from lint.tree import Tree  # noqa: E402


def tablegen(td, *options):
    command = [LLVM / "bin/mlir-tblgen", *options, ROOT / td]
    command += ["-I", LLVM / "include", "-I", ROOT]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def tidy(text):
    """Without trailing blanks, runs of empty lines, or the notice of a tool."""
    lines = [line.rstrip() for line in text.split("\n")]
    kept = []
    for line in lines:
        if not line.startswith("<!--") and (line or (kept and kept[-1])):
            kept.append(line)
    return "\n".join(kept).strip() + "\n"


def references():
    """(file, title, text) of every reference."""
    tree = Tree(ROOT)
    for name, td in tree.dialects:
        options = ["-gen-dialect-doc", f"-dialect={name}"]
        yield f"{name}.md", f"The `{name}` dialect", td, tablegen(td, *options)
    for td in tree.pass_files:
        folder = td.parent.relative_to("passes").as_posix()
        file = f"passes-{folder.replace('/', '-')}.md"
        yield file, f"Passes of `{td.parent}`", td, tablegen(td, "-gen-pass-doc")


def pages():
    """file -> contents, the index included."""
    result, index = {}, ["# References", ""]
    for file, title, td, text in references():
        origin = f"Written by `make docs` from `{td}`."
        body = text.replace("# '" + file[:-3] + "' Dialect\n", "")
        result[file] = tidy(f"# {title}\n\n{origin}\n\n{body}")
        index.append(f"- [{title}]({file})")
    result["README.md"] = "\n".join(index) + "\n"
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    folder, stale = ROOT / "docs/generated", 0
    wanted = pages()
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            stale += 1
            print(f"{path.relative_to(ROOT)}: nothing generates it")
            if not check:
                path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            stale += 1
            what = "out of date; run `make docs`" if check else "written"
            print(f"{path.relative_to(ROOT)}: {what}")
            if not check:
                path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
