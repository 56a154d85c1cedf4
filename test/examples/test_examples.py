# Part of Hocket, under the Apache License v2.0.
"""Every example compiles into a sound executable, in little memory."""

import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
MEMORY = 4 << 30  # bytes; of a compilation, however large the model is

# Elements of all parameters. Every page states this number of its model.
SIZES = {
    "nano": 10_819_968,
    "gpt2-124m": 124_439_808,
    "bert-base": 110_106_428,
    "mnli": 335_144_963,
    "t5": 222_903_552,
    "retro": 148_857_600,
    "gpt2-1.5b": 1_557_611_200,
    "sft": 596_049_920 + 28 * 16 * 22_528,  # and adapters of rank 16
    "llava": 7_063_427_072,
    "llama-3-8b": 8_030_261_248,
    "gemma-3-1b": 999_885_952,
    "nano-moe": 28_530_048,
    "hybrid": 12_235_024,
    "mixtral-8x7b": 46_702_792_704,
    "gpt-3-175b": 174_604_259_328,
}
# What the padding of vocabularies adds to them.
PADDING = {
    "gpt2-124m": 47 * 768,
    "bert-base": 6 * 769,
    "retro": 47 * 768,
    "gpt2-1.5b": 47 * 1600,
    "gpt-3-175b": 47 * 12288,
}
FIGURE = re.compile(r"(\d[\d,.]*)( million| billion)?$")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def hocket(*arguments, **options):
    command = [BUILD / "bin/hocket", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )


class ExamplesTest(unittest.TestCase):
    def test_all_are_here(self):
        folders = (ROOT / "examples").glob("*/spec.textproto")
        self.assertEqual({path.parent.name for path in folders}, set(SIZES))

    def check(self, name):
        spec = ROOT / "examples" / name / "spec.textproto"
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.hkx"
            bounds = {} if "asan" in str(BUILD) else {"preexec_fn": limit_memory}
            done = hocket("compile", spec, "-o", program, **bounds)
            self.assertEqual(done.returncode, 0, done.stderr)
            verified = hocket("verify", program)
            self.assertEqual(verified.returncode, 0, verified.stderr)
            shown = hocket("inspect", program, "--json")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            text = json.dumps(json.loads(shown.stdout))
            self.assertIn(str(SIZES[name] + PADDING.get(name, 0)), text)

    def check_figure(self, figure, name):
        """`12.2 million`, or all digits, is the number to the digits written."""
        number, scale = FIGURE.match(figure).groups()
        unit = {None: 1, " million": 10**6, " billion": 10**9}[scale]
        digits = len(number.partition(".")[2])
        rounded = f"{SIZES[name] / unit:,.{digits}f}"
        self.assertEqual(number, rounded, f"{name}: {figure} parameters")

    def test_the_table_has_the_figures_of_the_programs(self):
        page = (ROOT / "examples/README.md").read_text()
        rows = dict(re.findall(r"^\| \[([^\]]+)\]\(\1\) \|.*\| ([^|]+) \|$", page, re.M))
        self.assertEqual(rows.keys(), SIZES.keys())
        for name, figure in rows.items():
            self.check_figure(figure, name)

    def test_the_pages_have_the_figures_of_the_programs(self):
        for name in SIZES:
            page = (ROOT / "examples" / name / "README.md").read_text()
            text = " ".join(page.split())
            found = re.findall(r"(\d[\d,.]*(?: million| billion)?) parameters", text)
            self.assertTrue(found, f"{name}: the page does not say how many parameters")
            for figure in found:
                self.check_figure(figure, name)


def add_tests():
    for name in SIZES:
        method = "test_" + name.replace("-", "_").replace(".", "_")
        setattr(ExamplesTest, method, lambda self, n=name: self.check(n))


add_tests()
