#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""The pages of inspect, plan and data inspect in a real browser: a phone, a
tablet and a desk, light and dark."""

import os
import pathlib
import re
import tempfile
import unittest

import browser
from programs import ROOT, hocket

WIDTHS = (390, 768, 1280)
SPEC = """name: "tiny"
model {
  layers: 4 hidden: 32 heads: 4 kv_heads: 4 ffn: 64 vocab_size: 257
  max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY
  bias: false tied_embeddings: false
}
training {
  sequence_length: 16 micro_batch_size: 2 global_batch_size: 16
  precision: BF16 steps: 1
}
"""
MESH = ("--mesh", "pp=2,dp=2,tp=2", "--sequence-parallel", "--zero", "1")
KIND = re.compile(r"--kind-([a-z-]+):")


@unittest.skipUnless(browser.PROGRAM, browser.MISSING)
class PagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.spec = cls.folder / "tiny.textproto"
        cls.spec.write_text(SPEC)
        cls.program = cls.folder / "tiny.hkx"
        cls.must("compile", cls.spec, *MESH, "-o", cls.program)
        cls.script = (ROOT / "test/tools/look_at_page.js").read_text()

    @staticmethod
    def must(*arguments):
        done = hocket(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def looks(self, page):
        """What is seen of a page, by width and whether it is dark."""
        import devtools

        seen = {}
        # Where somebody wants to look too: HOCKET_SCREENSHOTS=FOLDER.
        shots = os.environ.get("HOCKET_SCREENSHOTS")
        with devtools.Browser() as chrome:
            for width in WIDTHS:
                for dark in (False, True):
                    session = chrome.open(page, width, dark)
                    seen[width, dark] = chrome.evaluate(session, self.script)
                    seen[width, dark]["complaints"] = chrome.complaints()
                    if shots:
                        name = f"{page.stem}-{width}-{'dark' if dark else 'light'}.png"
                        chrome.screenshot(session, pathlib.Path(shots) / name)
                    chrome.close()
        return seen

    def check(self, page, charts, first_chart):
        """Nothing overlaps, leaves the page or complains, at every width; the
        answer is the words of the widest."""
        seen = self.looks(page)
        for (width, dark), look in seen.items():
            with self.subTest(page=page.name, width=width, dark=dark):
                self.assertEqual(look["complaints"], [])
                self.assertEqual(look["covered"], [])
                self.assertEqual(look["wide"], [])
                self.assertEqual(look["squeezed"], [])
                self.assertGreater(look["texts"], 60)
                self.assertEqual(set(look["marks"]), charts)
                for name, marks in look["marks"].items():
                    self.assertGreaterEqual(marks["texts"], 2, name)
                    drawn = marks["shapes"] + marks["colors"]
                    self.assertGreater(drawn, 3, name)
                # Exponents, and zeros where there is something.
                self.assertNotRegex(look["words"], r"\de[+-]\d|-0\.0|NaN|undefined")
        self.assertLess(seen[390, False]["first_chart"], first_chart)
        paper = {dark: seen[1280, dark]["paper"] for dark in (False, True)}
        self.assertNotEqual(paper[False], paper[True])
        return seen[1280, False]["words"]

    def inspect(self, name, *options):
        page = self.folder / f"{name}.html"
        self.must("inspect", self.program, "--html", page, *options)
        return page

    def test_an_executable(self):
        words = self.check(self.inspect("inspect"), {"gantt-chart", "memory-chart"}, 700)
        self.assertIn("tiny on 8 ranks", words)
        self.assertIn("4 microbatches\nof 2 sequences on each rank", words)
        self.assertNotIn("Where the step goes", words)

    def test_an_executable_on_a_cluster(self):
        page = self.inspect("cluster", "--cluster", "h100:8")
        words = self.check(page, {"gantt-chart", "memory-chart"}, 700)
        self.assertIn("Predicted for h100", words)
        self.assertIn("Where the step goes", words)
        self.assertIn("Its plan was priced at", words)

    def test_an_executable_for_gpus(self):
        program = self.folder / "gpu.hkx"
        self.must("compile", self.spec, *MESH, "--target", "cuda", "-o", program)
        page = self.folder / "gpu.html"
        self.must("inspect", program, "--html", page, "--system", "h200")
        words = self.check(page, {"gantt-chart", "memory-chart"}, 700)
        self.assertIn("Roofline", words)
        self.assertIn("Predicted for NVIDIA H200", words)
        self.assertIn("short: longer to start than to run", words)

    def test_a_plan(self):
        page = self.folder / "plan.html"
        spec = ROOT / "examples/gpt-3-175b/spec.textproto"
        self.must("plan", spec, "--cluster", "h100:1024", "--html", page)
        words = self.check(page, {"pareto-chart", "ranks-chart", "gantt-chart"}, 1500)
        self.assertIn("gpt-3-175b on 1,024 × h100", words)

    def test_the_plan_of_a_small_model(self):
        """Its times are not three decimals of nothing."""
        page = self.folder / "small.html"
        self.must("plan", self.spec, "--cluster", "h100:4", "--html", page)
        words = self.check(page, {"pareto-chart", "ranks-chart", "gantt-chart"}, 1500)
        self.assertNotIn("0.000", words)

    def test_data(self):
        """Of one pair of files, and of a blend."""
        prefixes = []
        for name, most in (("books", 3000), ("a-long-name-of-news", 400)):
            lines = [f'{{"text": "{"x" * (i * i % most)}"}}\n' for i in range(200)]
            text = self.folder / f"{name}.jsonl"
            text.write_text("".join(lines))
            self.must("data", "prepare", text, "-o", self.folder / name)
            prefixes.append(self.folder / f"{name}_text_document")
        page = self.folder / "data.html"
        said = self.must("data", "inspect", prefixes[0], "--html", page)
        self.assertIn("200 documents in", said)
        self.assertIn(f"{page}: ", said)
        words = self.check(page, {"lengths-chart"}, 700)
        self.assertIn("tokens in 200 documents", words)
        self.assertNotIn("weight", words)
        page = self.folder / "blend.html"
        blend = ("0.75", prefixes[0], "0.25", prefixes[1])
        said = self.must("data", "inspect", *blend, "--page", page)
        words = self.check(page, {"lengths-chart"}, 700)
        self.assertIn("tokens in 400 documents", words)
        for word in ("75.0 %", "25.0 %", "passes", "2,048 to 4,095"):
            self.assertIn(word, words)
            self.assertIn(word, said)

    def test_a_kind_of_memory_has_one_colour(self):
        """Every kind that a page shows is in the one table of colours."""
        plan = self.folder / "colours.html"
        self.must("plan", self.spec, "--cluster", "h100:4", "--html", plan)
        tables = []
        for page in (self.inspect("colours-inspect"), plan):
            text = page.read_text()
            tables.append(text[text.index(":root {") : text.index("}")])
        self.assertEqual(*tables)
        known = set(KIND.findall(tables[0]))
        shown = set(re.findall(r'"kinds":\s*\[([^\]]*)\]', self.inspect("k").read_text()))
        names = {n for kinds in shown for n in re.findall(r'"([^"]+)"', kinds)}
        names |= {"parameters", "gradients", "optimizer", "activations", "logits", "workspace"}
        self.assertLessEqual({n.replace(" ", "-") for n in names}, known)


if __name__ == "__main__":
    unittest.main()
