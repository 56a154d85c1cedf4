#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""What an executable says about itself: explain, trace and the page."""

import collections
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import browser
from programs import ROOT, hocket

SPEC = """name: "tiny"
model {
  layers: LAYERS hidden: 32 heads: 4 kv_heads: 4 ffn: 64 vocab_size: 257
  max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY
  bias: false tied_embeddings: false
}
training {
  sequence_length: 16 micro_batch_size: 2 global_batch_size: 16
  precision: FP32 steps: 1
}
"""
MESH = ("--mesh", "pp=2,dp=2,tp=2", "--sequence-parallel", "--zero", "1")
SHARED_KEYS = ("model", "mesh", "groups", "training", "parameters", "memory",
               "shardings", "collectives", "kernels", "parameter_count",
               "flops_per_step", "fingerprint")  # fmt: skip


class ReportsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.eight = cls.compile("eight", *MESH)
        cls.one = cls.compile("one")

    @classmethod
    def compile(cls, name, *options, layers=4):
        spec, out = cls.folder / f"{name}.textproto", cls.folder / f"{name}.hkx"
        spec.write_text(SPEC.replace("LAYERS", str(layers)))
        cls.must("compile", spec, *options, "-o", out)
        return out

    @staticmethod
    def must(*arguments):
        done = hocket(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def refused(self, expected, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        self.assertIn(expected, done.stderr)

    def explain(self, program, name):
        return json.loads(self.must("explain", program, name, "--json"))

    # explain

    def test_a_parameter_is_split_as_the_plan_says(self):
        found = self.explain(self.eight, "layers.3.attention.q.weight")
        value = found["tensors"][0]
        self.assertEqual(value["name"], "layers.*.attention.q.weight")
        self.assertEqual(value["kind"], "parameter")
        self.assertEqual(
            value["dims"],
            [{"size": 32, "local": 16, "axes": ["tp"]},
             {"size": 32, "local": 32, "axes": []}],
        )  # fmt: skip
        self.assertEqual((value["bytes"], value["local_bytes"]), (4096, 2048))
        self.assertIn("tp = 2 splits output features", value["why"])
        state = {t["kind"]: t for t in found["tensors"]}["optimizer_state"]
        self.assertEqual(state["dims"][0]["axes"], ["tp", "dp"])
        self.assertIn("ZeRO", state["why"])
        # Its gradient is summed where the update begins.
        kinds = {c["op"] for c in found["collectives"] if c["group"] == "dp"}
        self.assertIn("reduce_scatter", kinds)

    def test_an_activation_follows_what_it_is_made_of(self):
        tensors = self.explain(self.eight, "attention.q")["tensors"]
        linear = next(t for t in tensors if t["kind"] == "linear")
        self.assertEqual([d["axes"] for d in linear["dims"]], [["dp"], [], ["tp"]])
        self.assertIn("dim 2 over tp: follows dim 0 of "
                      "'layers.*.attention.q.weight', a weight", linear["why"])  # fmt: skip
        self.assertRegex(linear["source"], r"^eight\.textproto:\d+:\d+$")

    def test_every_collective_names_two_ops(self):
        everything = json.loads(self.must("inspect", self.eight, "--json"))
        self.assertGreater(len(everything["collectives"]), 10)
        for use in everything["collectives"]:
            # The norm of all gradients is put together without a second op.
            if use["why"] not in (
                "a norm over shards is wanted on all devices",
                "the gradient norm is that of all stages",
            ):
                self.assertRegex(use["why"], r".+ gives .+, .+ wants .+", use)

    def test_a_place_of_an_error_can_be_asked_about(self):
        place = self.explain(self.eight, "attention.q")["collectives"][0]["places"][0]
        found = self.explain(self.eight, place.split("/")[1])["collectives"]
        self.assertEqual(len(found), 1)
        self.assertIn(place, found[0]["places"])
        self.assertEqual(found[0]["op"], "all_gather")
        self.assertIn("norm 'attention_norm' (eight.textproto:", found[0]["gives"]["op"])
        self.assertIn("linear 'attention.q' (eight.textproto:", found[0]["wants"]["op"])
        self.assertEqual(found[0]["wants"]["sharding"], "[[dp], [], []], partial = []")
        # Half of a rank's 2 x 16 x 32 floats, and all of them.
        self.assertEqual((found[0]["from_bytes"], found[0]["to_bytes"]), (2048, 4096))
        text = self.must("explain", self.eight, place)
        self.assertIn("all_gather over tp (2 ranks)", text)
        self.assertIn("a rank gives 2.00 KiB, gets 4.00 KiB, sends 2.00 KiB", text)

    def test_messages_name_both_ends(self):
        found = self.explain(self.eight, "pp")["messages"]
        forward = next(m for m in found if (m["from"], m["to"], m["per_step"]) == (0, 1, 4))
        # A stage's activations: 2 samples, half of 16 tokens, 32 floats.
        self.assertEqual((forward["dtype"], forward["shape"]), ("f32", [2, 8, 32]))
        self.assertEqual(forward["bytes"], 2 * 8 * 32 * 4)
        self.assertEqual(forward["sent"]["op"].split()[-1], "layers.1.layer")
        self.assertEqual(forward["received"]["op"].split()[-1], "layers.2.layer")
        back = next(m for m in found if (m["from"], m["to"]) == (1, 0))
        self.assertEqual(back["per_step"], 4)
        self.assertEqual(back["received"]["op"].split()[-1], "layers.1.layer")
        for end in ("sent", "received"):
            for place in forward[end]["places"]:
                self.assertEqual(self.explain(self.eight, place)["messages"], [forward])
        text = self.must("explain", self.eight, "send")
        self.assertIn("send from pp 0 to pp 1 (2 ranks), 4 times a step", text)
        self.assertRegex(text, r"made by layers\.1\.layer \(.*eight\.textproto:\d+:\d+\)")

    def test_names_are_listed_and_each_can_be_explained(self):
        names = self.must("explain", self.eight).split()
        self.assertEqual(len(names), len(set(names)))
        for name in ("attention.q", "layers.*.mlp.down.weight", "all_gather", "tp"):
            self.assertIn(name, names)
        for name in names[::7]:
            self.must("explain", self.eight, name)

    def test_unknown_names_are_refused_with_the_nearest(self):
        self.refused("nearest: attention.q, attention.", "explain", self.eight, "atention.q")
        self.refused("nothing here is called 'zzz'", "explain", self.eight, "zzz")
        self.refused("cannot open", "explain", self.folder / "none.hkx", "x")

    def test_on_one_rank_everything_is_whole(self):
        found = self.explain(self.one, "layers.0.mlp.up.weight")["tensors"]
        self.assertIn("one rank", found[0]["why"])
        self.assertEqual(found[0]["bytes"], found[0]["local_bytes"])

    def test_reasons_grow_with_different_layers_only(self):
        small = json.loads(self.must("inspect", self.eight, "--json"))
        large = self.compile("large", *MESH, layers=16)
        large = json.loads(self.must("inspect", large, "--json"))
        shown = [
            [(t["name"], t["kind"], t["why"]) for t in program["shardings"]]
            for program in (small, large)
        ]
        self.assertEqual(*shown)

    # trace

    def trace(self, *options, program=None):
        out = self.folder / "trace.json"
        text = self.must("trace", program or self.eight, "-o", out, *options)
        return json.loads(out.read_text())["traceEvents"], text

    @staticmethod
    def layout(events):
        """What happens on each track, whenever it does."""
        found = collections.Counter()
        for event in events:
            if event["ph"] == "M":
                found["M", event["pid"], event["tid"], str(event["args"])] += 1
            elif event["ph"] in "sf":
                found[event["ph"], event["pid"], event["tid"], event["id"]] += 1
            elif event["ph"] == "C":
                found["C", event["pid"], tuple(sorted(event["args"]))] = 1
            else:
                found[event["pid"], event["tid"], event["name"], event["cat"],
                      tuple(sorted(event["args"].items()))] += 1  # fmt: skip
        return found

    @classmethod
    def token_file(cls):
        data = cls.folder / "text"
        if not data.with_suffix(".bin").exists():
            (cls.folder / "a.txt").write_text("some text to train on\n" * 400)
            cls.must("data", "prepare", cls.folder / "a.txt", "-o", data,
                     "--tokenizer", "byte", "--append-eod")  # fmt: skip
        return data

    def measured(self, steps, *options):
        out = self.folder / "measured.json"
        self.must("train", self.eight, "--data", self.token_file(), "--steps", steps,
                  "--trace", out, *options)  # fmt: skip
        return json.loads(out.read_text())["traceEvents"]

    def test_predicted_and_measured_have_one_layout(self):
        predicted, _ = self.trace()
        self.assertEqual(self.layout(predicted), self.layout(self.measured(1)))

    def test_spans_have_names_of_layers_and_kernels(self):
        events, _ = self.trace()
        spans = [e for e in events if e["ph"] == "X" and e["cat"] != "sequence"]
        names = {e["name"] for e in spans}
        for name in (
            "layers.0.attention.q gemm", "layers.3.mlp.up.weight.grad gemm",
            "layers.1.attention attention_forward", "layers.0.mlp.gate all_gather tp",
            "send pp", "receive pp", "input tokens",
        ):  # fmt: skip
            self.assertIn(name, names)
        kernels = {k["name"] for k in json.loads(self.must("inspect", self.eight, "--json"))["kernels"]}
        launches = [e for e in spans if e["args"]["instruction"].startswith("launch ")]
        for launch in launches:
            self.assertIn(launch["name"].split()[-1], kernels)
        bare = {"gemm", "library", "launch"} & names
        self.assertEqual(bare, set())

    def test_streams_are_named_after_what_they_carry(self):
        events, _ = self.trace()
        names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
        for name in ("compute", "tp", "gradients (dp)", "send (pp)", "receive (pp)"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith("stream ")])

    def test_arrows_go_from_send_to_receive(self):
        for events in (self.trace()[0], self.measured(2)):
            ends = collections.defaultdict(list)
            for event in events:
                if event["ph"] in "sf":
                    ends[event["id"]].append(event)
            # Activations and gradients of 4 microbatches, for 4 pairs of ranks.
            self.assertGreaterEqual(len(ends), 4 * 2 * 4)
            spans = collections.defaultdict(list)
            for event in events:
                if event["ph"] == "X":
                    spans[event["pid"], event["tid"]].append(event)
            for both in ends.values():
                self.assertEqual(sorted(e["ph"] for e in both), ["f", "s"])
                for end in both:
                    # An arrow without a span at its end is not drawn.
                    around = [e["name"] for e in spans[end["pid"], end["tid"]]
                              if e["ts"] <= end["ts"] <= e["ts"] + e["dur"]]  # fmt: skip
                    word = "send" if end["ph"] == "s" else "receive"
                    self.assertTrue(any(word in name for name in around), around)
                sender, receiver = sorted(both, key=lambda e: e["ph"] == "f")
                self.assertLessEqual(sender["ts"], receiver["ts"] + 1e-3)
                self.assertNotEqual(sender["pid"], receiver["pid"])

    def test_arrows_lead_to_ranks_that_are_shown(self):
        events, _ = self.trace("--ranks", "0-3")
        self.assertFalse([e for e in events if e["ph"] in "sf"])

    def test_memory_and_bytes_are_counted(self):
        shown = json.loads(self.must("inspect", self.eight, "--json"))
        parameters = shown["memory"][0]["at_peak"]["parameters"]
        for events in (self.trace()[0], self.measured(1)):
            moments = [e for e in events if e["ph"] == "C" and e["pid"] == 0]
            self.assertGreater(len(moments), 10)
            self.assertEqual({e["name"] for e in moments}, {"memory"})
            self.assertEqual({e["args"]["parameters"] for e in moments}, {parameters})
            most = max(sum(e["args"].values()) for e in moments)
            self.assertLessEqual(most, shown["memory"][0]["arena_bytes"])
            self.assertGreater(len({e["args"]["activations"] for e in moments}), 3)
            for event in events:
                if event["ph"] == "X" and event["cat"] == "communication":
                    self.assertGreater(event["args"]["bytes"], 0)

    def test_steps_are_chosen(self):
        steps = {e["args"]["step"] for e in self.measured(5, "--trace-steps", "2:3") if e["ph"] == "X"}
        self.assertEqual(steps, {"2", "3"})
        steps = {e["args"]["step"] for e in self.measured(3, "--trace-steps", "3") if e["ph"] == "X"}
        self.assertEqual(steps, {"3"})
        out = self.folder / "none.json"
        for bad in ("0", "3:2", "x", "2:3:4", "-1"):
            self.refused("--trace-steps", "train", self.eight, "--data", self.token_file(),
                         "--trace", out, f"--trace-steps={bad}")  # fmt: skip
        self.refused("none of the steps that are run, which are 1 to 3", "train", self.eight,
                     "--data", self.token_file(), "--trace", out, "--trace-steps", "5:9",
                     "--steps", 3)  # fmt: skip
        self.refused("--trace", "train", self.eight, "--trace-steps", "1")
        self.assertFalse(out.exists())

    def test_spans_of_a_track_nest_or_follow(self):
        tracks = collections.defaultdict(list)
        for event in self.trace()[0]:
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
                tracks[event["pid"], event["tid"]].append(event)
        self.assertEqual({pid for pid, _ in tracks}, set(range(8)))
        for spans in tracks.values():
            open_spans = []
            for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
                while open_spans and open_spans[-1] <= span["ts"] + 1e-6:
                    open_spans.pop()
                end = span["ts"] + span["dur"]
                if open_spans:
                    self.assertLessEqual(end, open_spans[-1] + 1e-6)
                open_spans.append(end)

    def test_slower_links_make_a_longer_step(self):
        def seconds(*options):
            events, _ = self.trace(*options)
            return max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") / 1e6

        fast, slow = seconds(), seconds("--link-bandwidth", "1e5")
        # Less than 100 kB/s for the 73,728 bytes that each rank must scatter.
        self.assertGreater(slow, fast + 0.7)

    def test_ranks_are_chosen(self):
        events, text = self.trace("--ranks", "1,4-5")
        self.assertEqual({e["pid"] for e in events}, {1, 4, 5})
        self.assertIn("3 of 8 ranks", text)
        events, _ = self.trace("--detail", "sequences")
        categories = {e["cat"] for e in events if e["ph"] == "X" and e["tid"] == 0}
        self.assertEqual(categories, {"sequence"})

    def test_wrong_options_are_refused(self):
        out = ("-o", self.folder / "x.json")
        for expected, options in (
            ("ranks 0 to 7, not 8", ("--ranks", "8")),
            ("'x' is no rank", ("--ranks", "1,x")),
            ("5-1 ends before it begins", ("--ranks", "5-1")),
            ("--device-flops", ("--device-flops", "0")),
            ("--detail", ("--detail", "none")),
            ("no entry 'dance'", ("--entry", "dance")),
        ):
            self.refused(expected, "trace", self.eight, *out, *options)
        self.refused("--output", "trace", self.eight)
        self.refused("none/x.json", "trace", self.eight, "-o", self.folder / "none/x.json")
        self.assertFalse((self.folder / "x.json").exists())

    # inspect --html

    def page(self, program, *options):
        out = self.folder / "page.html"
        self.must("inspect", program, "--html", out, *options)
        text = out.read_text()
        data = re.search(r'id="data">(.*?)</script>', text, re.S)[1]
        return out, text, json.loads(data)

    def test_the_page_says_what_inspect_says(self):
        for program in (self.eight, self.one):
            _, _, data = self.page(program)
            shown = json.loads(self.must("inspect", program, "--json"))
            for key in SHARED_KEYS:
                self.assertEqual(data[key], shown[key], key)
            roles = data["timeline"]["roles"]
            self.assertEqual([r["name"] for r in roles], [r["name"] for r in shown["roles"]])
            for role, full in zip(roles, shown["roles"]):
                calls = {i for i, s in enumerate(full["sequences"])
                         if any(x["stream"] == 0 and not x["text"].startswith(("record", "wait"))
                                for x in s["instructions"])}  # fmt: skip
                runs = [r for r in full["entries"]["train_step"] if r["sequence"] in calls]
                # Streams that meet cut a fragment into parts.
                merged, last = [], -1
                for run in runs:
                    name = full["sequences"][run["sequence"]]["name"].split(".")[0]
                    now = [name, run["microbatch"]]
                    if not (merged and merged[-1] == now and last < run["sequence"]):
                        merged.append(now)
                    last = run["sequence"]
                drawn = [[role["fragments"][r[0]], r[1]] for r in role["runs"]]
                self.assertEqual(drawn, merged)

    def test_memory_over_time_stays_in_the_arena(self):
        for program in (self.eight, self.one):
            _, _, data = self.page(program)
            for role, plan in zip(data["timeline"]["roles"], data["memory"]):
                memory = role["memory"]
                self.assertEqual(memory["times"], sorted(memory["times"]))
                columns = [c * len(memory["times"]) if len(c) == 1 else c
                           for c in memory["bytes"]]  # fmt: skip
                live = [sum(row) for row in zip(*columns)]
                self.assertLessEqual(max(live), plan["arena_bytes"])
                self.assertGreater(max(live), 0.7 * plan["lower_bound_bytes"])
                for kind, column in zip(memory["kinds"], memory["bytes"]):
                    if kind in ("parameters", "optimizer"):
                        self.assertEqual(column, [plan["at_peak"][kind]], kind)

    def test_the_page_needs_nothing_else(self):
        _, text, _ = self.page(self.eight)
        self.assertNotRegex(text, r"https?://|<link|src=|@import|url\(|fetch\(")
        self.assertTrue(text.startswith("<!doctype html>"))

    def test_names_cannot_leave_their_element(self):
        name = "<!--<script>*script*"
        _, text, data = self.page(self.compile(name, *MESH))
        self.assertTrue(any(name in t["source"] for t in data["shardings"]))
        self.assertEqual(text.count("<script"), 2)
        self.assertEqual(text.count("</script>"), 2)

    def test_a_big_plan_makes_a_small_page(self):
        out = self.folder / "gpt3.hkx"
        self.must("compile", ROOT / "examples/gpt-3-175b/spec.textproto", "--mesh",
                  "pp=16,dp=8,tp=8", "--virtual-stages", 2, "-o", out)  # fmt: skip
        page, _, data = self.page(out)
        self.assertEqual(len(data["timeline"]["roles"]), 16)
        self.assertLess(page.stat().st_size, 4 << 20)

    def test_the_page_draws(self):
        if not browser.PROGRAM:
            self.skipTest(browser.MISSING)
        for program in (self.eight, self.one):
            page, _, data = self.page(program)
            seen, console = browser.opened_with(page, ROOT / "test/tools/point_at_page.js")
            self.assertEqual(console, [])
            for colors in seen["colors"]:
                self.assertGreater(colors, 10)
            ranks = 8 if program == self.eight else 1
            self.assertEqual(seen["title"], f"tiny on {ranks} rank" + "s" * (ranks > 1))
            rows = {"memory": len(data["memory"][0]["at_peak"])}
            for table in ("parameters", "collectives", "kernels"):
                rows[table] = len(data[table])
            self.assertLessEqual(rows.items(), seen["rows"].items())
            self.assertEqual(
                sum(g["places"] for g in seen["groups"]),
                sum(c["instructions"] for c in data["collectives"]),
            )
            # A fragment, what is inside it, and its microbatch.
            tips = "\n".join(seen["tips"])
            self.assertRegex(tips, r"role0: forward 'forward_?\d*'\nmicrobatch \d+\nbegins .* takes ")
            self.assertRegex(tips, r"backward 'backward")
            if program == self.eight:
                self.assertIn("all_gather tp", tips)
                self.assertRegex(tips, r"send|receive")

    def test_a_page_that_cannot_be_written_is_refused(self):
        self.refused("none/page.html", "inspect", self.eight, "--html",
                     self.folder / "none/page.html")  # fmt: skip
        self.refused("--html", "inspect", self.eight, "--json", "--html",
                     self.folder / "p.html")  # fmt: skip
        self.assertFalse((self.folder / "p.html").exists())


if __name__ == "__main__":
    unittest.main()
