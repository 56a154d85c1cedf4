# Part of Hocket, under the Apache License v2.0.
"""The commands from outside: what they leave behind and how they exit.

0: done; 1: the work failed; 2: the command line or an input was wrong.
"""

import hashlib
import json
import pathlib
import re
import shutil
import tempfile
import unittest

from programs import hocket

COMMANDS = (
    ["compile"], ["train"], ["inspect"], ["verify"], ["doctor"],
    ["explain"], ["trace"],
    ["data", "prepare"], ["data", "show"],
    ["checkpoint", "export"], ["checkpoint", "import"], ["memory", "solve"],
)  # fmt: skip

SPEC = """name: "tiny"
model {
  layers: 2 hidden: 16 heads: 2 vocab_size: 257 max_positions: 16
  activation: GELU_TANH
  dropout { attention: 0.1 residual: 0.1 embedding: 0.1 }
}
training {
  micro_batch_size: 2 global_batch_size: 4 sequence_length: 16 steps: 6
  learning_rate { schedule: COSINE peak: 1e-2 warmup_steps: 2 }
  data { split: "9,1,0" }
  validation { interval: 3 batches: 1 }
}
"""


class CommandLineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.shared = pathlib.Path(scratch.name)
        cls.spec = cls.shared / "spec.textproto"
        cls.spec.write_text(SPEC)
        lines = [json.dumps({"text": f"{n} bottles of beer. " * 9}) for n in range(40)]
        (cls.shared / "songs.jsonl").write_text("\n".join(lines) + "\n")
        cls.data = cls.shared / "songs"
        cls.must("data", "prepare", cls.shared / "songs.jsonl", "-o", cls.data,
                 "--tokenizer", "byte", "--append-eod")  # fmt: skip
        cls.program = cls.shared / "tiny.hkx"
        cls.must("compile", cls.spec, "-o", cls.program)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    @classmethod
    def must(cls, *arguments):
        done = hocket(*arguments)
        if done.returncode:
            raise AssertionError(f"{arguments}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def refuses(self, status, message, *arguments):
        """A command exits with a status, says why, and leaves nothing."""
        before = sorted(self.folder.rglob("*"))
        done = hocket(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def train(self, name, *options):
        """The digests of a checkpoint's tensors, and the losses."""
        out, log = self.folder / name, self.folder / f"{name}.jsonl"
        self.must("train", self.program, "--data", self.data, "--save", out,
                  "--log", log, *options)  # fmt: skip
        newest = max(out.glob("iter_*"))
        tensors = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in newest.glob("*.safetensors")
        }
        lines = map(json.loads, log.read_text().splitlines())
        return tensors, [line["loss"] for line in lines if "loss" in line]

    def test_a_schedule_by_hand_is_run_or_refused_with_the_reason(self):
        schedule = self.folder / "two.schedule"
        options = ["--mesh", "pp=2", "--microbatches", "2", "--schedule", schedule]
        out = self.folder / "two.hkx"
        head = "pipeline-schedule\nranks 2\nmicrobatches 2\n"
        schedule.write_text(head + "rank 0 F0 F1 BW0 BW1\nrank 1 F0 F1 BW0 BW1\n")
        self.must("compile", self.spec, *options, "-o", out)
        self.must("verify", out)
        out.unlink()
        schedule.write_text(head + "rank 0 F0 F1 BW1 BW0\nrank 1 F0 F1 BW1 BW0\n")
        self.must("compile", self.spec, *options, "-o", out)
        out.unlink()
        schedule.write_text(head + "rank 0 F0 F1 BW0 BW1\nrank 1 F1 F0 BW0 BW1\n")
        self.refuses(2, "Q24: rank 1, action 1 (F1) comes before",
                     "compile", self.spec, *options, "-o", out)  # fmt: skip
        schedule.write_text(head + "rank 0 F0 F1 BW0\nrank 1 F0 F1 BW0 BW1\n")
        self.refuses(2, "Q22", "compile", self.spec, *options, "-o", out)
        # On one rank too, though nothing is scheduled there.
        for ranks in (1, 2):
            for name, reason in (("fastest", "Q10: there is no schedule 'fastest'"),
                                 ("no-such.schedule", "no-such.schedule: cannot open")):
                self.refuses(2, reason, "compile", self.spec, "--schedule", name,
                             "--mesh", f"pp={ranks}", "-o", out)  # fmt: skip

    def test_code_for_the_instruction_sets_that_are_named(self):
        both, one = self.folder / "both.hkx", self.folder / "one.hkx"
        self.must("compile", self.spec, "-o", both)
        sets = {}
        for name in ("x86-64-v3", "x86-64-v4", "native", "x86-64-v3,x86-64-v4"):
            self.must("compile", self.spec, "--arch", name, "-o", one)
            code = json.loads(self.must("inspect", one, "--json"))["code"]
            sets[name] = [variant["isa"] for variant in code]
            if "," in name:
                self.assertEqual(one.read_bytes(), both.read_bytes())
            else:
                self.assertLess(one.stat().st_size, both.stat().st_size)
        self.assertEqual(sets["x86-64-v3"], ["x86-64-v3"])
        self.assertEqual(sets["x86-64-v3,x86-64-v4"], ["x86-64-v4", "x86-64-v3"])
        self.assertIn(sets["native"], (sets["x86-64-v3"], sets["x86-64-v4"]))
        self.must("compile", self.spec, "--arch", "native", "-o", one)
        self.must("train", one, "--data", self.data, "--steps", 1)
        one.unlink()
        both.unlink()
        for name, message in (
            ("sm_90a", "architectures of GPUs go with --target cuda"),
            ("x86-64-v5", "--arch x86-64-v5: for --target cpu write x86-64-v4"),
            ("x86-64-v3,x86-64-v3", "--arch names x86-64-v3 twice"),
        ):
            self.refuses(2, message, "compile", self.spec, "--arch", name, "-o", one)
        for kind, message in (("atomic", "--attention-gradient atomic: write recomputed or joint"),
                              ("joint", "--attention-gradient joint is for --target cuda")):  # fmt: skip
            self.refuses(2, message, "compile", self.spec, "--attention-gradient", kind, "-o", one)
        # Its heads are too few.
        out = self.must("compile", self.spec, "--target", "cuda", "--attention-gradient", "joint",
                        "-o", one)  # fmt: skip
        self.assertRegex(out, r"gradients of attention by one kernel: 0 of [1-9]\d* \(docs/gpus")
        one.unlink()
        self.refuses(2, "not for the IR of a level", "compile", self.spec, "--arch",
                     "native", "--compile-to", "kern", "-o", self.folder / "x")  # fmt: skip

    def test_every_command_has_help_with_an_example(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = hocket(*command, "--help")
                self.assertEqual(done.returncode, 0)
                self.assertIn("hocket " + " ".join(command), done.stdout)

    def test_wrong_command_lines_exit_with_2(self):
        for arguments in (
            [], ["fly"], ["compile"], ["compile", self.spec],
            ["compile", self.spec, "--fast", "-o", "x"], ["train"],
            ["data"], ["data", "show", self.data],
            ["train", self.program, "--steps", "many"],
        ):  # fmt: skip
            with self.subTest(arguments):
                self.assertEqual(hocket(*arguments).returncode, 2)

    def test_memory_is_solved_or_not_with_a_status(self):
        buffers, out = self.folder / "buffers.csv", self.folder / "placed.csv"
        buffers.write_text("id,lower,upper,size\na,0,3,4\nb,2,5,4\nc,3,6,4\n")
        solve = ["memory", "solve", buffers, "-o", out]
        said = self.must(*solve, "--capacity", 8)
        self.assertIn("peak         8\n", said)
        self.assertEqual(len(out.read_text().splitlines()), 4)
        out.unlink()
        self.refuses(1, "1 too many; no plan has a peak below 8",
                     *solve, "--capacity", 7)  # fmt: skip
        self.refuses(2, "--capacity", *solve, "--capacity", -1)
        self.refuses(2, "--algorithm", *solve, "--algorithm", "magic")
        buffers.write_text("id,lower,upper,size\na,3,3,4\n")
        self.refuses(2, f"{buffers}:2:1: Q60: ", *solve)
        self.refuses(2, "cannot open", "memory", "solve", self.folder / "none.csv")

    def test_compiling_gives_the_same_bytes(self):
        again = self.folder / "again.hkx"
        self.must("compile", self.spec, "-o", again)
        self.assertEqual(again.read_bytes(), self.program.read_bytes())

    def test_every_level_is_an_input(self):
        for level in ("xf", "dist", "pipe", "kern", "exec"):
            with self.subTest(level):
                text = self.folder / f"{level}.mlir"
                program = self.folder / f"{level}.hkx"
                self.must("compile", self.spec, f"--compile-to={level}", "-o", text)
                self.must("compile", text, "-o", program)
                self.must("verify", program)
                # Passes may have been run on it since, without the note.
                content = text.read_text()
                text.write_text(content.replace(f'hocket.level = "{level}", ', ""))
                self.assertNotEqual(content, text.read_text())
                again = self.folder / f"{level}-again.hkx"
                self.must("compile", text, f"--compile-from={level}", "-o", again)
                self.assertEqual(again.read_bytes(), program.read_bytes())
        self.refuses(2, f"{text}: has no xf.training, with which passes begin; if it is the IR of "
                        "a level, write --compile-from=LEVEL", "compile", text, "-o", program)  # fmt: skip
        text.write_text(content.replace('"exec"', '"executive"', 1))
        self.refuses(2, f"{text}: hocket.level is 'executive', which is no level",
                     "compile", text, "-o", program)  # fmt: skip
        text.write_text(content)
        self.refuses(2, f"{text}: --compile-from=exec must come before --compile-to=kern",
                     "compile", text, "--compile-to=kern", "-o", program)  # fmt: skip

    def test_a_module_may_get_another_plan(self):
        text, program = self.folder / "plan.mlir", self.folder / "plan.hkx"

        def dump(level):
            self.must("compile", self.spec, f"--compile-to={level}", "-o", text)
            found = re.search(r'#plan.step<"([^"]*)">', text.read_text())
            return text.read_text(), found[1]

        module, plan = dump("xf")
        self.assertTrue("tp=1" in plan, plan)
        text.write_text(module.replace(plan, plan.replace("tp=1", "tp=2")))
        self.must("compile", text, "--compile-from=xf", "-o", program)
        self.must("verify", program)
        # The specification in the executable says it too.
        self.assertIn(b"tensor_parallel: 2", program.read_bytes())
        self.assertIn(b"devices: 2", program.read_bytes())
        text.write_text(module.replace(plan, "tp=5"))
        self.refuses(2, "S22: plan.tensor_parallel is 5, which does not",
                     "compile", text, "--compile-from=xf", "-o", program)  # fmt: skip
        # Nothing that it was before is left: not the size of a microbatch either.
        for other in ("mbs=1", "dp=2,mbs=1", "pp=2,dp=2,tp=2,mbs=2"):
            with self.subTest(other):
                text.write_text(module.replace(plan, other))
                at_once, later = self.folder / "at-once.mlir", self.folder / "later.mlir"
                self.must("compile", self.spec, "--plan", other,
                          "--compile-to=exec", "-o", at_once)  # fmt: skip
                self.must("compile", text, "--compile-from=xf",
                          "--compile-to=exec", "-o", later)  # fmt: skip
                self.assertEqual(later.read_text(), at_once.read_text())
        # Later levels have been made for their plan.
        module, plan = dump("dist")
        text.write_text(module.replace(plan, plan.replace("tp=1", "tp=2")))
        self.refuses(2, "D20: is not the mesh of the module's plan, tp=2",
                     "compile", text, "--compile-from=dist", "-o", program)  # fmt: skip

    def test_a_module_that_would_break_the_parser_is_refused(self):
        # The parser makes room for as many results as the number says.
        text, out = self.folder / "x.mlir", self.folder / "x.hkx"
        for number in ("%0#2147483647", "%0 #4294967295"):
            text.write_text(f"// %0#9\nfunc.func @f() {{\n  return {number}\n}}\n")
            self.refuses(2, f"{text}:3:", "compile", text, "-o", out)
        text.write_text("\n " + "(" * 300)
        self.refuses(2, f"{text}:2:258: brackets nest deeper than 256 levels",
                     "compile", text, "-o", out)  # fmt: skip

    def test_native_code_of_ones_own_is_known(self):
        self.must("train", self.program, "--data", self.data, "--steps", 1,
                  "--no-native")  # fmt: skip

    def test_phases_are_numbered(self):
        phases = self.folder / "phases"
        self.must("compile", self.spec, "--dump-phases", phases,
                  "-o", self.folder / "x.hkx")  # fmt: skip
        names = sorted(path.name for path in phases.iterdir())
        self.assertGreater(len(names), 5)
        self.assertTrue(all(name[0].isdigit() for name in names), names)

    def test_validation_may_have_data_of_its_own(self):
        program = self.folder / "valid.hkx"
        self.must("compile", self.spec, "-o", program,
                  "--set", "training.validation.interval=2")  # fmt: skip

        def losses(*options):
            log = self.folder / "valid.jsonl"
            self.must("train", program, "--data", self.data, "--log", log, "--overwrite",
                      *options)  # fmt: skip
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            return [line["loss"] for line in lines if "loss" in line], lines

        whole, lines = losses("--valid-data", self.data)
        self.assertTrue(any("valid" in key for line in lines for key in line), lines[-1])
        again, _ = losses("--valid-data", "0.5", self.data, "0.5", self.data)
        self.assertEqual(whole, again)
        never = self.folder / "never.hkx"
        self.must("compile", self.spec, "-o", never,
                  "--set", "training.validation.interval=0")  # fmt: skip
        self.refuses(2, "--valid-data has no use: the executable never validates",
                     "train", never, "--data", self.data,
                     "--valid-data", self.data)  # fmt: skip
        none = self.folder / "none"
        self.refuses(2, f"{none}", "train", program, "--data", self.data,
                     "--valid-data", none)  # fmt: skip

    def test_resuming_is_bitwise_equal(self):
        whole, losses = self.train("whole")
        self.assertEqual(len(losses), 6)
        _, first = self.train("parts", "--steps", 4)
        self.must("train", self.program, "--data", self.data, "--load",
                  self.folder / "parts", "--save", self.folder / "rest",
                  "--log", self.folder / "parts.jsonl")  # fmt: skip
        newest = max((self.folder / "rest").glob("iter_*"))
        for name, digest in whole.items():
            data = (newest / name).read_bytes()
            self.assertEqual(hashlib.sha256(data).hexdigest(), digest, name)
        lines = (self.folder / "parts.jsonl").read_text().splitlines()
        resumed = [json.loads(line) for line in lines]
        resumed = [line["loss"] for line in resumed if "loss" in line]
        self.assertEqual(resumed, losses)
        self.assertEqual(first, losses[:4])

    def test_same_seed_same_run(self):
        self.assertEqual(self.train("a", "--seed", 5), self.train("b", "--seed", 5))
        self.assertNotEqual(self.train("c", "--seed", 6)[1], self.train("d")[1])

    def test_a_spec_trains_like_its_program(self):
        log = self.folder / "spec.jsonl"
        self.must("train", self.spec, "--data", self.data, "--log", log)
        lines = map(json.loads, log.read_text().splitlines())
        losses = [line["loss"] for line in lines if "loss" in line]
        self.assertEqual(losses, self.train("program")[1])

    def test_zero_steps_save_the_initial_weights(self):
        tensors, losses = self.train("initial", "--steps", 0)
        self.assertEqual(losses, [])
        self.assertIn("model.safetensors", tensors)

    def test_samples_are_shown(self):
        lines = self.must("data", "show", self.data, "--spec", self.spec,
                          "--split", "train", "--samples", "2:5", "--json")  # fmt: skip
        samples = [json.loads(line) for line in lines.splitlines()]
        self.assertEqual([sample["sample"] for sample in samples], [2, 3, 4])
        self.assertTrue(all(len(s["tokens"]) == 17 for s in samples))

    def test_an_unknown_field_names_the_nearest(self):
        self.refuses(2, "model.layers", "compile", self.spec,
                     "--set", "model.layer=3", "-o", self.folder / "x.hkx")  # fmt: skip

    def test_bad_inputs_leave_nothing(self):
        bad = self.folder / "bad"
        out = self.folder / "out.hkx"
        bad.write_text("model { layers: 2 hidden: 10 heads: 3 vocab_size: 7 }")
        self.refuses(2, f"{bad}:1:", "compile", bad, "-o", out)
        self.refuses(2, str(bad), "train", bad, "--data", self.data)
        self.refuses(2, "nowhere", "compile", self.folder / "nowhere", "-o", out)
        self.refuses(2, "nowhere", "train", self.program, "--data", self.folder / "nowhere")
        self.refuses(2, "nowhere", "train", self.program, "--data", self.data,
                     "--load", self.folder / "nowhere")  # fmt: skip

    def test_a_broken_executable_is_refused(self):
        data = self.program.read_bytes()
        for name, content in (
            ("empty", b""),
            ("cut", data[: len(data) // 2]),
            ("flipped", data[:200] + bytes([data[200] ^ 64]) + data[201:]),
            ("text", SPEC.encode()),
        ):
            path = self.folder / f"{name}.hkx"
            path.write_bytes(content)
            with self.subTest(name):
                done = hocket("verify", path)
                self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
                self.refuses(2, name, "train", path, "--data", self.data)

    def test_a_folder_that_cannot_be_written_is_refused(self):
        target = self.folder / "file"
        target.write_text("not a folder")
        self.refuses(2, "file", "compile", self.spec, "-o", target / "x.hkx")
        self.refuses(2, "file", "train", self.program, "--data", self.data,
                     "--save", target / "run", "--steps", 0)  # fmt: skip

    def test_weights_travel_to_hugging_face_and_back(self):
        self.train("run", "--steps", 1)
        model = self.folder / "huggingface"
        back = self.folder / "back"
        self.must("checkpoint", "export", self.folder / "run",
                  "--format", "huggingface", "-o", model)  # fmt: skip
        self.assertTrue((model / "config.json").exists())
        self.must("checkpoint", "import", model, "--format", "huggingface",
                  "--spec", self.spec, "-o", back)  # fmt: skip
        (before,) = (self.folder / "run").rglob("model.safetensors")
        (after,) = back.rglob("model.safetensors")
        self.assertEqual(before.read_bytes(), after.read_bytes())
        shutil.rmtree(model)


if __name__ == "__main__":
    unittest.main()
