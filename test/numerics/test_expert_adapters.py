# Part of Hocket, under the Apache License v2.0.
"""Low-rank adapters of experts against the oracle's: golden/expert_adapter.json is
PyTorch's in fp64 (make_expert_adapter_golden.py)."""

import json
import pathlib
import unittest

import safetensors
import training
from test_numerics import difference, norm

RATE = 8.0
OPTIONS = ("--set", "training.lora.rank=3", "--set", "training.lora.alpha=6")
CAPACITY = ("--set", "model.moe.capacity_factor=4")  # That drops no token.
ONE = "--set training.micro_batch_size=1"
PLANS = (
    "",
    "--mesh tp=2",
    "--mesh tp=2 --sequence-parallel",
    "--mesh tp=2 --set plan.expert_tensor_parallel=2",
    "--mesh pp=2",
    f"--mesh dp=2 {ONE} --zero 1",
    f"--mesh dp=2 {ONE} --zero 3",
    f"--mesh dp=2,ep=2 {ONE}",
    f"--mesh dp=2,ep=2 {ONE} --zero 1",
    f"--mesh dp=2,ep=2,tp=2 {ONE} --sequence-parallel --zero 2",
    "--recompute full",
    "--recompute selective",
)


class Trained:
    """Adapters of a model after steps, beside a file of golden/."""

    @classmethod
    def setUpClass(cls):
        cls.golden = json.loads((training.HERE / "golden" / cls.file).read_text())
        cls.options = (*OPTIONS, "--set", f"training.lora.targets={cls.targets}")
        cls.run_folder = training.Run(cls.model)
        cls.addClassCleanup(cls.run_folder.scratch.cleanup)
        cls.before, _ = cls.run_folder.train(cls.run_folder.sgd, 0, "FP32", *cls.options)

    def test_same_start(self):
        found = training.fingerprint(self.before)
        self.assertEqual(set(found), set(self.golden["weights"]))
        for name, (shape, total, squares) in self.golden["weights"].items():
            self.assertEqual(found[name][0], shape)
            self.assertAlmostEqual(found[name][1], total, delta=1e-4)
            self.assertAlmostEqual(found[name][2], squares, delta=1e-4)

    def check_steps(self, *options):
        """Two steps of SGD change every matrix as in PyTorch, and nothing else."""
        rate = ("--set", f"training.learning_rate.peak={RATE}")
        after, log = self.run_folder.train(
            self.run_folder.sgd, 2, "FP32", *self.options, *rate, *options
        )
        for found, wanted in zip(training.losses(log), self.golden["sgd_losses"], strict=True):
            self.assertLessEqual(abs(found / wanted - 1), 5e-6)
        changes = self.golden["changes"]
        for name, (shape, values) in self.before.items():
            self.assertEqual(after[name][0], shape)
            if name not in changes:
                self.assertEqual(after[name][1], values, name)
                continue
            change = [b - a for a, b in zip(values, after[name][1], strict=True)]
            far = difference(change, changes[name]) / norm(changes[name])
            self.assertLessEqual(far, 2e-3, name)

    def test_steps_under_plans(self):
        for plan in PLANS:
            with self.subTest(plan=plan):
                self.check_steps(*plan.split())

    def test_losses(self):
        steps = len(self.golden["losses"])
        for plan in ("", f"--mesh dp=2,ep=2 {ONE}"):
            with self.subTest(plan=plan):
                _, log = self.run_folder.train(
                    self.run_folder.adamw, steps, "FP32", *self.options, *plan.split()
                )
                for found, wanted in zip(training.losses(log), self.golden["losses"], strict=True):
                    self.assertLessEqual(abs(found / wanted - 1), 1e-4)

    def test_narrow(self):
        _, log = self.run_folder.train(self.run_folder.adamw, 4, "BF16", *self.options)
        for found, wanted in zip(training.losses(log), self.golden["losses"], strict=False):
            self.assertLessEqual(abs(found / wanted - 1), 2e-2)


class SharedAdaptersTest(Trained, unittest.TestCase):
    """Of experts that all tokens have, and of a dense layer, which has the same roles."""

    file, model, targets = "shared_adapter.json", "qwen2_moe", "GATE,UP,DOWN"

    def test_with_dropout(self):
        """What drops is not what was before; a step without is."""
        losses = [
            training.losses(
                self.run_folder.train(self.run_folder.sgd, 2, "FP32", *self.options, "--set",
                                      f"training.lora.dropout={p}", "--set",
                                      f"training.learning_rate.peak={RATE}")[1])
            for p in (0, 0.5)
        ]  # fmt: skip
        self.assertEqual(losses[0][0], losses[1][0])  # B is zero at first.
        self.assertNotEqual(losses[0][1], losses[1][1])


class ExpertAdaptersTest(Trained, unittest.TestCase):
    file, model = "expert_adapter.json", "mixtral"
    targets = "QUERY,EXPERT_GATE,EXPERT_UP,EXPERT_DOWN"

    def test_steps_with_a_capacity(self):
        for plan in ("", "--mesh tp=2", f"--mesh dp=2,ep=2 {ONE}"):
            with self.subTest(plan=plan):
                self.check_steps(*CAPACITY, *plan.split())

    def test_merged_is_the_same_model(self):
        """What is exported has adapters in its weights, and writes the same text."""
        run, place = self.run_folder, pathlib.Path(self.run_folder.scratch.name)
        rate = ("--set", f"training.learning_rate.peak={RATE}")
        tuned = run.program(run.sgd, "--set", "training.precision=FP32", *self.options, *rate)
        run.hocket("train", tuned, "--data", run.data, "--steps", 2, "--save", place / "tuned")
        run.hocket("checkpoint", "export", place / "tuned", "-o", place / "merged")
        run.hocket("checkpoint", "import", place / "merged", "-o", place / "whole")
        losses = []
        for program, start in (
            (run.program(run.sgd, "--set", "training.precision=FP32"), "whole"),
            (tuned, "tuned"),
        ):
            log = place / f"{start}.jsonl"
            run.hocket("train", program, "--data", run.data, "--steps", 1, "--load",
                       place / start, "--finetune", "--save", place / f"{start}-1",
                       "--log", log)  # fmt: skip
            losses += training.losses([json.loads(line) for line in log.read_text().splitlines()])
        self.assertEqual(len(losses), 2)
        self.assertLessEqual(abs(losses[0] / losses[1] - 1), 2e-6)
        self.assertGreater(abs(losses[0] / self.golden["losses"][0] - 1), 1e-4)
        written = []
        for start in ("tuned", "whole"):
            lines = run.hocket("generate", "--load", place / start, "--prompt", "cafe", "--tokens",
                               8, "--greedy", "--tokenizer", "byte")  # fmt: skip
            written.append(lines)
        self.assertEqual(*written)


def check_merged(test, run, golden):
    """What run.folder / "start" exports is what PEFT merged."""
    run.hocket("checkpoint", "export", run.folder / "start", "-o", run.folder / "merged")
    merged = safetensors.read(run.folder / "merged/model.safetensors")
    found = training.fingerprint(merged)
    wanted = json.loads((golden / "merged.json").read_text())["merged"]
    test.assertEqual(set(found), set(wanted))
    for name, (shape, total, squares) in wanted.items():
        test.assertEqual(found[name][0], shape)
        # A product of f32 is off by a part in 2**23, and so are sums of both.
        off = 2.0**-21 * sum(map(abs, merged[name][1]))
        test.assertAlmostEqual(found[name][1], total, delta=off)
        test.assertAlmostEqual(found[name][2], squares, delta=2.0**-20 * squares)


def publish(run):
    """Hocket's first weights, as a run and as a Hugging Face folder."""
    run.hocket("train", run.program(run.sgd), "--data", run.data, "--steps", 0, "--save",
               run.folder / "base")  # fmt: skip
    run.hocket("checkpoint", "export", run.folder / "base", "-o", run.folder / "published")


class PublishedAdaptersTest(unittest.TestCase):
    """Adapters that golden/expert_peft has, which PEFT merged
    (make_expert_peft_golden.py). Of qwen3_moe, whose first layer has no experts, its MLP
    has names that end as those of experts do."""

    def test_in_and_out(self):
        for name in ("mixtral", "qwen3_moe"):
            with self.subTest(name), training.Run(name) as run:
                golden = training.HERE / "golden/expert_peft" / name
                place = run.folder
                publish(run)
                run.hocket("checkpoint", "import", golden, "--base", place / "published", "-o",
                           place / "start")  # fmt: skip
                run.hocket("checkpoint", "export", place / "start", "-o", place / "again",
                           "--format", "peft", "--experts", "each", "--base", name)  # fmt: skip
                wanted = safetensors.read(golden / "adapter_model.safetensors")
                found = safetensors.read(place / "again/adapter_model.safetensors")
                self.assertEqual(found, wanted)
                configs = [
                    json.loads((folder / "adapter_config.json").read_text())
                    for folder in (golden, place / "again")
                ]
                for key in ("r", "lora_alpha", "base_model_name_or_path"):
                    self.assertEqual(configs[1][key], configs[0][key])
                self.assertEqual(
                    set(configs[1]["target_modules"]), set(configs[0]["target_modules"])
                )
                check_merged(self, run, golden)

    def test_what_does_not_fit(self):
        """An expert's matrix that is missing, and experts that are in two places."""
        golden = training.HERE / "golden/expert_peft/mixtral"
        with training.Run("mixtral") as run:
            publish(run)
            config = json.loads((golden / "adapter_config.json").read_text())
            tensors = safetensors.read(golden / "adapter_model.safetensors")
            gone = "base_model.model.model.layers.1.block_sparse_moe.experts.3.w2.lora_B.weight"
            without = {key: tensor for key, tensor in tensors.items() if key != gone}
            joined = {**config, "target_parameters": ["gate_up_proj"]}
            for change, kept, says in (
                (config, without, f"tensor '{gone}' is missing"),
                (joined, tensors, "'target_parameters', but not both, under 'target_modules'"),
            ):
                folder = run.folder / "hostile"
                folder.mkdir(exist_ok=True)
                (folder / "adapter_config.json").write_text(json.dumps(change))
                safetensors.write(folder / "adapter_model.safetensors", kept)
                with self.assertRaisesRegex(RuntimeError, says):
                    run.hocket("checkpoint", "import", folder, "--base", run.folder / "published",
                               "-o", run.folder / "never")  # fmt: skip
                self.assertFalse((run.folder / "never").exists())


class JoinedAdaptersTest(unittest.TestCase):
    """Adapters of all experts in one matrix: golden/expert_parameters has what PEFT saved and
    merged (make_expert_parameters_golden.py)."""

    GOLDEN = training.HERE / "golden/expert_parameters"

    def test_in_and_out(self):
        """Those of qwen2_moe are wider than its others, which are zero beyond their rank; its
        dense layer and its shared experts have adapters, too."""
        for name in ("mixtral", "qwen3_moe", "qwen2_moe"):
            with self.subTest(name), training.Run(name) as run:
                golden, place = self.GOLDEN / name, run.folder
                publish(run)
                run.hocket("checkpoint", "import", golden, "--base", place / "published", "-o",
                           place / "start")  # fmt: skip
                check_merged(self, run, golden)
                run.hocket("checkpoint", "export", place / "start", "-o", place / "again",
                           "--format", "peft", "--base", name)  # fmt: skip
                wanted = safetensors.read(golden / "adapter_model.safetensors")
                found = safetensors.read(place / "again/adapter_model.safetensors")
                configs = [
                    json.loads((folder / "adapter_config.json").read_text())
                    for folder in (golden, place / "again")
                ]
                self.assertEqual(set(found), set(wanted))
                if name != "qwen2_moe":
                    self.assertEqual(found, wanted)
                    for key in ("r", "lora_alpha", "rank_pattern", "alpha_pattern"):
                        self.assertEqual(configs[1][key], configs[0][key])
                    self.assertEqual(configs[1]["target_modules"], configs[0]["target_modules"])
                self.assertEqual(sorted(configs[1]["target_parameters"]),
                                 ["mlp.experts.down_proj", "mlp.experts.gate_up_proj"])  # fmt: skip
                # What was written is the same model again.
                run.hocket("checkpoint", "import", place / "again", "--base",
                           place / "published", "-o", place / "second")  # fmt: skip
                run.hocket("checkpoint", "export", place / "second", "-o", place / "same")
                self.assertEqual(*(
                    safetensors.read(place / folder / "model.safetensors")
                    for folder in ("merged", "same")
                ))  # fmt: skip

    def test_a_model_without_experts(self):
        with training.Run("llama") as run:
            publish(run)
            with self.assertRaisesRegex(RuntimeError, "nothing of a llama model under 'target_par"):
                run.hocket("checkpoint", "import", self.GOLDEN / "mixtral", "--base",
                           run.folder / "published", "-o", run.folder / "never")  # fmt: skip

    def test_what_peft_would_leave_out(self):
        """It takes a dense layer of a model of this family for experts."""
        with training.Run("qwen3_moe") as run:
            program = run.program(run.sgd, "--set", "training.lora.targets=QUERY,GATE")
            run.hocket("train", program, "--data", run.data, "--steps", 0, "--save",
                       run.folder / "start")  # fmt: skip
            export = ("checkpoint", "export", run.folder / "start", "-o", run.folder / "adapter",
                      "--format", "peft")  # fmt: skip
            with self.assertRaisesRegex(RuntimeError, "the family qwen3_moe: PEFT takes mlp.gate"):
                run.hocket(*export)
            self.assertFalse((run.folder / "adapter").exists())
            run.hocket(*export, "--experts", "each")

    def test_what_does_not_fit(self):
        golden = self.GOLDEN / "qwen2_moe"
        config = json.loads((golden / "adapter_config.json").read_text())
        tensors = safetensors.read(golden / "adapter_model.safetensors")
        experts = "base_model.model.model.layers.1.mlp.experts"
        narrow = {**tensors, f"{experts}.lora_A.weight": ([3, 12], [0.0] * 36)}
        gone = {k: t for k, t in tensors.items() if k != f"{experts}.base_layer.lora_B.weight"}
        shared = [f"shared_expert.{name}_proj" for name in ("gate", "up", "down")]
        sparse = {k: t for k, t in tensors.items() if "layers.0.mlp" not in k}
        pattern = r".*\.gate_up_proj"
        with training.Run("qwen2_moe") as run:
            publish(run)
            for change, kept, says in (
                ({"target_parameters": ["mlp.gate.weight"]}, tensors,
                 "of all layers, not 'mlp.gate.weight', under 'target_parameters'"),
                ({"target_parameters": ["layers.1.mlp.experts.down_proj"]}, tensors,
                 "not 'layers.1.mlp.experts.down_proj'"),
                ({"target_parameters": "down_proj"}, tensors, "expected a list of parameters"),
                ({"rank_pattern": {pattern: 5}}, tensors, "under 'alpha_pattern'"),
                ({"rank_pattern": {pattern: 2.5}}, tensors, "under 'rank_pattern'"),
                ({"rank_pattern": {"q_proj": 4}}, tensors, "gate_up_proj alone, under 'rank_pattern'"),
                ({"alpha_pattern": {pattern: 6, "q": 1}}, tensors, "under 'alpha_pattern'"),
                ({"target_parameters": None}, tensors, "expected {} under 'rank_pattern'"),
                ({}, narrow, "lora_A.weight' has shape [3, 12], expected [12, 12]"),
                ({}, gone, "base_layer.lora_B.weight' is missing"),
                ({"lora_dropout": 0.1}, tensors, "S116"),
                ({"target_modules": ["q_proj", *shared]}, sparse,
                 "'model.layers.{i}.mlp.gate_proj' has no adapter"),
            ):  # fmt: skip
                with self.subTest(says):
                    folder = run.folder / "hostile"
                    folder.mkdir(exist_ok=True)
                    (folder / "adapter_config.json").write_text(json.dumps({**config, **change}))
                    safetensors.write(folder / "adapter_model.safetensors", kept)
                    with self.assertRaises(RuntimeError) as refused:
                        run.hocket("checkpoint", "import", folder, "--base",
                                   run.folder / "published", "-o", run.folder / "never")  # fmt: skip
                    self.assertIn(says, str(refused.exception))
                    self.assertFalse((run.folder / "never").exists())


if __name__ == "__main__":
    unittest.main()
