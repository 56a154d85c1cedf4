# Part of Hocket, under the Apache License v2.0.
"""The IR tests: lit over test/**/*.mlir, as configured in the build."""

import json
import pathlib
import sys
import tempfile

from runner.googletest import environment
from runner.result import FAILED, PASSED, SKIPPED, Case, Job, execute

LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
TIMEOUT = 1800  # seconds; of all
OUTCOMES = {
    "PASS": PASSED,
    "FLAKYPASS": PASSED,
    "XFAIL": PASSED,
    "UNSUPPORTED": SKIPPED,
    "SKIPPED": SKIPPED,
}


def case(test):
    passed = OUTCOMES.get(test["code"], FAILED)
    output = test["output"] if passed == FAILED else "not supported here"
    return Case(test["name"], passed, output, test.get("elapsed") or 0.0)


def run(context):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [sys.executable, LIT, "-q", "-o", report, "-v"]
        command += ["-j", "1"]  # other jobs run beside it
        if context.filter:
            command += ["--filter", context.filter, "--allow-empty-runs"]
        command.append(context.build / "test")
        status, output = execute(
            list(map(str, command)), TIMEOUT, env=environment(context)
        )
        tests = json.loads(report.read_text())["tests"] if report.exists() else []
    cases = [case(test) for test in tests]
    if status != 0 and not any(case.outcome == FAILED for case in cases):
        cases.append(Case(f"lit (exit {status})", FAILED, output))
    return cases


def jobs(context):
    return [Job("lit", lambda: run(context), cost=60)]
