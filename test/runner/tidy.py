# Part of Hocket, under the Apache License v2.0.
"""clang-tidy over the sources that the build compiles.

Most of its time goes into headers, again for every source. Hence the module of
test/tidy keeps the checks out of those that are not ours, and many sources are
checked together, one behind the other in a single file. If that file has
nothing to report, they all passed. Otherwise those that the report names are
tried apart from the rest, and so on: a source fails only by what clang-tidy
says of it alone. Sources that give one name to two things do not fit in one
file; those that seem to (Names) are not put together.

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

from runner.result import FAILED, PASSED, SKIPPED, Case, Job
from runner.result import concurrently, execute

PROGRAM = "clang-tidy-19"
MODULE = "test/lib/libhocket_tidy.so"  # below the build folder
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TIMEOUT = 600  # seconds; of one batch
BATCH = 32  # sources


MEANINGLESS = re.compile(r"-O\w?|-fno-sanitize=\S+|-fvisibility=\S+")
PRECOMPILED = re.compile(r"-Winvalid-pch|-Xclang -include(-pch)? -Xclang \S+")


def flags(command):
    """The options of a compiler's command line, but for precompiled headers:
    clang-tidy sees what each source includes itself. How much is optimised, what
    is sanitized and what a library shows mean nothing to it.
    """
    words = shlex.split(PRECOMPILED.sub("", command))
    first = next(i for i, word in enumerate(words) if "clang" in word) + 1
    options = words[first : words.index("-o")]
    return tuple(word for word in options if not MEANINGLESS.fullmatch(word))


def united(path):
    """The sources that CMake compiles as one (UNITY_BUILD), or the path alone."""
    if path.parent.name != "Unity":
        return [path]
    return [pathlib.Path(name).resolve() for name in INCLUDE.findall(path.read_text())]


def sources(context):
    """Every source of the tree with its flags."""
    text = (context.build / "compile_commands.json").read_text()
    for entry in json.loads(text):
        file = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        for path in united(file):
            inside = path.is_relative_to(context.root)
            if inside and not path.is_relative_to(context.build):
                yield path, flags(entry["command"])


def pairs(options):
    """The options, each with the word that belongs to it."""
    words = iter(options)
    for word in words:
        takes = word in ("-isystem", "-include", "-I", "-D")
        yield (word, next(words)) if takes else (word,)


class Flags:
    """Which sources can be compiled as one, and how.

    What a source is given to find headers, and macros that have one value in
    the whole tree, do others no harm; nor does it matter here that code goes
    into a library or a program.
    """

    def __init__(self, wanted):
        values = {}
        for options in wanted.values():
            for words in pairs(options):
                if words[0].startswith("-D"):
                    macro = words[-1].removeprefix("-D").partition("=")[0]
                    values.setdefault(macro, set()).add(words)
        self.macros = {
            words for own in values.values() if len(own) == 1 for words in own
        }

    def shared(self, words):
        return words in self.macros or words[0].startswith(("-I", "-isystem"))

    def key(self, options):
        """Alike for sources that can be compiled as one."""
        dropped = ("-fPIC", "-fPIE")
        return tuple(
            words
            for words in pairs(options)
            if not self.shared(words) and words[0] not in dropped
        )

    def joined(self, many):
        """The options of several sources, each said once."""
        said = dict.fromkeys(words for one in many for words in pairs(one))
        return [word for words in said for word in words]


class Names:
    """What a source defines at its outermost level: what starts a line."""

    TYPE = re.compile(r"^(?:struct|class|enum|enum class|union) (\w+)", re.M)
    CASE = re.compile(r"^([A-Z_]+\(\w+, \w+)", re.M)
    OTHER = re.compile(
        r"^(?!namespace |using namespace )[A-Za-z_][\w:<>,&* ]*?(?<![\w:])(\w+)"
        r"(?: = |[({[;])",
        re.M,
    )

    @classmethod
    @functools.cache
    def of(cls, path):
        text, kinds = path.read_text(), (cls.TYPE, cls.CASE, cls.OTHER)
        found = {name for kind in kinds for name in kind.findall(text)}
        return {name for name in found if not name.isupper()}

    IMPORTED = re.compile(r"^using (?:[\w:]+::(\w+);|(\w+) =)", re.M)
    WORD = re.compile(r"(?<![\w:.>])[A-Za-z_]\w*")
    OPENED = re.compile(r"^using namespace ([\w:]+);", re.M)

    @classmethod
    @functools.cache
    def own(cls, path):
        """What it defines, and what it takes from namespaces by name."""
        pairs = cls.IMPORTED.findall(path.read_text())
        return cls.of(path) | {name for pair in pairs for name in pair if name}

    @classmethod
    @functools.cache
    def words(cls, path):
        """What it may name without saying of which namespace that is."""
        text = re.sub("//.*", "", path.read_text())
        return set(cls.WORD.findall(text))

    @classmethod
    @functools.cache
    def opened(cls, path):
        """Namespaces whose names it takes, all of them."""
        return set(cls.OPENED.findall(path.read_text()))


class Namespaces:
    """Types that headers declare, by namespace. Two sources do not fit in one file
    where a namespace that one of them opens has a name that the other uses for
    something else: some ops of two dialects are called alike.
    """

    PLACE = re.compile(
        r"^(?:namespace ([\w:]+) \{|(\}) // namespace|using (\w+) ="
        r"|(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)(?![^{\n]*;$)"
        r"|def \w+_(\w+Op) : )",
        re.M,
    )

    def __init__(self, context):
        self.names = {}
        built = (context.build / "runtime").rglob("*.pb.h")
        folders = ("base", "kernels", "runtime", "dialects", "passes", "frontends",
                   "compiler", "test")  # fmt: skip
        ours = (context.root / name for name in folders)
        for header in [h for folder in ours for h in folder.rglob("*.h")] + [*built]:
            self.read(header)
        for dialect in (context.root / "dialects").glob("*"):
            names = self.names.setdefault(f"hocket::{dialect.name}", set())
            for file in dialect.rglob("*.td"):
                names.update(name for *_, name in self.PLACE.findall(file.read_text()))
        for space in list(self.names):  # A namespace is a name, too.
            outer, _, name = space.rpartition("::")
            if outer:
                self.names.setdefault(outer, set()).add(name)

    def read(self, header):
        inside = []
        text = header.read_text(errors="replace")
        for begun, ended, alias, kind, _ in self.PLACE.findall(text):
            if begun:
                inside.append(begun)
                self.names.setdefault("::".join(inside), set())
            elif ended:
                del inside[-1:]
            elif inside:
                names = self.names.setdefault("::".join(inside), set())
                names.add(alias or kind)

    def of(self, opened):
        return set().union(*(self.names.get(space, ()) for space in opened))

    def disturbs(self, path, other):
        """Whether what `other` opens gives a name of `path` a second meaning."""
        mine = Names.opened(path)
        taken = self.of(Names.opened(other) - mine)
        known = self.of(mine) & Names.words(path) | Names.own(path)
        return bool(taken & known)

    @functools.cache
    def apart(self, path, other):
        return self.disturbs(path, other) or self.disturbs(other, path)


class Digests:
    def __init__(self, context):
        self.roots = (context.root, context.build)
        self.lock = threading.Lock()
        module = context.root / "test/tidy/OwnCode.cpp"
        checks = (context.root / ".clang-tidy").read_bytes() + module.read_bytes()
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

    def __init__(self, context, options, marks):
        self.context, self.options, self.marks = context, options, marks
        self.flags = Flags(options)

    def tidy(self, file, paths):
        """(whether nothing is to be said of a file that holds `paths`, what is)"""
        config = self.context.root / ".clang-tidy"
        module = self.context.build / MODULE
        command = [PROGRAM, "--quiet", f"--config-file={config}", f"--load={module}"]
        options = self.flags.joined(self.options[path] for path in paths)
        status, output = execute(
            [*command, str(file), "--", "-ferror-limit=0", *options], TIMEOUT
        )
        lines = output.split("\n")
        kept = [line for line in lines if not line.endswith(" generated.")]
        return status == 0, "\n".join(kept)

    @contextlib.contextmanager
    def together(self, paths):
        """A file of the sources, one behind the other, and where each ends."""
        name = hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()
        file = self.context.build / "tidy" / f"{name}.cpp"
        texts, ends = [path.read_text() for path in paths], [0]
        for text in texts:
            ends.append(ends[-1] + text.count("\n") + 1)
        file.write_text("\n".join(texts))
        try:
            yield file, ends[1:]
        finally:
            file.unlink()

    def suspects(self, paths):
        """Those of the sources that are named when all are checked together,
        and whether that says something of the others too.
        """
        with self.together(paths) as (file, ends):
            passed, output = self.tidy(file, paths)
        if passed:
            return [], True
        place = re.compile(re.escape(str(file)) + r":(\d+):\d+: (?:error|warning)")
        lines = [int(line) for line in place.findall(output)]
        named = {next(i for i, end in enumerate(ends) if line <= end) for line in lines}
        understood = "clang-diagnostic-error" not in output
        return [paths[i] for i in sorted(named)], understood and bool(named)

    def alone(self, path):
        """[path] if it fails, said with the reason; else []."""
        passed, output = self.tidy(path, [path])
        if passed:
            return self.keep([path])
        print(output, flush=True)
        return [path]

    def keep(self, paths):
        for path in paths:
            self.marks[path].touch()
        return []

    def failures(self, paths):
        """Those of the sources that fail."""
        if len(paths) < 2:
            return [failed for path in paths for failed in self.alone(path)]
        named, othersPass = self.suspects(paths)
        if not named and othersPass:
            return self.keep(paths)
        if not named or len(named) == len(paths):
            named, othersPass = paths[: len(paths) // 2], False
        rest = [path for path in paths if path not in named]
        found = self.keep(rest) if othersPass else self.failures(rest)
        return self.failures(named) + found


def fits(path, batch, namespaces):
    return len(batch) < BATCH and not any(
        Names.of(path) & Names.of(other) or namespaces.apart(path, other)
        for other in batch
    )


def batches(wanted, flags, namespaces):
    """Sources that may stand in one file, in order; the largest batch first."""
    groups = {}
    for path, options in sorted(wanted.items()):
        group = groups.setdefault(flags.key(options), [])
        known = (batch for batch in group if fits(path, batch, namespaces))
        batch = next(known, None)
        if batch is None:
            group.append(batch := [])
        batch.append(path)
    return sorted((b for group in groups.values() for b in group), key=len)[::-1]


def run(context):
    if context.sanitized:
        return [Case("clang-tidy", SKIPPED, "PRESET=release runs it")]
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
    checker = Checker(context, options, marks)
    together = batches(wanted, checker.flags, Namespaces(context))
    results = concurrently(checker.failures, together, context.jobs)
    failed = sorted(str(path) for paths in results for path in paths)
    outcome = FAILED if failed or not marks else PASSED
    seconds = time.monotonic() - start
    return [Case("clang-tidy", outcome, "\n".join(failed), seconds)]


def jobs(context):
    """One job, which starts as many processes as there may be jobs."""
    return [Job("clang-tidy", lambda: run(context))]
