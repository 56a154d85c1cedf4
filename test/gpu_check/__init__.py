# Part of Hocket, under the Apache License v2.0.
"""The parts of hocket-gpu-check."""
