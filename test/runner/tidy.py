# Part of Hocket, under the Apache License v2.0.
"""clang-tidy over the sources that the build compiles.

Most of its time goes into the headers of MLIR, again for every source. Hence
neighbours are checked together first, one behind the other in a single file.
If that file has nothing to report, they all passed. Otherwise its halves are
tried, and so on: a source fails only by what clang-tidy says of it alone. Names of two sources may collide in one file: the compiler says where,
much sooner than clang-tidy, and the sources with an error are checked apart.

What passed once is not looked at again until it changes: a pass is kept in
<build>/tidy under a digest of the source, of every header of this tree or of
the build that it reaches, of its command line and of the checks.
"""

import contextlib
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
TIMEOUT = 600  # seconds; of one batch
BATCH = 24  # sources


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

    @contextlib.contextmanager
    def joined(self, paths):
        """A file of the sources, one behind the other."""
        name = hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()
        file = self.context.build / "tidy" / f"{name}.cpp"
        file.write_text("\n".join(path.read_text() for path in paths))
        try:
            yield file
        finally:
            file.unlink()

    def colliding(self, paths, options):
        """Those of the sources in which, joined, the compiler finds an error."""
        compiles = [COMPILER, "-fsyntax-only", "-w", "-ferror-limit=0", *options]
        with self.joined(paths) as file:
            status, output = execute([*compiles, str(file)], TIMEOUT)
        if status == 0:
            return []
        error = re.compile(re.escape(str(file)) + r":(\d+):\d+: (?:fatal )?error:")
        lines = {int(line) for line in error.findall(output)}
        found, first = [], 1
        for path in paths:
            end = first + path.read_text().count("\n") + 1
            if lines.intersection(range(first, end)):
                found.append(path)
            first = end
        return found or paths

    def halves(self, paths, options):
        """The failures of each half for itself."""
        half = len(paths) // 2
        first = self.failures(paths[:half], options)
        return first + self.failures(paths[half:], options)

    def passes(self, paths, options):
        """Whether the sources pass together, or the only one alone: then it says
        what is wrong with that.
        """
        if len(paths) > 1:
            with self.joined(paths) as file:
                return self.tidy(file, options)[0]
        passed, output = self.tidy(paths[0], options)
        if not passed:
            print(output, flush=True)
        return passed

    def failures(self, paths, options):
        """Those of the sources that fail."""
        apart = self.colliding(paths, options) if len(paths) > 1 else []
        if apart and len(apart) < len(paths):
            rest = [path for path in paths if path not in apart]
            return self.failures(rest, options) + self.failures(apart, options)
        if not apart and self.passes(paths, options):
            for path in paths:
                self.marks[path].touch()
            return []
        return self.halves(paths, options) if len(paths) > 1 else paths


def batches(wanted):
    """Neighbours with the same flags, as many as BATCH; the largest first."""
    groups, pairs = {}, []
    for path, options in sorted(wanted.items()):
        groups.setdefault(options, []).append(path)
    for options, paths in groups.items():
        count = -(-len(paths) // BATCH)
        ends = [len(paths) * i // count for i in range(count + 1)]
        pairs += [(paths[a:b], options) for a, b in zip(ends, ends[1:])]
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
