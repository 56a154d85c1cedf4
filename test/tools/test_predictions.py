#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""One step has one price: what the plan was priced at, and what the program
that was compiled from it is predicted to take on the same cluster."""

import json
import pathlib
import re
import tempfile
import unittest

from programs import ROOT, hocket

# Of the plan's price: what docs/guide-looking-inside.md says.
TOLERANCE = 0.17
# A model, a cluster, and its plan in short; the sizes are those of the examples.
CASES = (
    ("gpt2-1.5b", "h100:8", "dp=8,mbs=4,zero=1"),
    ("gpt2-1.5b", "h100:64", "dp=64,mbs=8,zero=2"),
    ("llama-3-8b", "h100:64", "pp=4,dp=4,tp=4,mbs=1,zero=1,sp=1"),
    ("llama-3-8b", "a100:32", "dp=4,tp=8,mbs=1,zero=1,sp=1"),
    ("gpt-3-175b", "h100:1024", "pp=16,dp=8,tp=8,v=2,mbs=1,zero=1,sp=1"),
)
MESSAGE = {"pp": "pipeline_parallel", "dp": "data_parallel", "tp": "tensor_parallel",
           "v": "virtual_stages", "mbs": "micro_batch_size", "zero": "zero_stage"}  # fmt: skip


def plan_text(short):
    """The short form as the textproto of a plan."""
    lines = []
    for part in short.split(","):
        key, value = part.split("=")
        lines.append("sequence_parallel: true" if key == "sp" else f"{MESSAGE[key]}: {value}")
    return "\n".join(lines) + "\n"


class PredictionsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout, done.stderr))
        return done.stdout

    def compiled(self, model, short, layers=None):
        spec = ROOT / f"examples/{model}/spec.textproto"
        plan, program = self.folder / "plan.textproto", self.folder / "p.hkx"
        plan.write_text(plan_text(short))
        fewer = ("--set", f"model.layers={layers}") if layers else ()
        self.must("compile", spec, "--plan", plan, "-o", program, *fewer)
        return spec, plan, program, fewer

    def timeline(self, program, *options):
        page = self.folder / "page.html"
        self.must("inspect", program, "--html", page, *options)
        data = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1]
        return json.loads(data)["timeline"]

    def test_plan_and_program_agree(self):
        for model, cluster, short in CASES:
            with self.subTest(model=model, cluster=cluster, plan=short):
                # As many layers as make a stage of a few.
                layers = 16 if "pp=4" in short else 64 if "pp=16" in short else 8
                spec, plan, program, fewer = self.compiled(model, short, layers)
                timeline = self.timeline(program, "--cluster", cluster)
                price = timeline["price"]
                simulated = json.loads(self.must(
                    "simulate", spec, "--plan", plan, "--cluster", cluster, "--json", *fewer
                ))  # fmt: skip
                # The price that the program carries is that of its plan.
                self.assertAlmostEqual(price["seconds"], simulated["nanoseconds"] * 1e-9, 9)
                ratio = timeline["seconds"] / price["seconds"]
                self.assertLess(abs(ratio - 1), TOLERANCE, timeline)
                for terms, total in (
                    (timeline["terms"], timeline["seconds"]),
                    (price["terms"], price["seconds"]),
                ):  # fmt: skip
                    self.assertAlmostEqual(sum(terms.values()), total, 6)
                # Terms have the names of a price's.
                self.assertLessEqual(set(timeline["terms"]), set(price["terms"]))
                # One model of GEMMs: what is computed again included.
                again = price["terms"]["recompute"]
                self.assertAlmostEqual(
                    timeline["terms"]["GEMMs"] / (price["terms"]["GEMMs"] + again),
                    1, delta=0.05)  # fmt: skip

    def test_trace_says_what_inspect_says(self):
        _, _, program, _ = self.compiled("llama-3-8b", "pp=4,dp=4,tp=4,mbs=1,zero=1,sp=1", 16)
        for cluster in ("h100:64", "h100"):
            out = self.folder / "t.json"
            text = self.must("trace", program, "-o", out, "--cluster", cluster)
            self.assertIn("predicted for h100", text)
            self.assertIn("its plan was priced at", text)
            self.assertRegex(text, r"(?m)^ +plan +program +difference$")
            spans = [e for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X"]
            last = max(e["ts"] + e["dur"] for e in spans) * 1e-6
            timeline = self.timeline(program, "--cluster", cluster)
            outside = timeline["terms"]["outside"]
            self.assertAlmostEqual(last + outside, timeline["seconds"], 6)
            # Where they differ by more than a hundredth, it says why.
            for name, seconds in timeline["terms"].items():
                if abs(seconds - timeline["price"]["terms"][name]) > 0.011 * timeline["seconds"]:
                    self.assertRegex(text, rf"(?m)^  {name} +\w")

    def test_wrong_clusters_are_refused(self):
        _, _, program, _ = self.compiled("gpt2-1.5b", "dp=8,mbs=4,zero=1", 2)
        out = self.folder / "x.json"
        for expected, options in (
            ("has 8 ranks, one a device; write --cluster h100:8", ("--cluster", "h100:16")),
            ("no system is called 'h900'", ("--cluster", "h900:8")),
            ("--cluster", ("--cluster", "h100:8", "--device-flops", "1e12")),
        ):
            for command in (("trace", program, "-o", out), ("inspect", program, "--html", out)):
                done = hocket(*command, *options)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(expected, done.stderr)
        self.assertFalse(out.exists())

    def test_a_plan_without_a_price_says_so(self):
        spec = ROOT / "examples/nano/spec.textproto"
        program = self.folder / "auto.hkx"
        self.must("compile", spec, "--set", "plan.recompute=AUTO", "-o", program,
                  "--set", "cluster.memory_bytes=4294967296")  # fmt: skip
        text = self.must("trace", program, "-o", self.folder / "t.json", "--cluster", "h100:1")
        self.assertIn("its plan has no price: plan: recompute=auto is not priced", text)


if __name__ == "__main__":
    unittest.main()
