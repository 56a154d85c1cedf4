#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""The demo, interrupted: what it runs may save, and nobody reads a traceback."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Saves when it is interrupted, later than Python waits for a process by itself.
HOCKET = """#!/bin/sh
[ "$1" = train ] || exit 0
trap 'sleep 1; touch "$0.saved"; exit 1' INT
echo training
while :; do sleep 0.1; done
"""


class DemoTest(unittest.TestCase):
    def test_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bin/hocket"
            program.parent.mkdir()
            program.write_text(HOCKET)
            program.chmod(0o755)
            with subprocess.Popen(
                [sys.executable, "-u", ROOT / "examples/nano/demo.py", "--build", folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(
                    signal.SIGINT, signal.default_int_handler
                ),
            ) as demo:
                for line in demo.stdout:
                    if line == "training\n":
                        break
                os.killpg(demo.pid, signal.SIGINT)
                rest = demo.stdout.read()
            self.assertEqual(demo.returncode, 130)
            self.assertTrue(program.with_name("hocket.saved").exists())
            self.assertEqual(
                rest.strip(), "stopped; the demo begins anew when it is run again"
            )


if __name__ == "__main__":
    unittest.main()
