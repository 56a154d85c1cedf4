# Part of Hocket, under the Apache License v2.0.
"""What the commands say of themselves, of wrong command lines and of rules."""

import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from programs import BUILD, ROOT, hocket

NANO = ROOT / "examples/nano/spec.textproto"
ROW = re.compile(r"\| (S\d+) \| `(--.*?)` \| (.*) \|$")
COMMANDS = re.compile(r"^Commands:\n((?:  .*\n)+)", re.MULTILINE)


def commands(*prefix):
    """Every command, with those that it has itself."""
    text = hocket(*prefix, "--help").stdout
    yield prefix, text
    listed = COMMANDS.search(text)
    for line in listed.group(1).splitlines() if listed else ():
        if name := re.match(r"  (\w[\w-]*)", line):
            yield from commands(*prefix, name.group(1))


class HelpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)

    def says(self, text, *arguments, status=2):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        return done.stderr

    def test_all_help_has_one_form(self):
        every = dict(commands())
        self.assertGreater(len(every), 20)
        for command, text in every.items():
            with self.subTest(command):
                self.assertIn(f"Usage: {' '.join(('hocket', *command))}", text)
                self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f]|\\\\")
                self.assertNotRegex(text, r"\b(TEXT|INT|UINT|FLOAT|REQUIRED)\b")
                self.assertNotRegex(text, r"\{\w+->|\bin \[")
                options = text[text.index("Usage:") :]
                example = options.find("Example")
                self.assertNotIn("Example", text[: text.index("Usage:")])
                listed = options[:example] if example > 0 else options
                long = [line for line in listed.splitlines() if line[:1] == " " and len(line) > 80]
                self.assertEqual(long, [])

    def test_options_of_a_plan_stay_where_they_belong(self):
        text = hocket("compile", "--help").stdout
        groups = re.findall(r"^([A-Z][\w ]*):$", text, re.MULTILINE)
        self.assertEqual(groups[:3], ["Arguments", "Options", "Plan options"])
        for command in (["data", "show"], ["checkpoint", "export"], ["checkpoint", "import"]):
            self.assertNotIn("--mesh", hocket(*command, "--help").stdout)

    def test_what_is_misspelt_is_answered_with_the_nearest(self):
        self.says("there is no command 'trian'; did you mean train?", "trian", NANO)
        self.says("no option --dta; did you mean --data?", "train", NANO, "--dta", "D")
        self.says("Usage: hocket [OPTIONS] COMMAND")
        self.says("wants a whole number of at least 0, not '-5'",
                  "train", NANO, "--steps", "-5")  # fmt: skip
        self.says("--cuda-graphs wants auto, on or off, not 'maybe'",
                  "train", NANO, "--cuda-graphs", "maybe")  # fmt: skip
        self.says("--algorithm wants first-fit, best-fit or search, not 'x'",
                  "memory", "solve", "f", "--algorithm", "x")  # fmt: skip

    def test_version_and_help(self):
        done = hocket("--version")
        self.assertRegex(done.stdout, r"\Ahocket \d+\.\d+\.\d+\n(.*\n)*LLVM \d+\.")
        self.assertEqual(hocket("help", "train").stdout, hocket("train", "--help").stdout)

    def test_an_error_shows_its_line(self):
        bad = self.folder / "bad.textproto"
        bad.write_text("model {\n  layerz: 3\n}\n")
        said = self.says(f"{bad}:2:3: S1: ", "compile", bad, "-o", self.folder / "x")
        self.assertIn("\n    2 |   layerz: 3\n      |   ^\n", said)

    def test_a_plan_in_a_plan_is_answered(self):
        plan = self.folder / "plan.textproto"
        plan.write_text("plan { tensor_parallel: 2 }\n")
        self.says('leave out the "plan {"', "compile", NANO, "--plan", plan, "-o", "x")

    def test_each_rule_of_a_specification_is_broken_by_its_example(self):
        rows = [ROW.match(line) for line in (ROOT / "docs/rules.md").read_text().splitlines()]
        rows = [row.groups() for row in rows if row]
        self.assertGreater(len(rows), 35)
        out = self.folder / "out.hkx"
        for number, options, _ in rows:
            with self.subTest(number):
                self.says(f" {number}: ", "compile", NANO, *shlex.split(options), "-o", out)
                self.assertFalse(out.exists())
                self.assertIn(options, hocket("explain", number).stdout)

    def test_there_is_advice_on_rules_that_exist_alone(self):
        number = re.compile(r"^\| ([A-Z]\d+) \|", re.MULTILINE)
        rules = set(number.findall((ROOT / "docs/spec.md").read_text()))
        advice = number.findall((ROOT / "docs/rules.md").read_text())
        self.assertGreater(len(advice), 70)
        self.assertEqual(set(advice) - rules, set())
        self.assertEqual(len(advice), len(set(advice)))

    def test_rules_are_explained(self):
        text = hocket("explain", "s22").stdout
        self.assertIn("S22 (Specifications): plan.tensor_parallel divides", text)
        self.assertIn("What to do:\n", text)
        self.assertIn("sizes [0]", hocket("explain", "D9").stdout)
        self.says("there is no rule S999", "explain", "S999")

    def test_a_layer_that_is_not_there_is_none(self):
        program = self.folder / "two.hkx"
        done = hocket("compile", NANO, "--set", "model.layers=2", "-o", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        name = "layers.{}.attention.q.weight"
        self.assertEqual(hocket("explain", program, name.format(1)).returncode, 0)
        self.says("there is no layer 7; the layers are 0 to 1",
                  "explain", program, name.format(7))  # fmt: skip

    def test_one_schedule_has_one_name(self):
        options = ["--mesh", "pp=2", "--virtual-stages", "2", "--microbatches", "4",
                   "--compile-to", "xf", "-o", "-"]  # fmt: skip
        texts = {
            hocket("compile", NANO, *options, *schedule).stdout
            for schedule in ((), ("--schedule", "interleaved"),
                             ("--schedule", "interleaved-1f1b"))  # fmt: skip
        }
        self.assertEqual(len(texts), 1)
        text = texts.pop()
        self.assertTrue('schedule: \\22interleaved-1f1b\\22' in text, text[:500])
        self.assertTrue('#plan.step<"pp=2,dp=1,tp=1,v=2,mbs=4">' in text, text[:500])

    def test_a_plan_is_short_or_a_file(self):
        def module(*options):
            done = hocket("compile", NANO, "--compile-to", "xf", "-o", "-", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        plan = self.folder / "plan.textproto"
        plan.write_text("pipeline_parallel: 2 zero_stage: 1 data_parallel: 2\n")
        same = ("--plan", "pp=2,dp=2,zero=1"), ("--plan", plan)
        texts = {module(*options) for options in same}
        texts.add(module("--mesh", "pp=2,dp=2", "--zero", "1"))
        self.assertEqual(len(texts), 1)
        # The microbatch is the specification's, unless the plan names one.
        self.assertTrue("mbs=2,zero=1" in module("--plan", "dp=2,zero=1,mbs=2"))
        self.says("--plan tp=2,zp=1: S1: plan: zp is no key; write pp, dp, cp",
                  "compile", NANO, "--plan", "tp=2,zp=1", "-o", plan)  # fmt: skip
        self.says("--plan tp=5: S22: plan.tensor_parallel is 5, which does not",
                  "compile", NANO, "--plan", "tp=5", "-o", plan)  # fmt: skip

    def test_standard_output_is_a_file(self):
        program = self.folder / "nano.hkx"
        hocket("compile", NANO, "-o", program)
        command = [BUILD / "bin/hocket", "compile", NANO, "-o", "-"]
        done = subprocess.run(command, capture_output=True, check=True)
        self.assertEqual(done.stdout, program.read_bytes())
        self.assertIn(b"parameters", done.stderr)
        page = hocket("inspect", program, "--html", "-")
        self.assertTrue(page.stdout.startswith("<!"), page.stdout[:50])
        for command in (["train", program, "--save", "-"],
                        ["data", "prepare", NANO, "-o", "-"],
                        ["checkpoint", "export", "run", "-o", "-"]):  # fmt: skip
            self.says("cannot be written to standard output (-)", *command)
        self.assertFalse(pathlib.Path("-").exists())


class PhasesTest(unittest.TestCase):
    """What --dump-phases writes can be read back."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)

    def optimized(self, *arguments):
        command = [BUILD / "bin/hocket-opt", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def dump(self, *options):
        phases = self.folder / "phases"
        done = hocket("compile", NANO, *options, "--dump-phases", phases,
                      "-o", self.folder / "nano.hkx")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.summary = self.shown(done)
        return sorted(phases.glob("*.mlir"))

    @staticmethod
    def shown(done):
        """Parameters, kernels, instructions and memory of what was compiled."""
        return re.search(r": (.* of memory)", done.stdout).group(1)

    def test_every_file_is_an_input_again(self):
        files = self.dump("--set", "model.layers=2", "--mesh", "pp=2,tp=2",
                          "--microbatches", "2")  # fmt: skip
        self.assertGreater(len(files), 20)
        for path in files:
            with self.subTest(path.name):
                done = self.optimized(path)
                self.assertEqual(done.returncode, 0, done.stderr)
        # The command of docs/guide-writing-a-pass.md, with its pass.
        guide = (ROOT / "docs/guide-writing-a-pass.md").read_text()
        option = re.search(r"hocket-opt phases/\S.*? (--\S+)\n", guide).group(1)
        after = next(i for i, path in enumerate(files) if option[2:] in path.name)
        done = self.optimized(files[after - 1], option)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("func.func", done.stdout)
        # The last file of a level is that level.
        last = {"xf": "convert-xf-to-dist", "dist": "convert-dist-to-pipe",
                "pipe": "convert-pipe-to-kern", "kern": "convert-kern-to-exec"}  # fmt: skip
        names = [path.name[3:-5] for path in files]
        for level, following in last.items():
            with self.subTest(level):
                out = self.folder / f"{level}.hkx"
                done = hocket("compile", files[names.index(following) - 1],
                              f"--compile-from={level}", "-o", out)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.shown(done), self.summary)
                self.assertEqual(hocket("verify", out).returncode, 0)


if __name__ == "__main__":
    unittest.main()
