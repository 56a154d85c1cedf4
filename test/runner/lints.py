# Part of Hocket, under the Apache License v2.0.
"""The lints of test/lint, each rule a test."""

import time

from lint import RULES
from lint.tree import Tree
from runner.result import FAILED, PASSED, Case, Job


def check(rule, tree):
    start = time.monotonic()
    problems = list(rule(tree))
    outcome = FAILED if problems else PASSED
    name = rule.__doc__.split("\n")[0].rstrip(".")
    return Case(name, outcome, "\n".join(problems), time.monotonic() - start)


def run(context):
    tree = Tree(context.root)
    return [check(rule, tree) for rule in RULES if context.wants(rule.__doc__)]


def jobs(context):
    return [Job("lints", lambda: run(context))]
