# Part of Hocket, under the Apache License v2.0.
"""The suites that test/run_tests.py runs."""
