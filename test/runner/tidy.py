# Part of Hocket, under the Apache License v2.0.
"""clang-tidy over the sources that the build compiles.

Most of its time goes into the headers of MLIR, again for every source. Hence
the sources of a folder are checked together first, one behind the other in a
single file. If that file has nothing to report, they all passed. Otherwise its
halves are tried, and so on: a source fails only by what clang-tidy says of it
alone. Names of two sources may collide in one file, which the compiler says
much sooner than clang-tidy.

What passed once is not looked at again until it changes: a pass is kept in
<build>/tidy under a digest of the source, of every header of this tree or of
the build that it reaches, of its command line and of the checks.
"""

import functools
import hashlib
import json
import pathlib
import re
import shlex
import threading
import time

from runner.result import FAILED, PASSED, SKIPPED, Case, announce
from runner.result import concurrently, execute

PROGRAM = "clang-tidy-19"
COMPILER = "clang++-19"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TIMEOUT = 600  # seconds; of one source


def flags(command):
    """The options of a compiler's command line."""
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words) if "clang" in word) + 1
    return tuple(words[first : words.index("-o")])


def sources(context):
    """Every source of the tree with its flags."""
    text = (context.build / "compile_commands.json").read_text()
    for entry in json.loads(text):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        inside = path.is_relative_to(context.root)
        if inside and not path.is_relative_to(context.build):
            yield path, flags(entry["command"])


class Digests:
    def __init__(self, context):
        self.roots = (context.root, context.build)
        self.lock = threading.Lock()
        checks = (context.root / ".clang-tidy").read_bytes()
        version = execute([PROGRAM, "--version"], 60)[1].encode()
        self.base = hashlib.sha256(checks + version).digest()

    @functools.cache
    def includes(self, path):
        """The bytes of a file and the files of ours that it includes."""
        data = path.read_bytes()
        names = INCLUDE.findall(data.decode(errors="replace"))
        candidates = [root / name for name in names for root in self.roots]
        return data, [path for path in candidates if path.is_file()]

    def of(self, source, options):
        digest = hashlib.sha256(self.base + "\n".join(options).encode())
        seen, pending = set(), [source]
        with self.lock:
            while pending:
                path = pending.pop()
                if path not in seen:
                    seen.add(path)
                    pending += self.includes(path)[1]
            for path in sorted(seen):
                digest.update(str(path).encode() + self.includes(path)[0])
        return digest.hexdigest()


class Checker:
    """Runs clang-tidy; keeps what passed."""

    def __init__(self, context, marks):
        self.context, self.marks = context, marks

    def tidy(self, path, options):
        config = self.context.root / ".clang-tidy"
        command = [PROGRAM, "--quiet", f"--config-file={config}", str(path)]
        status, output = execute([*command, "--", *options], TIMEOUT)
        lines = output.split("\n")
        kept = [line for line in lines if not line.endswith(" generated.")]
        return status == 0, "\n".join(kept)

    def together(self, paths, options):
        """Whether the sources pass as one file."""
        name = hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()
        file = self.context.build / "tidy" / f"{name}.cpp"
        file.write_text("\n".join(path.read_text() for path in paths))
        try:
            compiles = [COMPILER, "-fsyntax-only", "-w", *options, str(file)]
            return execute(compiles, TIMEOUT)[0] == 0 and self.tidy(file, options)[0]
        finally:
            file.unlink()

    def failures(self, paths, options):
        """Those of the sources that fail."""
        if len(paths) == 1:
            passed, output = self.tidy(paths[0], options)
            if not passed:
                print(output, flush=True)
                return paths
        elif not self.together(paths, options):
            half = len(paths) // 2
            first = self.failures(paths[:half], options)
            return first + self.failures(paths[half:], options)
        for path in paths:
            self.marks[path].touch()
        return []


def batches(wanted):
    """Sources of one folder and with the same flags, largest batch first."""
    groups = {}
    for path, options in sorted(wanted.items()):
        groups.setdefault((path.parent, options), []).append(path)
    pairs = [(paths, options) for (_, options), paths in groups.items()]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def run(context):
    if context.sanitized:
        yield announce(Case("clang-tidy", SKIPPED, "PRESET=release runs it"))
        return
    start, folder = time.monotonic(), context.build / "tidy"
    folder.mkdir(exist_ok=True)
    digests, options = Digests(context), dict(sources(context))
    marks = {path: folder / digests.of(path, o) for path, o in options.items()}
    wanted = {
        path: options[path]
        for path, mark in marks.items()
        if not mark.exists() and context.wants(str(path))
    }
    print(f"   {len(wanted)} of {len(marks)} sources changed", flush=True)
    checker = Checker(context, marks)
    results = concurrently(
        lambda batch: checker.failures(*batch), batches(wanted), context.jobs
    )
    failed = sorted(str(path) for paths in results for path in paths)
    outcome = FAILED if failed or not marks else PASSED
    seconds = time.monotonic() - start
    yield announce(Case("clang-tidy", outcome, "\n".join(failed), seconds))
