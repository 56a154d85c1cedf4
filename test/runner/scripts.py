# Part of Hocket, under the Apache License v2.0.
"""The unittest programs test/**/test_*.py, each in its own process.

They drive the programs of the build, which they find through the environment
variable HOCKET_BUILD_DIR.
"""

import json
import pathlib
import sys
import tempfile

from runner.googletest import environment
from runner.result import FAILED, Case, announce, concurrently, execute

TIMEOUT = 1800  # seconds; of one program
PROGRAM = pathlib.Path(__file__).with_name("unittest_report.py")


def run_script(context, script):
    name = str(script.relative_to(context.root))
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        status, output = execute(
            [sys.executable, str(PROGRAM), str(script), str(report)],
            context.limit(TIMEOUT),
            cwd=folder,
            env=environment(context),
        )
        tests = json.loads(report.read_text()) if report.exists() else []
    cases = [Case(f"{name} {t.pop('name')}", **t) for t in tests]
    if not cases:
        cases = [Case(f"{name} (exit {status})", FAILED, output)]
    return cases


def run(context):
    found = sorted((context.root / "test").rglob("test_*.py"))
    wanted = [script for script in found if context.wants(str(script))]
    results = concurrently(
        lambda script: run_script(context, script), wanted, context.jobs
    )
    for cases in results:
        yield from map(announce, cases)
