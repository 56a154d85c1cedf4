# Part of Hocket, under the Apache License v2.0.
"""What a test came to, and how that is printed."""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Context:
    """Where the sources and the build are, and what was asked for."""

    root: pathlib.Path
    build: pathlib.Path
    jobs: int
    filter: str
    kernels: pathlib.Path  # where compiled kernels are kept for the whole run

    @property
    def sanitized(self):
        cache = self.build / "CMakeCache.txt"
        return "HOCKET_SANITIZE:UNINITIALIZED=ON" in (text := read(cache)) or (
            "HOCKET_SANITIZE:BOOL=ON" in text
        )

    @property
    def threads(self):
        """Of each job."""
        return max(1, len(os.sched_getaffinity(0)) // self.jobs)

    def limit(self, seconds):
        """A program's time limit: a sanitizer slows it several times."""
        return 5 * seconds if self.sanitized else seconds

    def wants(self, name):
        return self.filter in name


@dataclass(frozen=True)
class Case:
    name: str
    outcome: str
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Job:
    """What runs as one process; `run()` gives its cases."""

    name: str
    run: Callable[[], list[Case]]
    cost: float = 0.0  # seconds, roughly: the longest start first


def read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def execute(command, timeout, **options):
    """Runs a program: (exit status or None after `timeout` seconds, output)."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            **options,
        )
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode(errors="replace")
        return None, f"{output}\nstopped after {timeout} s"
    except OSError as error:
        return 127, str(error)


WORKER = threading.local()


def _number(numbers):
    WORKER.number = next(numbers)


@contextlib.contextmanager
def one_core():
    """Programs that this thread starts run on one core, not that of another of
    the threads that run jobs while there are cores enough."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[getattr(WORKER, "number", 0) % len(cores)]
    os.sched_setaffinity(0, {core})  # of this thread
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def concurrently(function, items, jobs):
    """function(item) for every item, `jobs` at a time, as each is done."""
    numbers = iter(range(jobs))
    with concurrent.futures.ThreadPoolExecutor(
        jobs, initializer=_number, initargs=(numbers,)
    ) as pool:
        futures = [pool.submit(function, item) for item in items]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()


def announce(case):
    """Prints a failure with its output the moment it is known."""
    if case.outcome == FAILED:
        print(f"FAILED {case.name}\n{case.output.rstrip()}\n", flush=True)
    elif case.outcome == SKIPPED:
        print(f"skipped {case.name}: {case.output.strip()}", flush=True)


def run_all(jobs, at_a_time):
    """Runs jobs, those that take longest first, and announces what is not
    passed as each is done: yields (job, its cases, its seconds).
    """

    def timed(job):
        start = time.monotonic()
        cases = job.run()
        return job, cases, time.monotonic() - start

    ordered = sorted(jobs, key=lambda job: -job.cost)
    for done, (job, cases, seconds) in enumerate(
        concurrently(timed, ordered, at_a_time), start=1
    ):
        for case in cases:
            announce(case)
        print(
            f"   [{done}/{len(ordered)}] {job.name}: {summary(cases)}"
            f" ({seconds:.1f} s)",
            flush=True,
        )
        yield job, cases, seconds


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)


def summary(cases):
    line = f"{count(cases, PASSED)} passed, {count(cases, FAILED)} failed"
    skipped = count(cases, SKIPPED)
    return line + (f", {skipped} skipped" if skipped else "")


def report(suite, cases, seconds):
    """`seconds` are those of its jobs, added up: several run at a time."""
    print(f"== {suite}: {summary(cases)} ({seconds:.1f} s in its jobs)", flush=True)
    for case in sorted(cases, key=lambda case: -case.seconds)[:3]:
        if case.seconds >= 5:
            print(f"     {case.seconds:6.1f} s {case.name}", flush=True)


def close(cases):
    """Lists the failures, prints the closing line, returns the exit status."""
    failed = [case.name for case in cases if case.outcome == FAILED]
    if failed:
        print("\nFailed:", *failed, sep="\n  ")
    if not count(cases, PASSED):
        print("no test passed")
    print(summary(cases), flush=True)
    return 1 if failed or not count(cases, PASSED) else 0
