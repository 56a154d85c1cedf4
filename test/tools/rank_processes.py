# Part of Hocket, under the Apache License v2.0.
"""Runs of two ranks, each a process of its own, as launchers start them."""

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import programs

SPEC = """
model { layers: 1 hidden: 16 heads: 2 ffn: 32 vocab_size: 64 max_positions: 16 }
training {
  sequence_length: 16 micro_batch_size: 2 steps: 4 seed: 7 precision: FP32
  learning_rate { schedule: CONSTANT peak: 1e-2 }
}
"""
TIMEOUT = 120  # seconds; nothing here takes so long unless it hangs


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def variables(rank, port, **more):
    """What torchrun tells a worker, where its agent has no store."""
    common = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1"}
    own = {"RANK": rank, "LOCAL_RANK": rank, "MASTER_PORT": port}
    return {key: str(value) for key, value in (common | own | more).items()}


class RankProcesses(unittest.TestCase):
    """A folder with two.hkx and the token files `data`."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.folder.joinpath("two.textproto").write_text(SPEC)
        cls.compile("two.hkx")
        cls.write_tokens("data", seed=1)

    @classmethod
    def compile(cls, name, *options):
        done = programs.hocket(
            "compile", "two.textproto", "--mesh", "dp=2", "-o", name, *options,
            cwd=cls.folder,
        )
        assert done.returncode == 0, done.stderr

    @classmethod
    def write_tokens(cls, name, seed):
        draw = random.Random(seed)
        text = "".join(chr(draw.randrange(1, 64)) for _ in range(4000))
        cls.folder.joinpath(f"{name}.txt").write_text(text)
        done = programs.hocket(
            *("data", "prepare", f"{name}.txt", "-o", name, "--tokenizer", "byte"),
            cwd=cls.folder,
        )
        assert done.returncode == 0, done.stderr

    @contextlib.contextmanager
    def rank(self, environment, *arguments):
        """A process that trains, killed at the end if it still runs."""
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("TORCHELASTIC", "SLURM", "OMPI", "PMI"))
        }
        process = subprocess.Popen(
            [programs.BUILD / "bin/hocket", "train", *map(str, arguments)],
            cwd=self.folder,
            env=clean | {"HOCKET_NUM_THREADS": "1"} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # What a shell that runs the tests in the background has ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def run_ranks(self, environments, commands):
        """The exit status and the output of each rank."""
        with contextlib.ExitStack() as stack:
            processes = []
            for environment, command in zip(environments, commands):
                processes.append(stack.enter_context(self.rank(environment, *command)))
            return [
                (process.communicate(timeout=TIMEOUT)[0], process.returncode)[::-1]
                for process in processes
            ]

    def wait_for(self, process, text):
        """Its output, to the line that has `text`."""
        seen, end = "", time.monotonic() + TIMEOUT
        while text not in seen and time.monotonic() < end:
            line = process.stdout.readline()
            if not line:
                break
            seen += line
        self.assertIn(text, seen)
        return seen
