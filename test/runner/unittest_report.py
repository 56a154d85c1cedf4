# Part of Hocket, under the Apache License v2.0.
"""unittest_report.py SCRIPT REPORT: runs a script's tests, reports in JSON."""

import importlib.util
import json
import os
import sys
import time
import unittest


class Report(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.cases, self.start, self.subtests = [], time.monotonic(), []

    def startTest(self, test):
        super().startTest(test)
        self.start, self.subtests = time.monotonic(), []

    def add(self, test, outcome, output=""):
        name = test.id().removeprefix("script.")
        seconds = time.monotonic() - self.start
        self.cases.append(
            dict(name=name, outcome=outcome, output=output, seconds=seconds)
        )

    def addSuccess(self, test):
        self.add(test, "passed")

    def addSkip(self, test, reason):
        self.add(test, "skipped", reason)

    def addFailure(self, test, err):
        self.add(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(subtest, err)


def main(script, report):
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(script))
    spec = importlib.util.spec_from_file_location("script", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = Report()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    with open(report, "w", encoding="utf-8") as file:
        json.dump(result.cases, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
