#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket inspect --roofline: what each kernel of a step should take on a GPU."""

import collections
import json
import pathlib
import re
import tempfile
import unittest

from programs import ROOT, has_nvrtc, hocket

SPECS = ROOT / "examples"
SYSTEMS = ROOT / "runtime/cluster/systems"
GEMM = re.compile(r"gemm .*\[(\d+) x (\d+) x (\d+)\]")


class RooflineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.gpt2 = cls.compile("gpt2", "gpt2-124m", "--microbatches", 2,
                               "--set", "training.micro_batch_size=64")  # fmt: skip

    @classmethod
    def compile(cls, name, spec, *options, target="cuda"):
        out = cls.folder / f"{name}.hkx"
        cls.must("compile", SPECS / spec / "spec.textproto", "--target", target,
                 "-o", out, *options)  # fmt: skip
        return out

    @staticmethod
    def must(*arguments):
        done = hocket(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        self.assertEqual(done.stdout, "")
        return done.stderr

    def roofline(self, program, *options):
        return json.loads(self.must("inspect", program, "--roofline", "--json", *options))

    def test_a_joint_gradient_of_attention_has_five_products(self):
        joint = self.compile("joint", "gpt2-124m", "--microbatches", 2, "--attention-gradient", "joint",
                             "--set", "training.micro_batch_size=64")  # fmt: skip

        def gradients(program):
            kernels = self.roofline(program)["roles"][0]["kernels"]
            found = [k for k in kernels if re.match("attention_backward.*Gradient", k["name"])]
            return (sum(k["launches"] for k in found),
                    sum(k["launches"] * k["flops"] for k in found))  # fmt: skip

        apart, together = gradients(self.gpt2), gradients(joint)
        self.assertEqual(apart[0], 2 * together[0])
        self.assertAlmostEqual(together[1] / apart[1], 5 / 7)

    def test_gemms_are_those_of_the_program(self):
        """Counted again from the listing of instructions."""
        role = json.loads(self.must("inspect", self.gpt2, "--json"))["roles"][0]
        expected = collections.Counter()
        for run in role["entries"]["train_step"]:
            for instruction in role["sequences"][run["sequence"]]["instructions"]:
                if found := GEMM.search(instruction["text"]):
                    m, n, k = map(int, found.groups())
                    expected[m * n, k] += 2 * m * n * k
        self.assertGreater(len(expected), 5)
        counted = collections.Counter()
        for kernel in self.roofline(self.gpt2)["roles"][0]["kernels"]:
            if found := re.match(r"gemm (\d+)x(\d+)x(\d+) bf16", kernel["name"]):
                m, n, k = map(int, found.groups())
                self.assertEqual(kernel["flops"], 2 * m * n * k)
                counted[m * n, k] += kernel["launches"] * kernel["flops"]
                least = 2 * (m * k + k * n + m * n)
                self.assertGreaterEqual(kernel["bytes"], least)
        self.assertEqual(counted, expected)

    def test_the_step_is_what_its_kernels_take(self):
        found = self.roofline(self.gpt2, "--system", "h200")
        self.assertTrue(found["predicted"])
        kernels = found["roles"][0]["kernels"]
        total = sum(k["seconds"] * k["launches"] for k in kernels)
        self.assertAlmostEqual(found["seconds"], total + found["outside_seconds"], 9)
        self.assertAlmostEqual(sum(found["roles"][0]["seconds_by_bound"].values()), total, 9)
        shares = [k["share"] for k in kernels]
        self.assertEqual(shares, sorted(shares, reverse=True))
        # 128 sequences of 1,024 tokens, at the FLOPs that inspect says.
        per_token = json.loads(self.must("inspect", self.gpt2, "--json"))["flops_per_token"]
        rate = 128 * 1024 / found["seconds"]
        self.assertAlmostEqual(found["tokens_per_second"] / rate, 1, 9)
        self.assertAlmostEqual(found["mfu"], rate * per_token / 989.4e12, 9)
        for kernel in kernels:
            legs = [kernel.get(f"{leg}_seconds", 0) for leg in ("compute", "memory", "latency")]
            beside = kernel["start_seconds"] + kernel.get("epilogue_seconds", 0)
            self.assertAlmostEqual(kernel["seconds"], max(legs) + beside, 12)

    def test_trace_and_page_say_the_same(self):
        found = self.roofline(self.gpt2, "--system", "h200")
        trace = self.folder / "t.json"
        self.must("trace", self.gpt2, "-o", trace, "--cluster", "h200")
        spans = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
        last = max(e["ts"] + e["dur"] for e in spans) * 1e-6
        self.assertAlmostEqual(last + found["outside_seconds"], found["seconds"], 6)
        page = self.folder / "page.html"
        for device in (("--system", "h200"), ("--cluster", "h200:1")):
            self.must("inspect", self.gpt2, "--html", page, *device)
            data = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1]
            self.assertEqual(json.loads(data)["roofline"], found)

    def test_text_has_the_longest_first_and_what_limits_it(self):
        text = self.must("inspect", self.gpt2, "--roofline")
        self.assertIn("predicted for h200 (NVIDIA H200", text)
        self.assertIn("nothing was run", text)
        self.assertRegex(text, r"(?m)^ +tokens/s +[\d,]+, 131,072 a step on 1 rank$")
        self.assertRegex(text, r"(?m)^ +MFU +\d+\.\d% of 989\.4 TFLOP/s")
        self.assertIn("compile with --arch sm_90a", text)
        shares = list(map(float, re.findall(r"(?m)^ *(\d+\.\d)% ", text)))
        self.assertGreater(len(shares), 20)
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertRegex(text, r"gemm 65536x50304x768 bf16 +\d+ waves of")

    def test_a_faster_gpu_is_faster(self):
        seconds = {s: self.roofline(self.gpt2, "--system", s)["seconds"]
                   for s in ("a100", "h100", "h200")}  # fmt: skip
        self.assertLess(seconds["h200"], seconds["h100"])
        self.assertLess(seconds["h100"], seconds["a100"] / 1.5)
        # A description of one's own.
        mine = self.folder / "mine.textproto"
        text = (SYSTEMS / "h200.textproto").read_text()
        mine.write_text(text.replace("memory_bandwidth: 4800e9", "memory_bandwidth: 2400e9"))
        slower = self.roofline(self.gpt2, "--system", mine)["seconds"]
        self.assertGreater(slower, seconds["h200"])

    def test_every_role_of_a_pipeline_has_its_kernels(self):
        program = self.compile("eight", "nano", "--mesh", "pp=2,dp=2,tp=2")
        found = self.roofline(program, "--system", "h100")
        self.assertEqual([r["ranks"] for r in found["roles"]], [4, 4])
        self.assertGreater(found["waiting_seconds"], 0)
        for role in found["roles"]:
            links = [k for k in role["kernels"] if k["bound"] == "link"]
            self.assertIn("all_reduce tp", {k["name"] for k in links})
            self.assertTrue(all("blocks" not in k for k in links))
        text = self.must("inspect", program, "--roofline", "--system", "h100")
        self.assertIn("--json has all 2 roles", text)

    @unittest.skipUnless(has_nvrtc(), "there is no NVRTC")
    def test_registers_are_those_of_the_code(self):
        program = self.compile("code", "nano", "--arch", "sm_90a")
        found = self.roofline(program, "--system", "h100")
        self.assertTrue(found["registers_known"])
        for kernel in found["roles"][0]["kernels"]:
            if "threads" in kernel:
                self.assertIn(kernel["registers"], range(8, 256), kernel)
        attention = next(k for k in found["roles"][0]["kernels"]
                         if k["name"] == "attention_forward")  # fmt: skip
        # Warpgroups hand registers over: one block a multiprocessor.
        self.assertEqual(attention["registers"] * attention["threads"], 65536)
        self.assertEqual(attention["blocks_of_a_multiprocessor"], 1)
        self.assertFalse(self.roofline(program, "--system", "a100")["registers_known"])

    def test_wrong_questions_have_one_answer(self):
        unknown = self.refused("inspect", self.gpt2, "--roofline", "--system", "h900")
        self.assertEqual(unknown, "hocket: --system h900: no system is called 'h900'; there "
                         "are a100, b200, b300, gb200, gb300, h100, h200, v100, or write the path of a description\n")  # fmt: skip
        self.assertIn("cannot open",
                      self.refused("inspect", self.gpt2, "--roofline", "--system", "./no"))  # fmt: skip
        cpu = self.compile("cpu", "nano", target="cpu")
        message = self.refused("inspect", cpu, "--roofline")
        self.assertIn("is for cpu", message)
        self.assertIn("--target cuda", message)
        self.assertEqual(message.count("\n"), 1)
        bare = self.folder / "bare.textproto"
        text = (SYSTEMS / "h200.textproto").read_text()
        for part in (r"  multiprocessors \{.*?\n  \}\n", r"kernels \{.*?\n\}\n"):
            text = re.sub(part, "", text, flags=re.S)
        bare.write_text(text)
        self.assertIn("what multiprocessors", self.refused(
            "inspect", self.gpt2, "--roofline", "--system", bare))  # fmt: skip
        self.assertIn("--system is for --roofline or --html",
                      self.refused("inspect", self.gpt2, "--system", "h100"))  # fmt: skip
        self.refused("inspect", self.gpt2, "--roofline", "--system", "h100", "--cluster", "h100")
        self.refused("inspect", self.gpt2, "--roofline", "--html", self.folder / "x.html")


if __name__ == "__main__":
    unittest.main()
