# Part of Hocket, under the Apache License v2.0.
"""Every parser of others' files, given sound files and damaged ones.

`make fuzz` looks for longer, with sanitizers and libFuzzer.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
REPLAY = BUILD / "test/bin/fuzz_replay"
DAMAGES = 400  # copies of each seed

sys.path.insert(0, str(ROOT / "test/fuzz"))

import seeds  # noqa: E402


def replay(target, *arguments):
    return subprocess.run(
        [REPLAY, target, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )


class FuzzTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.seeds = seeds.Seeds(BUILD / "bin/hocket", scratch.name)
        cls.files = cls.seeds.write()

    def test_every_target_has_seeds(self):
        usage = replay("").stderr
        known = usage.rpartition("targets:")[2].split()
        self.assertGreater(len(known), 20)
        self.assertEqual(sorted(self.files), known)

    def test_damaged_files_do_no_harm(self):
        def run(target):
            beside = self.seeds.beside.get(target)
            folder = ["--folder", beside] if beside else []
            return replay(target, "--damage", DAMAGES, *folder, *self.files[target])

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for target, done in zip(self.files, pool.map(run, self.files)):
                with self.subTest(target):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
