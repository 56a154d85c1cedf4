# Part of Hocket, under the Apache License v2.0.
"""hocket compile --plan auto: search, compile and certify in one command."""

import json
import pathlib
import tempfile
import unittest

from programs import ROOT, hocket

H100 = ROOT / "runtime/cluster/systems/h100.textproto"

SPEC = """name: "tiny"
model { layers: 8 hidden: 64 heads: 4 vocab_size: 256 max_positions: 64 }
training { global_batch_size: 32 precision: BF16 }
plan { tensor_parallel: 2 } cluster { memory_bytes: 1 }
"""


class CompilePlanTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.spec = self.folder / "spec.textproto"
        self.spec.write_text(SPEC)

    def cluster(self, kibibytes, devices=4):
        """H100s with less memory."""
        path = self.folder / f"small{kibibytes}.textproto"
        text = H100.read_text().replace(
            "memory_bytes: 85899345920", f"memory_bytes: {kibibytes << 10}"
        )
        path.write_text(text)
        return f"{path}:{devices}"

    def compile(self, *arguments):
        done = hocket("compile", self.spec, "--plan", "auto", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        done = hocket("compile", self.spec, *arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def test_certifies_what_was_planned(self):
        program = self.folder / "program.hkx"
        cluster = self.cluster(1 << 20)
        report = json.loads(
            self.compile("--cluster", cluster, "-o", program, "--json")
        )
        planned = [rank["planned"] for rank in report["plan"]["memory"]]
        self.assertEqual(planned, [r["arena_bytes"] for r in report["memory"]])
        self.assertEqual(hocket("verify", program).returncode, 0)
        shown = json.loads(hocket("inspect", program, "--json").stdout)
        peaks = shown["certificate"]["peaks"]
        self.assertEqual(planned, [peak["arena_bytes"] for peak in peaks])
        for rank in report["plan"]["memory"]:
            for total in ("priced", "planned"):
                parts = [kind[total] for kind in rank["kinds"].values()]
                self.assertEqual(sum(parts), rank[total])

    def test_measures_until_a_plan_fits(self):
        free = json.loads(
            self.compile("--cluster", self.cluster(1 << 20), "--json")
        )
        most = max(r["planned"] for r in free["plan"]["memory"])
        # A byte less than what the fastest needs, and a price that says that
        # it fits.
        kibibytes = (most - 1) >> 10
        cluster = self.cluster(kibibytes)
        report = json.loads(
            self.compile("--cluster", cluster, "--memory-margin", "0%", "--json")
        )
        self.assertLessEqual(
            max(r["planned"] for r in report["plan"]["memory"]), kibibytes << 10
        )
        self.assertNotEqual(report["plan"]["plan"], free["plan"]["plan"])
        self.assertGreaterEqual(
            report["plan"]["nanoseconds"], free["plan"]["nanoseconds"]
        )
        tried = report["plan"]["tried"]
        for earlier in tried[:-1]:
            self.assertGreater(earlier["planned"], kibibytes << 10)

    def test_says_what_each_rank_holds(self):
        text = self.compile("--cluster", self.cluster(1 << 20))
        self.assertRegex(text, r"(?m)^plan: pp=\d+,dp=\d+,tp=\d+")
        self.assertRegex(text, r"(?m)^rank +priced +planned +difference")
        self.assertIn("not written", text)

    def test_same_program_as_with_the_plan_by_hand(self):
        cluster = self.cluster(1 << 20)
        program, plan = self.folder / "a.hkx", self.folder / "plan"
        self.compile("--cluster", cluster, "-o", program)
        done = hocket("plan", self.spec, "--cluster", cluster, "-o", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = self.folder / "b.hkx"
        options = ("--set", "training.global_batch_size=32", "--memory", "1GiB")
        done = hocket("compile", self.spec, "--plan", plan, *options, "-o", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(program.read_bytes(), other.read_bytes())

    def test_refuses(self):
        cluster = ("--cluster", self.cluster(1 << 20))
        auto = ("--plan", "auto")
        self.assertIn("write --cluster too", self.refused(*auto))
        self.assertIn("is for --plan auto", self.refused(*cluster, "-o", "x"))
        self.assertIn("-o is required", self.refused())
        self.assertIn(
            "chooses what --mesh sets", self.refused(*auto, *cluster, "--mesh", "tp=2")
        )
        self.assertIn(
            "--memory-margin", self.refused(*auto, *cluster, "--memory-margin", "x")
        )
        self.assertIn(
            "-o is required", self.refused(*auto, *cluster, "--compile-to", "kern")
        )
        small = self.refused(*auto, "--cluster", self.cluster(64))
        self.assertRegex(small, r"no plan for 4 devices of h100 fits 60\.80 KiB a rank")
        none = self.refused(*auto, "--cluster", self.cluster(1 << 20, devices=11))
        self.assertIn("no plan for 11 devices", none)


if __name__ == "__main__":
    unittest.main()
