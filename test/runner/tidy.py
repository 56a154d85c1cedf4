# Part of Hocket, under the Apache License v2.0.
"""clang-tidy over the sources that the build compiles.

What passed once is not looked at again until it changes: a pass is kept in
<build>/tidy under a digest of the source, of every header of this tree or of
the build that it reaches, of its command line and of the checks.
"""

import functools
import hashlib
import json
import pathlib
import re
import threading
import time

from runner.result import FAILED, PASSED, SKIPPED, Case, announce
from runner.result import concurrently, execute

PROGRAM = "clang-tidy-19"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TIMEOUT = 600  # seconds; of one source


def sources(context):
    """(source, command line) of every source of the tree."""
    text = (context.build / "compile_commands.json").read_text()
    for entry in json.loads(text):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        inside = path.is_relative_to(context.root)
        if inside and not path.is_relative_to(context.build):
            yield path, entry["command"]


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

    def of(self, source, command):
        digest = hashlib.sha256(self.base + command.encode())
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


def check(context, source):
    command = [PROGRAM, "--quiet", "-p", str(context.build), str(source)]
    status, output = execute(command, TIMEOUT)
    lines = output.split("\n")
    kept = [line for line in lines if not line.endswith("warnings generated.")]
    return status == 0, "\n".join(kept)


def run(context):
    if context.sanitized:
        yield announce(Case("clang-tidy", SKIPPED, "PRESET=release runs it"))
        return
    start, folder = time.monotonic(), context.build / "tidy"
    folder.mkdir(exist_ok=True)
    digests = Digests(context)
    found = {path: folder / digests.of(path, c) for path, c in sources(context)}
    wanted = {
        path: mark
        for path, mark in found.items()
        if not mark.exists() and context.wants(str(path))
    }
    print(f"   {len(wanted)} of {len(found)} sources changed", flush=True)

    def one(path):
        passed, output = check(context, path)
        if passed:
            wanted[path].touch()
        elif output:
            print(output, flush=True)
        return passed, path

    results = list(concurrently(one, wanted, context.jobs))
    failed = sorted(str(path) for passed, path in results if not passed)
    outcome = FAILED if failed or not found else PASSED
    seconds = time.monotonic() - start
    yield announce(Case("clang-tidy", outcome, "\n".join(failed), seconds))
