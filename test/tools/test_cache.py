# Part of Hocket, under the Apache License v2.0.
"""The folder in which commands keep what takes long: its limit."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from programs import BUILD, ROOT

SPEC = ROOT / "examples/nano/spec.textproto"
BLOCK = 4096


class CacheTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def begin(self, *arguments, cache, size):
        return subprocess.Popen(
            [BUILD / "bin/hocket", *map(str, arguments)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "HOCKET_CACHE": str(self.folder / cache), "HOCKET_CACHE_SIZE": size},
        )  # fmt: skip

    def run_(self, *arguments, **where):
        process = self.begin(*arguments, **where)
        out, err = process.communicate()
        return process.returncode, out, err

    def compile(self, name, **where):
        """The bytes of a program, compiled by several processes at a time."""
        outputs = [self.folder / f"{name}{i}.hkx" for i in range(3)]
        running = [self.begin("compile", SPEC, "-o", output, **where) for output in outputs]
        for process in running:
            _, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
        programs = {output.read_bytes() for output in outputs}
        self.assertEqual(len(programs), 1)
        return programs.pop()

    def size(self, cache):
        """Of all files, and of those that stay, in blocks."""
        blocks = {path: -(-path.stat().st_size // BLOCK) for path in (self.folder / cache).iterdir()}
        return (sum(blocks.values()) * BLOCK,
                sum(n for path, n in blocks.items() if path.suffix == ".native") * BLOCK)  # fmt: skip

    def test_compilers_share_a_folder_of_limited_size(self):
        whole = self.compile("whole", cache="all", size="0")
        size, notes = self.size("all")
        self.assertGreater(size - notes, 8 * BLOCK)
        limit = (size - notes) // 2 + notes
        for name in ("first", "second"):
            self.assertEqual(self.compile(name, cache="some", size=str(limit)), whole)
            # Each of three may have stored a little since it looked.
            self.assertLess(self.size("some")[0], limit + 3 * (limit // 16 + 4 * BLOCK))
        self.assertEqual(self.size("some")[1], notes)
        status, out, _ = self.run_("doctor", cache="some", size="3GiB")
        line, = (line for line in out.splitlines() if line.startswith("cache "))
        self.assertIn(str(self.folder / "some"), line)
        self.assertIn("at most 3.00 GiB", line)

    def test_what_is_no_size_is_said_once(self):
        output = self.folder / "nano.hkx"
        status, out, err = self.run_("compile", SPEC, "-o", output, cache="c", size="4GiBs")
        self.assertEqual((status, out, output.exists()), (2, "", False))
        self.assertEqual(err, "hocket: HOCKET_CACHE_SIZE is '4GiBs', expected a size such as 4GiB, "
                              "500MB or 100000 (bytes); 0: no limit\n")  # fmt: skip


if __name__ == "__main__":
    unittest.main()
