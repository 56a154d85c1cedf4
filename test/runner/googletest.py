# Part of Hocket, under the Apache License v2.0.
"""The GoogleTest programs that CMake declared. A long one is declared as several
shards, each of which runs its share of the tests (hocket_test).
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import tempfile

from runner.result import FAILED, PASSED, SKIPPED, Case, Job, execute, one_core

TIMEOUT = 1200  # seconds; of one program


def declared(context):
    """(name, command, properties) of every test of the build."""
    status, output = execute(
        ["ctest", "--show-only=json-v1"], 60, cwd=context.build
    )
    if status != 0:
        raise RuntimeError(f"ctest cannot list the tests:\n{output}")
    for test in json.loads(output)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield test["name"], test.get("command", []), properties


def environment(context):
    """Kernels are compiled once for all programs. Jobs that run side by side share
    the cores: threads of one that wait for each other, as those of tiny models do
    most of the time, wait for the other jobs too. MLIR's packages are not
    instrumented: what a vector or a leak of theirs looks like to AddressSanitizer,
    or memory that their allocators give back, says nothing."""
    return {"HOCKET_NUM_THREADS": str(context.threads)} | os.environ | {
        "HOCKET_BUILD_DIR": str(context.build),
        "HOCKET_CACHE": str(context.kernels),
        "ASAN_OPTIONS": ":".join(
            ("detect_container_overflow=0", "detect_leaks=0", "allow_user_poisoning=0")
        ),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def outcome(test):
    if test.get("failures"):
        return FAILED
    skipped = test.get("result") == "SKIPPED" or test["status"] == "NOTRUN"
    return SKIPPED if skipped else PASSED


def reasons(output):
    """Why tests were skipped, by name: GoogleTest's report does not say."""
    found = re.finditer(
        r"^\S+:\d+: Skipped\n(.*?)\n+\[  SKIPPED \] (\S+)", output, re.M | re.S
    )
    return {match[2].rstrip(","): match[1] for match in found}


def cases_of(program, report, output):
    skipped = reasons(output)
    for suite in report.get("testsuites", []):
        for test in suite["testsuite"]:
            problems = [f["failure"] for f in test.get("failures", [])]
            name = f"{suite['name']}.{test['name']}"
            yield Case(
                f"{program} {name}",
                outcome(test),
                "\n".join(problems) or skipped.get(name, ""),
                float(test["time"].rstrip("s")),
            )


def run_program(context, name, command, properties):
    variables = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
    pinned = properties.get("PROCESSOR_AFFINITY", False)
    with (
        tempfile.TemporaryDirectory() as folder,
        one_core() if pinned else contextlib.nullcontext(),
    ):
        report = pathlib.Path(folder) / "report.json"
        status, output = execute(
            [*command, f"--gtest_output=json:{report}"],
            context.limit(TIMEOUT),
            cwd=folder,
            env=environment(context) | variables,
        )
        text = report.read_text() if report.exists() else ""
    cases = list(cases_of(name, json.loads(text), output)) if text else []
    failed = any(case.outcome == FAILED for case in cases)
    if status != 0 and not failed:
        tail = output[-8000:]
        cases.append(Case(f"{name} (exit {status})", FAILED, tail))
    elif not cases:
        cases.append(Case(f"{name} (holds no test)", FAILED, output))
    return cases


def jobs(context):
    for test in declared(context):
        name, _, properties = test
        if context.wants(name):
            run = functools.partial(run_program, context, *test)
            yield Job(name, run, float(properties.get("COST", 5)))
