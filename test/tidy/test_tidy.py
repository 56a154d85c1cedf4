#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""clang-tidy as the tests run it: kept to our code, many sources at a time."""

import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "test"))

from runner import result, tidy  # noqa: E402

MISTAKES = """#include <string>
#include <vector>
namespace NAME {
class lower {};
inline int taken(std::vector<std::string> words) { return words.size() == 0; }
inline std::string moved(std::string text) {
  std::string other = std::move(text);
  return other + text;
}
inline int *none() { return 0; }
} // namespace NAME
"""
PLACE = re.compile(r"([\w.]+):(\d+):\d+: (?:error|warning): .*(\[[\w,-]+\])")


def find(compile_options, *options, path):
    """The mistakes that clang-tidy sees: (file, line, check)."""
    command = [tidy.PROGRAM, "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    _, output = result.execute([*command, *options, str(path), *compile_options], 120)
    return sorted(PLACE.findall(output))


class OnlyOwnCodeTest(unittest.TestCase):
    def setUp(self):
        if not (module := BUILD / tidy.MODULE).exists():
            self.skipTest(f"{module} is not built")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        for place, name in (
            ("compiler/Own.h", "own"),
            ("system/System.h", "sys"),
            ("compiler/Ops.h.inc", "ops"),
        ):
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_text(MISTAKES.replace("NAME", name))
        includes = '"Own.h"', '"Ops.h.inc"', "<System.h>"
        text = "".join(f"#include {include}\n" for include in includes)
        self.source = folder / "compiler/Main.cpp"
        self.source.write_text(text + MISTAKES.replace("NAME", "source"))
        self.load = f"--load={module}"
        system = f"-isystem{folder / 'system'}"
        self.options = ["--", "-std=c++20", system, f"-I{self.source.parent}"]

    def found(self, *options):
        return find(self.options, *options, path=self.source)

    def test_our_code_is_checked_as_before(self):
        found = self.found(self.load)
        self.assertEqual(found, self.found())
        for file in ("Main.cpp", "Own.h"):
            checks = [place[2] for place in found if place[0] == file]
            self.assertEqual(len(checks), 5, found)

    def test_other_code_is_not_looked_at(self):
        everything = ("--system-headers", "--header-filter=.*")
        every = "--exclude-header-filter=^$"
        files = {place[0] for place in self.found(*everything, every)}
        self.assertLessEqual({"System.h", "Ops.h.inc", "Own.h"}, files)
        files = {place[0] for place in self.found(self.load, *everything, every)}
        self.assertTrue(files.isdisjoint({"System.h", "Ops.h.inc"}), files)
        self.assertLessEqual({"Main.cpp", "Own.h"}, files)


class BatchesTest(unittest.TestCase):
    """A small tree of which one source is wrong."""

    SOURCES = {
        "first": "static int once() { return 1; }\nint a() { return once(); }\n",
        # What Names does not see: it is not at the start of a line.
        "second": " static int once() { return 2; }\nint b() { return once(); }\n",
        "third": "int *wrong() { return 0; }\n",
        "fourth": "int d() { return 4; }\n",
    }

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        root = pathlib.Path(scratch.name).resolve()
        build = root / "build"
        (build / "tidy").mkdir(parents=True)
        (build / "test").symlink_to(BUILD / "test")
        (root / ".clang-tidy").write_text((ROOT / ".clang-tidy").read_text())
        entries = []
        for name, text in self.SOURCES.items():
            (root / f"{name}.cpp").write_text(text)
            command = f"/usr/bin/clang++-19 -D{name} -std=c++20 -o x -c {name}.cpp"
            entry = {"directory": str(root), "file": f"{name}.cpp"}
            entries.append(entry | {"command": command})
        (build / "compile_commands.json").write_text(json.dumps(entries))
        self.context = result.Context(root, build, 1, "", root)
        self.options = dict(tidy.sources(self.context))
        self.flags = tidy.Flags(self.options)

    def test_only_what_is_wrong_alone_fails(self):
        marks = {path: path.with_suffix(".passed") for path in self.options}
        checker = tidy.Checker(self.context, self.options, marks)
        failed = checker.failures(sorted(self.options))
        self.assertEqual([path.stem for path in failed], ["third"])
        passed = {path.stem for path in marks if marks[path].exists()}
        self.assertEqual(passed, {"first", "second", "fourth"})

    def test_sources_that_are_compiled_as_one_are_checked_each(self):
        root, build = self.context.root, self.context.build
        unity = build / "lib/CMakeFiles/x.dir/Unity/unity_0_cxx.cxx"
        unity.parent.mkdir(parents=True)
        names = [root / "first.cpp", root / "third.cpp"]
        unity.write_text("".join(f'#include "{name}"\n' for name in names))
        entry = {"directory": str(build), "file": str(unity)}
        entry["command"] = f"/usr/bin/clang++-19 -Dboth -o x -c {unity}"
        (build / "compile_commands.json").write_text(json.dumps([entry]))
        self.assertEqual(
            dict(tidy.sources(self.context)), dict.fromkeys(names, ("-Dboth",))
        )

    def test_a_name_stands_once_in_a_batch(self):
        second = self.context.root / "second.cpp"
        second.write_text(second.read_text().lstrip())
        self.assertEqual(self.batches(), [["first", "fourth", "third"], ["second"]])

    def batches(self):
        """The sources of each batch."""
        namespaces = tidy.Namespaces(self.context)
        batches = tidy.batches(self.options, self.flags, namespaces)
        return sorted(sorted(path.stem for path in batch) for batch in batches)

    def test_a_name_means_one_thing_in_a_batch(self):
        base = self.context.root / "base"
        base.mkdir()
        text = "namespace tree::%s {\nstruct Place {};\n} // namespace tree::%s\n"
        for name in ("one", "two"):
            (base / f"{name}.h").write_text(text % (name, name))
        first, second, third, fourth = (
            self.context.root / f"{name}.cpp" for name in self.SOURCES
        )
        first.write_text("using namespace tree::one;\nPlace place();\n")
        second.write_text("using namespace tree::two;\nint none();\n")
        third.write_text("struct Place {\n};\n")
        fourth.write_text("int none() { return 0; }\n")
        # `second` makes the names of `first` and `third` mean two things each, and
        # `first` that of `third`.
        self.assertEqual(self.batches(), [["first", "fourth"], ["second"], ["third"]])


if __name__ == "__main__":
    unittest.main()
