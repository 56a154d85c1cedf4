# Part of Hocket, under the Apache License v2.0.
"""What a test came to, and how that is printed."""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import tempfile
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


class Meter:
    """Processor seconds, user and system, of the programs of a job."""

    def __init__(self):
        self.seconds, self.lock = 0.0, threading.Lock()

    def add(self, usage):
        with self.lock:
            self.seconds += usage.ru_utime + usage.ru_stime


# Of each thread that runs jobs: its number, and the meter of its job.
WORKER = threading.local()


def wait_for(program, timeout):
    """The exit status of a program that was started, or None after `timeout`
    seconds, when it is ended. Its processor seconds are added to the job's."""
    stopped = threading.Event()

    def stop():
        stopped.set()
        program.kill()

    timer = threading.Timer(timeout, stop)
    timer.start()
    try:
        _, status, usage = os.wait4(program.pid, 0)
    finally:
        timer.cancel()
    program.returncode = os.waitstatus_to_exitcode(status)
    if meter := getattr(WORKER, "meter", None):
        meter.add(usage)
    return None if stopped.is_set() else program.returncode


def execute(command, timeout, **options):
    """Runs a program: (exit status or None after `timeout` seconds, output)."""
    with tempfile.TemporaryFile() as output:
        try:
            program = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **options,
            )
        except OSError as error:
            return 127, str(error)
        status = wait_for(program, timeout)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return status, text if status is not None else f"{text}\nstopped after {timeout} s"


def _begin(numbers, meter):
    WORKER.number, WORKER.meter = next(numbers), meter


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
    begin = (iter(range(jobs)), getattr(WORKER, "meter", None))
    with concurrent.futures.ThreadPoolExecutor(
        jobs, initializer=_begin, initargs=begin
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


@dataclass(frozen=True)
class Done:
    """What a job came to; how long it took, and how much of a processor's time."""

    job: Job
    cases: list[Case]
    seconds: float
    processor: float


def run_all(jobs, at_a_time):
    """Runs jobs, those that take longest first, and announces what is not
    passed as each is done."""

    def timed(job):
        start, WORKER.meter = time.monotonic(), Meter()
        cases = job.run()
        seconds = time.monotonic() - start
        return Done(job, cases, seconds, WORKER.meter.seconds)

    ordered = sorted(jobs, key=lambda job: -job.cost)
    for number, done in enumerate(concurrently(timed, ordered, at_a_time), start=1):
        for case in done.cases:
            announce(case)
        print(
            f"   [{number}/{len(ordered)}] {done.job.name}: {summary(done.cases)}"
            f" ({done.seconds:.1f} s)",
            flush=True,
        )
        yield done


def write_times(path, ran):
    """Every job and every case of a second or more, the most expensive jobs first."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("processor-seconds  seconds  job or case\n")
        for done in sorted(ran, key=lambda done: -done.processor):
            file.write(f"{done.processor:9.1f} {done.seconds:9.1f} {done.job.name}\n")
            for case in sorted(done.cases, key=lambda case: -case.seconds):
                if case.seconds >= 1:
                    file.write(f"{'':9} {case.seconds:9.1f}   {case.name}\n")


def report_slowest(ran, number):
    """The jobs that take most of a processor's time."""
    ordered = sorted(ran, key=lambda done: -done.processor)[:number]
    total = sum(done.processor for done in ran)
    print(f"== {total:.0f} processor seconds in all jobs; the most expensive:")
    for done in ordered:
        print(f"     {done.processor:7.1f} of {done.seconds:7.1f} s {done.job.name}")


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
