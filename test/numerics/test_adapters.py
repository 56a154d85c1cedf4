# Part of Hocket, under the Apache License v2.0.
"""Low-rank adapters against PEFT's: what golden/adapter has was saved by PEFT, whose
losses and gradients are PyTorch's in fp64 (make_adapter_golden.py)."""

import json
import pathlib
import shutil
import tempfile
import unittest

import safetensors
import training
from test_numerics import bands_of_fp32, far_gradients, norm

GOLDEN = training.HERE / "golden" / "adapter"
ROLES = {"attention.q": "QUERY", "attention.k": "KEY", "attention.v": "VALUE",
         "attention.o": "ATTENTION_OUTPUT", "mlp.gate": "GATE", "mlp.up": "UP",
         "mlp.down": "DOWN"}  # fmt: skip
MODULES = {"attention.q": "self_attn.q_proj", "attention.k": "self_attn.k_proj",
           "attention.v": "self_attn.v_proj", "attention.o": "self_attn.o_proj",
           "mlp.gate": "mlp.gate_proj", "mlp.up": "mlp.up_proj",
           "mlp.down": "mlp.down_proj"}  # fmt: skip
DP2 = "--mesh dp=2 --set training.micro_batch_size=1"
PLANS = (
    "",
    "--mesh tp=2",
    "--mesh tp=2 --sequence-parallel",
    "--mesh cp=2",
    "--mesh pp=2",
    "--mesh pp=2 --schedule zb-h1",
    f"{DP2} --zero 1",
    f"{DP2} --zero 2",
    f"{DP2} --zero 3",
    "--mesh pp=2,dp=2,tp=2 --set training.micro_batch_size=1 --zero 1 --sequence-parallel",
    "--recompute full",
    "--recompute selective",
)


def theirs(name):
    """PEFT's name of an adapter's matrix."""
    layer, rest = name.removeprefix("layers.").split(".", 1)
    target, suffix = rest.split(".lora_")
    return f"base_model.model.model.layers.{layer}.{MODULES[target]}.lora_{suffix}"


class AdaptersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.golden = json.loads((GOLDEN / "golden.json").read_text())
        cls.gradients = safetensors.read(GOLDEN / "gradients.safetensors")
        cls.adapter = safetensors.read(GOLDEN / "adapter_model.safetensors")
        cls.run_folder = training.Run("llama")
        cls.addClassCleanup(cls.run_folder.scratch.cleanup)
        cls.place = pathlib.Path(tempfile.mkdtemp(dir=cls.run_folder.folder))
        call = cls.run_folder.hocket
        program = cls.run_folder.program(cls.run_folder.sgd)
        call("train", program, "--data", cls.run_folder.data, "--steps", 0, "--save",
             cls.place / "base")  # fmt: skip
        call("checkpoint", "export", cls.place / "base", "-o", cls.place / "published")
        call("checkpoint", "import", GOLDEN, "--base", cls.place / "published", "-o",
             cls.place / "start")  # fmt: skip
        cls.lora = ["--set", f"training.lora.rank={cls.golden['rank']}",
                    "--set", f"training.lora.alpha={cls.golden['alpha']}",
                    "--set", "training.lora.targets=" + ",".join(ROLES.values())]  # fmt: skip

    def train(self, spec, steps, *options, load="start", finetune=False):
        """The tensors and the log of a run from an import."""
        run, place = self.run_folder, pathlib.Path(tempfile.mkdtemp(dir=self.place))
        program = run.program(spec, *options)
        flags = ["--finetune"] if finetune else []
        run.hocket("train", program, "--data", run.data, "--steps", steps, "--load",
                   self.place / load, *flags, "--save", place / "run", "--log",
                   place / "log.jsonl")  # fmt: skip
        run.hocket("checkpoint", "merge", place / "run", "-o", place / "whole", "--weights-only")
        (path,) = (place / "whole").rglob("model*.safetensors")
        tensors = safetensors.read(path)
        lines = (place / "log.jsonl").read_text().splitlines()
        shutil.rmtree(place)
        return tensors, [json.loads(line) for line in lines]

    def start(self):
        """The tensors of the import."""
        (path,) = (self.place / "start").rglob("model*.safetensors")
        return safetensors.read(path)

    def test_import_takes_what_peft_saved(self):
        found = self.start()
        names = {name: theirs(name) for name in found if ".lora_" in name}
        self.assertEqual(set(names.values()), set(self.adapter))
        for name, other in names.items():
            self.assertEqual(found[name][0], self.adapter[other][0])
            self.assertEqual(found[name][1], self.adapter[other][1])

    def test_export_is_what_peft_saved(self):
        run, again = self.run_folder, self.place / "again"
        run.hocket("checkpoint", "export", self.place / "start", "-o", again, "--format", "peft",
                   "--base", "llama")  # fmt: skip
        self.assertEqual(safetensors.read(again / "adapter_model.safetensors"), self.adapter)
        found = json.loads((again / "adapter_config.json").read_text())
        wanted = json.loads((GOLDEN / "adapter_config.json").read_text())
        for key, value in found.items():
            if key in ("inference_mode", "target_modules"):
                continue
            self.assertEqual(value, wanted.get(key, value), key)
        self.assertEqual(set(found["target_modules"]), set(wanted["target_modules"]))

    def test_gradients_under_plans(self):
        before = self.start()
        wanted = {theirs(n): n for n in before if ".lora_" in n}
        bands = bands_of_fp32(self.gradients)
        for plan in PLANS:
            with self.subTest(plan=plan):
                after, log = self.train(self.run_folder.sgd, 1, *self.lora, *plan.split())
                loss = training.losses(log)[0]
                self.assertLessEqual(abs(loss / self.golden["losses"][0] - 1), 2e-6)
                found = {}
                for other, name in wanted.items():
                    change = [(b - a) / training.RATE for b, a in
                              zip(before[name][1], after[name][1], strict=True)]  # fmt: skip
                    found[other] = before[name][0], change
                self.assertEqual(far_gradients(found, self.gradients, bands), {})
                for name, (_, values) in before.items():
                    if ".lora_" not in name:
                        self.assertEqual(values, after[name][1], name)

    def test_losses(self):
        for plan in ("", "--mesh tp=2 --sequence-parallel", "--mesh pp=2"):
            with self.subTest(plan=plan):
                steps = len(self.golden["losses"])
                _, log = self.train(self.run_folder.adamw, steps, *self.lora, *plan.split())
                for found, wanted in zip(training.losses(log), self.golden["losses"], strict=True):
                    self.assertLessEqual(abs(found / wanted - 1), 1e-4)

    def test_merged_is_the_same_model(self):
        run, merged = self.run_folder, self.place / "merged"
        run.hocket("checkpoint", "export", self.place / "start", "-o", merged)
        run.hocket("checkpoint", "import", merged, "-o", self.place / "whole")
        _, log = self.train(run.sgd, 1, load="whole")
        self.assertLessEqual(abs(training.losses(log)[0] / self.golden["losses"][0] - 1), 5e-6)

    def test_new_adapters_change_nothing(self):
        """B is zero: the first loss is the base's; A is as PEFT draws it."""
        base = json.loads((training.HERE / "golden/llama.json").read_text())
        tensors, log = self.train(self.run_folder.sgd, 1, *self.lora, load="base", finetune=True)
        self.assertLessEqual(abs(training.losses(log)[0] / base["losses"][0] - 1), 2e-6)
        for name, (shape, values) in tensors.items():
            if not name.endswith("lora_A.weight"):
                continue
            rows, columns = shape
            bound = columns**-0.5
            self.assertLessEqual(max(map(abs, values)), bound)
            # Uniform: the root mean square is the bound over the root of 3.
            size = norm(values) / (rows * columns) ** 0.5
            self.assertLess(abs(size / (bound / 3**0.5) - 1), 0.25)

    def test_dropout_is_the_same_under_every_plan(self):
        options = [*self.lora, "--set", "training.lora.dropout=0.2"]
        _, one = self.train(self.run_folder.adamw, 4, *options)
        _, none = self.train(self.run_folder.adamw, 4, *self.lora)
        self.assertNotEqual(training.losses(one)[0], training.losses(none)[0])
        for plan in ("--mesh tp=2", "--mesh pp=2", "--mesh cp=2", f"{DP2} --zero 3",
                     "--mesh tp=2 --sequence-parallel"):  # fmt: skip
            with self.subTest(plan=plan):
                _, log = self.train(self.run_folder.adamw, 4, *options, *plan.split())
                for found, wanted in zip(training.losses(log), training.losses(one), strict=True):
                    self.assertLessEqual(abs(found / wanted - 1), 2e-5)

    def test_narrow(self):
        """Adapters are in the compute precision, the frozen weights kept so once."""
        wanted = self.golden["losses"][0]
        narrow = ("--set", "training.precision=BF16")
        for options in (narrow, (*narrow, *training.fp8_options("TENSORWISE"))):
            _, log = self.train(self.run_folder.adamw, 4, *self.lora, *options, finetune=True)
            self.assertLessEqual(abs(training.losses(log)[0] / wanted - 1), 2e-2)


if __name__ == "__main__":
    unittest.main()
