#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Runs every test of a build and every lint, and prints one closing line.

    python3 test/run_tests.py --build build [--only SUITE] [--filter TEXT]

Exit status: 0 if every test passed, 1 if one failed or none ran. Needs the
standard library alone.
"""

import argparse
import os
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from runner import googletest, irtest, lints, result, scripts, tidy  # noqa: E402

SUITES = {
    "lint": lints.run,
    "ir": irtest.run,
    "googletest": googletest.run,
    "script": scripts.run,
    "tidy": tidy.run,
}


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
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    root = pathlib.Path(__file__).resolve().parent.parent
    context = result.Context(
        root, arguments.build.resolve(), arguments.jobs, arguments.filter
    )
    cases = []
    for name in arguments.only or SUITES:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        ran = list(SUITES[name](context))
        result.report(name, ran, time.monotonic() - start)
        cases += ran
    return result.close(cases)


if __name__ == "__main__":
    sys.exit(main())
