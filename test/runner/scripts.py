# Part of Hocket, under the Apache License v2.0.
"""The unittest programs test/**/test_*.py, each in its own process.

They drive the programs of the build, which they find through the environment
variable HOCKET_BUILD_DIR. A script that takes long says so for the order in which
they start: `COST = 90  # seconds`.
"""

import functools
import json
import pathlib
import re
import sys
import tempfile

from runner.googletest import environment
from runner.result import FAILED, Case, Job, execute

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


def cost(script):
    said = re.search(r"^COST = (\d+)", script.read_text(), re.M)
    return float(said[1]) if said else 10.0


def jobs(context):
    for script in sorted((context.root / "test").rglob("test_*.py")):
        if context.wants(str(script)):
            name = str(script.relative_to(context.root))
            run = functools.partial(run_script, context, script)
            yield Job(name, run, cost(script))
