#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""NVRTC in a folder of its own, named by its path, as a wheel brings it: it loads
its other half, libnvrtc-builtins, by name, where no search path leads."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from programs import BUILD, EMULATED

LOADER = "/lib64/ld-linux-x86-64.so.2"


def nvrtc_files():
    """The library that the loader finds, and the other half beside it."""
    if os.environ.get("HOCKET_NVRTC") == EMULATED["HOCKET_NVRTC"]:
        raise unittest.SkipTest("HOCKET_NVRTC names the emulated one")
    library = os.environ.get("HOCKET_NVRTC")
    if not library:
        known = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
        ).stdout
        found = re.search(r"libnvrtc\.so\.1[23] .*=> (\S+)", known)
        library = found and found[1]
    if not library:
        raise unittest.SkipTest("NVRTC is not on this machine")
    library = pathlib.Path(library).resolve()
    halves = sorted(library.parent.glob("libnvrtc-builtins.so.*"))
    if not halves:
        raise unittest.SkipTest(f"no libnvrtc-builtins beside {library}")
    return library, halves


class NvrtcTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "bare"
        self.folder.mkdir()

    def row(self, *command, **environment):
        """What doctor says of NVRTC."""
        done = subprocess.run(
            [*map(str, command), "doctor", "--json"], capture_output=True, text=True,
            check=False, env=os.environ | environment | {"LD_LIBRARY_PATH": ""},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return next(row for row in json.loads(done.stdout) if row["name"] == "NVRTC")

    def test_the_library_alone_in_a_folder_compiles(self):
        library, halves = nvrtc_files()
        copy = self.folder / "libnvrtc.so.x"
        shutil.copy2(library, copy)
        # Without the list of libraries that the machine knows of.
        alone = (LOADER, "--inhibit-cache", BUILD / "bin/hocket-runtime")
        row = self.row(*alone, HOCKET_NVRTC=str(copy))
        self.assertFalse(row["found"])
        self.assertRegex(row["detail"], r"version \d+\.\d+ does not compile: .*builtins")
        for half in halves:
            shutil.copy2(half, self.folder, follow_symlinks=True)
        row = self.row(*alone, HOCKET_NVRTC=str(copy))
        self.assertTrue(row["found"], row)
        self.assertRegex(row["detail"], r"bare/libnvrtc\.so\.x, version .*, compiles$")

    def test_the_emulated_one_compiles(self):
        if not pathlib.Path(EMULATED["HOCKET_NVRTC"]).exists():
            self.skipTest("the emulated libraries are not built")
        row = self.row(BUILD / "bin/hocket-runtime", HOCKET_NVRTC=EMULATED["HOCKET_NVRTC"])
        self.assertTrue(row["found"], row)

    def test_what_is_no_library_is_said(self):
        text = self.folder / "libnvrtc.so"
        text.write_text("no library")
        row = self.row(BUILD / "bin/hocket", HOCKET_NVRTC=str(text))
        self.assertFalse(row["found"])


if __name__ == "__main__":
    unittest.main()
