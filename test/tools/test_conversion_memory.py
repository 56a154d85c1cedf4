# Part of Hocket, under the Apache License v2.0.
"""`hocket checkpoint import` and `export` hold a few MiB of a model, and say how far
they are."""

import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

from programs import BUILD, ROOT

sys.path.insert(0, str(ROOT / "test/benchmarks/checkpoint"))

import conversion_memory  # noqa: E402

# Its matrices are turned, and joined.
WIDE = conversion_memory.gpt2(1024, 1, 32768, 64)


class ConversionMemoryTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        # What AddressSanitizer keeps of freed memory is not ours.
        options = os.environ.get("ASAN_OPTIONS", "")
        os.environ["ASAN_OPTIONS"] = f"{options}:quarantine_size_mb=8"
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", options)

    def convert(self, name, model, dtype):
        folder = self.folder / name
        folder.mkdir()
        return list(conversion_memory.convert(folder, *model, dtype))

    def test_peak_is_below_twice_the_largest_tensor(self):
        tiny = self.convert("tiny", conversion_memory.TINY, "F32")
        for dtype in ("F32", "BF16"):
            wide = self.convert(dtype, WIDE, dtype)
            for (_, _, (_, least)), (_, largest, (_, peak)) in zip(tiny, wide, strict=True):
                self.assertEqual(largest, 4 * 1024 * 32768)
                self.assertLess(peak - least, largest)

    def test_progress_is_shown(self):
        config, shapes = WIDE
        conversion_memory.publish(self.folder / "theirs", config, shapes, "F32")
        for command, come, to in (("import", "theirs", "run"), ("export", "run", "mine")):
            terminal, end = pty.openpty()
            with subprocess.Popen(
                [BUILD / "bin/hocket", "checkpoint", command, self.folder / come, "-o",
                 self.folder / to],
                stdout=subprocess.DEVNULL, stderr=end) as child:  # fmt: skip
                os.close(end)
                said = b""
                try:
                    while part := os.read(terminal, 4096):
                        said += part
                except OSError:  # The other end is closed.
                    pass
            os.close(terminal)
            self.assertEqual(child.returncode, 0, said)
            self.assertRegex(said.decode(), r"\d\.\d %  \d+\.\d MB/s  .* left")


if __name__ == "__main__":
    unittest.main()
