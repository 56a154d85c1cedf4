#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Runs the tests of a build and the quick lints, and prints one closing line.

    python3 test/run_tests.py --build build [--only SUITE] [--filter TEXT]

clang-tidy over all sources (`make lint`) is run by `--only tidy`. What each job
took is written to <build>/test-times.txt.
Exit status: 0 if every test passed, 1 if one failed or none ran. Needs the
standard library alone.
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from runner import googletest, irtest, lints, result, scripts, tidy  # noqa: E402

SUITES = {
    "lint": lints,
    "ir": irtest,
    "googletest": googletest,
    "script": scripts,
    "tidy": tidy,
}
TESTS = ("lint", "ir", "googletest", "script")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("-j", "--jobs", default=os.cpu_count(), type=int)
    parser.add_argument(
        "--only", action="append", choices=SUITES, help="run only this suite"
    )
    parser.add_argument(
        "--filter", default="", help="run only tests with this in their name"
    )
    parser.add_argument(
        "--slowest", default=10, type=int, help="how many jobs to list at the end"
    )
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as kernels:
        return run(arguments, pathlib.Path(kernels))


def run(arguments, kernels):
    context = result.Context(
        pathlib.Path(__file__).resolve().parent.parent,
        arguments.build.resolve(),
        arguments.jobs,
        arguments.filter,
        kernels,
    )
    jobs = {
        job: name
        for name in arguments.only or TESTS
        for job in SUITES[name].jobs(context)
    }
    cases = {name: [] for name in jobs.values()}
    seconds, ran = dict.fromkeys(cases, 0.0), []
    for done in result.run_all(jobs, context.jobs):
        ran.append(done)
        cases[jobs[done.job]] += done.cases
        seconds[jobs[done.job]] += done.seconds
    for name, own in cases.items():
        result.report(name, own, seconds[name])
    result.write_times(context.build / "test-times.txt", ran)
    result.report_slowest(ran, arguments.slowest)
    return result.close([case for own in cases.values() for case in own])


if __name__ == "__main__":
    sys.exit(main())
