# Part of Hocket, under the Apache License v2.0.
"""Processes of the check, each with its limit, all within a budget: what hangs,
or faults, costs no more than itself."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

from gpu_check import bundle, libraries

LIMIT = 60  # seconds of one process
SANITIZER = "compute-sanitizer"


class Skip(Exception):
    """Why a section, or a row of it, has nothing to say."""


class Failed(Exception):
    """What is wrong."""


class Runner:
    """Programs of a bundle, with the libraries of this machine."""

    def __init__(self, opened, arguments, out):
        self.bundle, self.budget = opened, arguments.budget
        self.limit = min(LIMIT, arguments.limit)
        self.end = time.monotonic() + arguments.budget
        self.cache = out / "compiled-kernels"
        self.environment = os.environ | {"HOCKET_TEST_GPU": "present"}
        if "HOCKET_CACHE" not in os.environ:
            self.cache.mkdir(mode=0o700, exist_ok=True)
            self.environment["HOCKET_CACHE"] = str(self.cache)
        self.use_libraries()
        self.environment |= libraries.find(arguments.python)

    def use_libraries(self):
        """The machine's own libstdc++ where it suffices."""
        before = os.environ.get("LD_LIBRARY_PATH", "")
        lib = self.bundle.path("lib")
        for places in ((lib,), (lib, lib / "base")):
            path = ":".join([*map(str, places), *([before] if before else [])])
            self.environment["LD_LIBRARY_PATH"] = path
            status, _, error = self.run("hocket-runtime", "--help")
            if status == 0:
                return
        raise bundle.Unusable("the runtime does not start here: " + error)

    def left(self):
        return self.end - time.monotonic()

    def run(self, name, *arguments, before=()):
        """(status, stdout, stderr) of a program of the bundle."""
        return self.start([*before, self.bundle.path("bin") / name, *arguments],
                          self.environment)  # fmt: skip

    def start(self, command, environment=None):
        """The same of any command. Skip where no time is left for it."""
        limit = min(self.limit, self.left())
        if limit <= 0:
            raise Skip(f"the budget of {self.budget:g} s is spent")
        process = subprocess.Popen(
            [str(part) for part in command], env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            output, error = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.end_all(process)
            if limit < self.limit:
                raise Skip(f"the budget of {self.budget:g} s is spent") from None
            raise Failed(f"was ended after {limit:g} s: it hangs, or is slow") from None
        return process.returncode, output, error

    @staticmethod
    def end_all(process):
        """It and what it started. One that waits in the driver may stay."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)

    @staticmethod
    def sanitizer(tool):
        """The words before a command that is to run under it; none without it."""
        path = shutil.which(SANITIZER) or shutil.which(
            SANITIZER, path="/usr/local/cuda/bin"
        )
        return (path, "--tool", tool, "--error-exitcode", "86") if path else ()

    def sanitizers(self, wanted):
        """The commands of compute-sanitizer's tools that --sanitize names."""
        found = {tool: self.sanitizer(tool) for tool in wanted.split(",") if tool}
        if not all(found.values()):
            raise bundle.Unusable(f"--sanitize: there is no {SANITIZER} on this machine")
        return found

    def explainers(self):
        """The command of the tool that is asked why a test failed."""
        before = self.sanitizer("memcheck")
        return {"memcheck": (*before, "--print-limit", "3")} if before else {}

    def close(self):
        shutil.rmtree(self.cache, ignore_errors=True)


def death_of(status, output):
    """What a process says that did not end as it should."""
    last = output.strip()[-1500:]
    if status < 0:
        return f"ended by {signal.Signals(-status).name}: {last}"
    return f"ended with status {status}: {last}"
