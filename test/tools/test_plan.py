# Part of Hocket, under the Apache License v2.0.
"""hocket plan, plan diff, simulate and accuracy from outside."""

import json
import pathlib
import re
import tempfile
import unittest

from programs import hocket

SPEC = """name: "mid"
model {
  layers: 24 hidden: 2048 heads: 16 vocab_size: 50257 vocab_padding: 128
  max_positions: 2048
}
training { global_batch_size: 128 precision: BF16 }
"""
TINY = """name: "tiny"
model { layers: 4 hidden: 64 heads: 4 vocab_size: 256 max_positions: 32 }
training { global_batch_size: 8 precision: BF16 }
"""


class PlanTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.spec = self.folder / "spec.textproto"
        self.spec.write_text(SPEC)

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        errors = [line for line in done.stderr.splitlines() if "hocket: " in line]
        self.assertEqual(len(errors), 1, done.stderr)
        return done.stderr

    def plan(self, *arguments, devices=64):
        return self.must(
            "plan", self.spec, "--cluster", f"h100:{devices}", *arguments
        )

    def test_json_sums_exactly(self):
        report = json.loads(self.plan("--json"))
        self.assertEqual(report["gap"], 0)
        self.assertEqual(len(report["plans"]), 10)
        times = [plan["nanoseconds"] for plan in report["plans"]]
        self.assertEqual(times, sorted(times))
        for plan in report["plans"]:
            self.assertEqual(sum(plan["time"].values()), plan["nanoseconds"])
            totals = [rank.pop("total") for rank in plan["memory"]]
            for rank, total in zip(plan["memory"], totals):
                self.assertEqual(sum(rank.values()), total)
            self.assertEqual(max(totals), plan["bytes"])
            self.assertLessEqual(plan["bytes"], 0.95 * report["capacity"])
        self.assertGreaterEqual(len(report["pareto"]), 2)

    def test_same_answer_twice(self):
        self.assertEqual(self.plan("--json"), self.plan("--json"))

    def test_simulate_agrees_with_plan(self):
        path = self.folder / "plan.textproto"
        report = json.loads(self.plan("-o", path, "--json"))
        again = json.loads(self.must("simulate", self.spec, "--plan", path,
                                     "--cluster", "h100:64", "--json"))  # fmt: skip
        self.assertEqual(again["nanoseconds"], report["plans"][0]["nanoseconds"])
        self.assertEqual(again["memory"], report["plans"][0]["memory"])

    def test_nothing_is_less_than_nothing(self):
        """Rounding never makes a rank wait for less than no time."""
        for mbs in (1, 2, 4, 8, 16):
            words = ("simulate", self.spec, "--plan", f"mbs={mbs}", "--cluster")
            for system in ("a100", "h100", "h200", "b200"):
                report = json.loads(self.must(*words, f"{system}:1", "--json"))
                self.assertGreaterEqual(min(report["time"].values()), 0)
                total = sum(report["time"].values())
                self.assertEqual(total, report["nanoseconds"])
                self.assertNotIn("-0.0", self.must(*words, f"{system}:1"))

    def test_trace_holds_every_pass(self):
        trace = self.folder / "trace.json"
        self.must("simulate", self.spec, "--plan", "pp=4,dp=8,tp=2,mbs=2",
                  "--cluster", "h100:64", "--trace", trace)  # fmt: skip
        events = json.loads(trace.read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        passes = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(passes), 4 * 8 * 2)

    def test_less_memory_is_never_faster(self):
        times = [
            json.loads(self.plan("--json", "--memory-margin", margin))["plans"][0][
                "nanoseconds"
            ]
            for margin in ("0%", "50%", "80%")
        ]
        self.assertEqual(times, sorted(times))

    def test_diff_sums_to_the_totals(self):
        first, second = self.folder / "a", self.folder / "b"
        self.plan("-o", first)
        self.plan("-o", second, "--memory-margin", "80%")
        lines = self.must("plan", "diff", first, second).splitlines()[1:]
        sums, totals = {}, {}
        for line in lines:
            kind = line.split()[0]
            unit = "ns" if kind == "time" else "B"
            words = line.split(f" {unit}")
            numbers = [int(part.split()[-1]) for part in words[:3]]
            into = totals if " total " in line else sums
            into[kind] = [
                a + b for a, b in zip(into.get(kind, [0, 0, 0]), numbers)
            ]
        self.assertEqual(sums, totals)
        self.assertEqual(set(totals), {"time", "bytes"})

    def test_why_not(self):
        def answer(text):
            return self.plan("--why-not", text)

        self.assertIn("slower than the best", answer("tp=8,pp=4"))
        self.assertIn("does not divide model.heads (16)", answer("tp=3"))
        self.assertIn("outside of the space", answer("tp=16"))
        self.assertIn("no experts", answer("ep=2"))
        self.spec.write_text(SPEC.replace("2048", "8192").replace("16 v", "64 v"))
        text = answer("tp=1,pp=1,zero=0")
        self.assertIn("No plan with tp=1,pp=1,zero=0 fits", text)
        self.assertRegex(text, r"pipeline rank 0 needs [\d.]+ GiB, [\d.]+ GiB more")

    def test_loss_in_chunks_where_it_does_not_fit(self):
        self.spec.write_text(SPEC.replace("50257", "262144"))
        path = self.folder / "plan.textproto"

        def best(*arguments):
            report = json.loads(self.plan("--json", *arguments, devices=4))
            return report["plans"][0]

        def whole_of(plan):
            return re.sub(",loss_chunks=[248]", "", plan["plan"])

        found = best("--memory-margin", "50%", "-o", path)
        self.assertIn(",loss_chunks=", found["plan"])
        self.assertIn("loss_chunks: ", path.read_text())
        words = ("simulate", self.spec, "--cluster", "h100:4", "--json", "--plan")
        again = json.loads(self.must(*words, path))
        self.assertEqual(again["nanoseconds"], found["nanoseconds"])
        # It is whole plans that do not fit.
        whole = json.loads(self.must(*words, whole_of(found)))
        most = max(rank["total"] for rank in whole["memory"])
        self.assertLess(found["bytes"], 40 << 30)
        self.assertGreater(most, 40 << 30)
        self.assertLessEqual(whole["nanoseconds"], found["nanoseconds"])
        why = self.plan(
            "--memory-margin", "50%", "--why-not", "loss_chunks=1", devices=4
        )
        self.assertIn("slower than the best", why)
        # With room for these, there are no others.
        self.assertNotIn("loss_chunks", best("--memory-margin", "0%")["plan"])

    def test_a_loss_of_the_microbatch_keeps_it(self):
        """What is computed together stays where it makes another model; a loss
        by sequence leaves it free."""
        moe = "moe { experts: 4 aux_loss: 0.01 aux_loss_scope: %s } bias: false }"
        text = SPEC.replace("max_positions: 2048\n}", "max_positions: 2048 " + moe)
        text = text.replace("training {", "training { micro_batch_size: 4")
        text += "plan { data_parallel: 8 }"

        def plans(scope):
            self.spec.write_text(text % scope)
            return json.loads(self.plan("--json", "--top", "200"))

        free, kept = plans("SEQUENCE"), plans("MICROBATCH")
        self.assertEqual((free["kept_microbatch"], kept["kept_microbatch"]), (0, 32))

        def together(report):
            found = set()
            for plan in report["plans"]:
                values = dict(word.split("=") for word in plan["plan"].split(","))
                dp, mbs = (int(values.get(key, 1)) for key in ("dp", "mbs"))
                found.add(dp * mbs)
            return found

        self.assertEqual(together(kept), {32})
        self.assertGreater(len(together(free)), 1)
        self.assertIn("stays 32: the loss depends on", self.plan())
        # 49 devices can only be data-parallel ranks.
        text = text.replace("size: 4", "size: 1").replace("size: 128", "size: 98")
        text = text.replace("data_parallel: 8", "data_parallel: 1")
        self.spec.write_text(text % "MICROBATCH")
        message = self.refused("plan", self.spec, "--cluster", "h100:49")
        self.assertIn("write moe.aux_loss_scope: SEQUENCE", message)
        self.spec.write_text(text % "SEQUENCE")
        self.assertIn("dp=49", self.plan(devices=49))

    def test_scales_of_tensors_keep_the_microbatch(self):
        """Those of blocks leave it free, and cut no block."""
        fp8 = "training { micro_batch_size: 4 fp8_format: HYBRID fp8_recipe: %s"
        text = SPEC.replace("training {", fp8) + "plan { data_parallel: 8 }"
        # Two parts each of four context ranks are no whole blocks of 128.
        text = text.replace("positions: 2048", "positions: 512")

        def written(recipe):
            self.spec.write_text(text % recipe)
            return self.plan()

        def kept(recipe):
            self.spec.write_text(text % recipe)
            return json.loads(self.plan("--json"))["kept_microbatch"]

        recipes = ("TENSORWISE", "BLOCKWISE", "MXFP8")
        self.assertEqual([kept(recipe) for recipe in recipes], [32, 0, 0])
        self.assertIn("stays 32: the loss depends on which sequences are computed "
                      "together (training.fp8_recipe: TENSORWISE)",
                      written("TENSORWISE"))  # fmt: skip
        self.assertNotIn("stays", written("MXFP8"))
        self.spec.write_text(text % "BLOCKWISE")
        message = self.refused("simulate", self.spec, "--cluster", "h100:4",
                               "--plan", "cp=4,mbs=4")  # fmt: skip
        self.assertIn("S62: training.sequence_length is 512", message)

    def test_offloads_on_request(self):
        self.spec.write_text(SPEC.replace("2048", "12288").replace("16 v", "96 v"))
        cluster = ("--cluster", "h100:8")
        message = self.refused("plan", self.spec, *cluster)
        self.assertIn("no plan fits", message)
        path, plain = self.folder / "plan", self.folder / "plain"
        words = ("plan", self.spec, *cluster, "--offload")
        best = json.loads(self.must(*words, "-o", path, "--json"))["plans"][0]
        self.assertIn("offload=", best["plan"])
        self.assertGreater(best["host_bytes"], 0)
        self.assertGreater(best["time"]["offload"], 0)
        self.assertEqual(sum(best["time"].values()), best["nanoseconds"])
        simulate = ("simulate", self.spec, *cluster, "--plan", path)
        again = json.loads(self.must(*simulate, "--json"))
        self.assertEqual(again["host_bytes"], best["host_bytes"])
        self.assertIn("of the host", self.must(*simulate))
        message = self.refused(
            "compile", self.spec, "--plan", path, "-o", self.folder / "p.hkx",
            "--set", "training.global_batch_size=128",
        )  # fmt: skip
        self.assertIn("S19: plan.offload is", message)
        # Its bytes on the host are a kind of their own.
        self.plan("-o", plain, devices=64)
        difference = self.must("plan", "diff", plain, path)
        self.assertRegex(difference, r"(?m)^host +total +0 B +\d+ B")
        answer = self.plan("--why-not", "offload=optimizer", devices=64)
        self.assertIn("slower than the best", answer)
        self.assertRegex(answer, r"(?m)^time +offload")

    def test_page_has_the_totals(self):
        path = self.folder / "page.html"
        report = json.loads(self.plan("--html", path, "--json"))
        best, text = report["plans"][0], path.read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        self.assertEqual(data["nanoseconds"], best["nanoseconds"])
        self.assertEqual(data["bytes"], best["bytes"])
        self.assertEqual(data["front"], report["pareto"])
        shown = {item["name"]: item["value"] for item in data["time"]}
        self.assertEqual(shown, {k: max(0, v) for k, v in best["time"].items()})
        for rank, memory in zip(data["memory"], best["memory"], strict=True):
            total = memory.pop("total")
            self.assertEqual({i["name"]: i["value"] for i in rank}, memory)
            self.assertEqual(sum(memory.values()), total)
        self.assertEqual(max(sum(i["value"] for i in r) for r in data["memory"]), data["bytes"])
        passes = sum(len(lane["runs"]) for lane in data["timeline"]["roles"])
        self.assertGreaterEqual(passes, 2)
        self.assertTrue(data["neighbours"])
        self.assertNotRegex(text, r"https?://|<link|src=|@import|url\(|fetch\(")

    def test_plan_compiles(self):
        self.spec.write_text(TINY)
        for devices in (1, 2, 4, 8):
            path = self.folder / f"plan{devices}.textproto"
            self.plan("-o", path, devices=devices)
            program = self.folder / "program.hkx"
            self.must("compile", self.spec, "--plan", path, "-o", program)
            self.must("verify", program)

    def test_bad_input_is_refused(self):
        cluster = ["--cluster", "h100:64"]
        refused, spec = self.refused, self.spec
        self.assertIn("no system is called", refused("plan", spec, "--cluster", "h1:2"))
        self.assertIn("as in h100:1024", refused("plan", spec, "--cluster", "h100"))
        self.assertIn("cannot open", refused("plan", spec, "--cluster", "./no:8"))
        self.assertIn("--cluster", refused("plan", spec))
        self.assertIn("SPEC", refused("plan"))
        for margin in ("x", "-1%", "95%", "nan"):
            refused("plan", spec, *cluster, "--memory-margin", margin)
        refused("plan", spec, *cluster, "--top", "0")
        self.assertIn("zp is no key", refused("plan", spec, *cluster, "--why-not", "zp=1"))
        self.assertIn("global_batch_size", refused("plan", spec, "--cluster", "h100:1021"))
        simulate = ["simulate", spec, *cluster, "--plan"]
        self.assertIn("has 64 devices", refused(*simulate, "tp=2"))
        self.assertIn("S14: training.global_batch_size is 128, which is not a multiple",
                      refused(*simulate, "tp=3,dp=7"))  # fmt: skip
        bad = self.folder / "bad.textproto"
        bad.write_text("pipeline_paralel: 2")
        self.assertIn("bad.textproto:1", refused(*simulate, bad))
        self.assertIn("no lines '# price", refused("plan", "diff", bad, bad))
        bad.write_text("# price time GEMMs x")
        self.assertIn("bad.textproto:1", refused("plan", "diff", bad, bad))
        system = self.folder / "my.textproto"
        system.write_text("devices_per_node: 0")
        self.assertIn("my.textproto", refused("plan", spec, "--cluster", f"{system}:8"))

    def test_what_cannot_fit_says_how_much_is_missing(self):
        self.spec.write_text(SPEC.replace("2048", "32768").replace("16 v", "256 v"))
        message = self.refused("plan", self.spec, "--cluster", "a100:8")
        self.assertIn("no plan fits 8 devices of a100", message)
        self.assertRegex(message, r"the least found is [\d.]+ GiB")
        message = self.refused("plan", self.spec, "--cluster", "a100:1")
        self.assertIn("no plan fits 1 device of a100", message)

    def test_accuracy_reads_both_layouts(self):
        table = self.folder / "runs.csv"
        table.write_text(
            "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,"
            "sequence length,tensor parallelism,data parallelism,"
            "pipeline parallelism,iteration time (ms)\n"
            "8,64,4,1024,16,24,1024,1,8,1,289.6\n8,64,2,2048,16,24,1024,1,4,2,500\n"
        )
        report = json.loads(self.must("accuracy", table, "--json"))
        self.assertEqual(report["rows"], 2)
        first, second = report["predictions"]
        self.assertFalse(first["held_out"])
        self.assertTrue(second["held_out"])
        error = first["predicted"] / first["measured"] - 1
        self.assertAlmostEqual(first["error"], error)
        for word in ("mean", "median", "bias", "worst"):
            self.assertIn(word, self.must("accuracy", table))
        table.write_text("a,b\n1,2\n")
        self.assertIn("runs.csv", self.refused("accuracy", table))


if __name__ == "__main__":
    unittest.main()
