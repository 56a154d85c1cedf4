# Part of Hocket, under the Apache License v2.0.
"""What is not trained has no gradient and stays as it is, and what is has the
gradient that it has where all is trained: PyTorch's in fp64, under every plan."""

import fnmatch
import json
import random
import unittest

import safetensors
import training
from test_numerics import bands_of_fp32, difference, far_gradients, norm, with_zeros

BODY = ("name:embedding.*", "role:NORM", "name:layers.0.*")
# Model, what is frozen (its entries, and names of what that is), and plans.
CASES = (
    ("llama", BODY, ("embedding.*", "*norm.weight", "layers.0.*"), (
        "",
        "--mesh tp=2",
        "--mesh tp=2 --sequence-parallel",
        "--mesh cp=2",
        "--mesh cp=2 --cp-strategy ring",
        "--mesh pp=2",
        "--mesh pp=2 --schedule zb-h1",
        "--mesh pp=2 --schedule gpipe",
        "--mesh dp=2 --set training.micro_batch_size=1 --zero 1",
        "--mesh dp=2 --set training.micro_batch_size=1 --zero 2",
        "--mesh dp=2 --set training.micro_batch_size=1 --zero 3",
        "--mesh pp=2,dp=2,tp=2 --set training.micro_batch_size=1 --zero 1",
        "--recompute full",
        "--recompute full --recompute-method block",
        "--recompute selective",
    )),
    # The last stage alone trains; the first has no backward pass.
    ("llama", ("name:embedding.*", "name:layers.*"), ("embedding.*", "layers.*"), (
        "",
        "--mesh pp=2",
        "--mesh pp=2 --schedule zb-h1",
        "--mesh pp=2,tp=2 --sequence-parallel --recompute full",
        "--mesh dp=2 --set training.micro_batch_size=1 --zero 3",
    )),
    # Bottom up: only the first layer is trained, so that all above it is passed.
    ("gpt2", ("name:*embedding.*", "name:layers.1.*", "name:final_norm.*"),
     ("*embedding.*", "layers.1.*", "final_norm.*"), (
        "",
        "--mesh pp=2",
        "--mesh pp=2,tp=2",
        "--mesh cp=2",
        "--recompute full",
    )),
    # The tied embedding alone: on two stages, as the first and the last layer.
    ("gpt2", ("name:layers.*", "role:NORM", "role:POSITIONS"),
     ("layers.*", "final_norm.*", "position_embedding.*"), (
        "", "--mesh pp=2", "--mesh dp=2 --set training.micro_batch_size=1 --zero 1",
    )),
    ("mixtral", ("role:EXPERT_GATE", "role:EXPERT_DOWN", "role:QUERY"),
     ("*experts.gate.weight", "*experts.down.weight", "*attention.q.weight"), (
        "",
        "--mesh dp=2,ep=2 --set training.micro_batch_size=1",
        "--mesh tp=2 --sequence-parallel",
    )),
)  # fmt: skip
RANDOM_PLANS = 8


def random_plan(draw, model):
    """Options of a plan over up to 16 ranks."""
    axes = [axis for axis in ("dp", "tp", "pp", "cp") if draw.random() < 0.45]
    if model == "mixtral" and "dp" in axes and draw.random() < 0.5:
        axes.append("ep")
    options = ["--mesh", ",".join(f"{axis}=2" for axis in axes)] if axes else []
    if "dp" in axes:
        options += ["--set", "training.micro_batch_size=1", "--zero", draw.choice("0123")]
    if "tp" in axes:
        options += draw.choice(((), ("--sequence-parallel",)))
    if "cp" in axes:
        options += draw.choice(((), ("--cp-strategy", "ring")))
    schedule = draw.choice(("1f1b", "gpipe", "zb-h1")) if "pp" in axes else "1f1b"
    if "pp" in axes:
        options += ["--schedule", schedule]
    if schedule != "zb-h1":
        options += draw.choice(((), ("--recompute", "full"), ("--recompute", "selective")))
    return options


def options_of(entries, field="freeze"):
    """The overrides that freeze `entries`, each by role or name and which."""
    options = []
    for i, entry in enumerate(entries):
        by, value = entry.split(":")
        options += ["--set", f"training.{field}[{i}].{by}={value}"]
    return options


def frozen_names(names, patterns):
    return {
        name
        for name in names
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


class FrozenTest(unittest.TestCase):
    def golden(self, name):
        folder = training.HERE / "golden"
        return (json.loads((folder / f"{name}.json").read_text()),
                safetensors.read(folder / f"{name}.safetensors"))  # fmt: skip

    def check(self, run, before, frozen, reference, options, bands, narrow=False):
        golden, gradients = reference
        found, loss = run.gradients(before, "BF16" if narrow else "FP32", *options)
        self.assertLessEqual(abs(loss / golden["losses"][0] - 1), bands["loss"])
        trained = set(gradients) - frozen
        for name in frozen:
            self.assertEqual(norm(found[name][1]), 0.0, name)
        every = with_zeros(bands["gradients"], gradients, "BF16" if narrow else "FP32")
        wanted = {name: band for name, band in every.items() if name in trained}
        self.assertEqual(far_gradients(found, gradients, wanted), {})

    def test_plans(self):
        for name, entries, patterns, plans in CASES:
            golden, gradients = self.golden(name)
            bands = {"loss": 2e-6, "gradients": bands_of_fp32(gradients)}
            with training.Run(name) as run:
                before = run.initial_weights()
                frozen = frozen_names(before, patterns)
                self.assertTrue(frozen and frozen < set(before))
                for plan in plans:
                    with self.subTest(model=name, frozen=entries, plan=plan):
                        options = (*options_of(entries), *plan.split())
                        self.check(run, before, frozen, (golden, gradients), options, bands)

    def test_random_plans(self):
        """Any part of a model, under any plan."""
        draw = random.Random(19)
        for name in ("llama", "gpt2", "mixtral"):
            golden, gradients = self.golden(name)
            bands = {"loss": 2e-6, "gradients": bands_of_fp32(gradients)}
            with training.Run(name) as run:
                before = run.initial_weights()
                for _ in range(RANDOM_PLANS):
                    share = draw.choice((0.1, 0.5, 0.9))
                    trained = sorted(n for n in before if draw.random() < share)
                    trained = trained or [draw.choice(sorted(before))]
                    entries = [f"name:{n}" for n in trained]
                    plan = random_plan(draw, name)
                    with self.subTest(model=name, trained=trained, plan=plan):
                        options = (*options_of(entries, "train_only"), *plan)
                        frozen = set(before) - set(trained)
                        self.check(run, before, frozen, (golden, gradients), options, bands)

    def test_norm_is_of_what_is_trained(self):
        """What clip_norm is compared with."""
        _, gradients = self.golden("llama")
        with training.Run("llama") as run:
            for plan in ("", "--mesh pp=2", "--mesh tp=2"):
                frozen = frozen_names(gradients, ("embedding.*", "layers.*"))
                options = (*options_of(("name:embedding.*", "name:layers.*")), *plan.split())
                _, log = run.train(run.sgd, 1, "FP32", *options)
                wanted = norm(
                    norm(values) for name, (_, values) in gradients.items() if name not in frozen
                )
                found = next(line["grad_norm"] for line in log if "grad_norm" in line)
                self.assertLessEqual(abs(found / wanted - 1), 1e-5, plan)

    def test_narrow_copies(self):
        """In bf16 a frozen weight is kept as the model computes with it, once."""
        golden, gradients = self.golden("llama")
        bands = golden["bands"]
        entries, patterns = ("name:embedding.*", "name:layers.0.*"), ("embedding.*", "layers.0.*")
        with training.Run("llama") as run:
            for plan in ("", "--mesh dp=2 --set training.micro_batch_size=1 --zero 3",
                         "--mesh pp=2", training.fp8_options("TENSORWISE")):  # fmt: skip
                options = plan.split() if isinstance(plan, str) else plan
                options = (*options_of(entries), *options)
                fp8 = "training.fp8_format=HYBRID" in options
                with self.subTest(plan=plan):
                    narrow, _ = run.train(run.sgd, 0, "BF16", *options)
                    after, log = run.train(run.sgd, 1, "BF16", *options)
                    frozen = frozen_names(after, patterns)
                    for name in frozen:
                        self.assertEqual(after[name][1], narrow[name][1], name)
                    if fp8:
                        continue
                    self.assertLessEqual(
                        abs(training.losses(log)[0] / golden["losses"][0] - 1), bands["loss"]
                    )
                    for name in set(gradients) - frozen:
                        change = [(b - a) / training.RATE for b, a in
                                  zip(narrow[name][1], after[name][1], strict=True)]  # fmt: skip
                        self.assertLessEqual(
                            difference(change, gradients[name][1]), bands["gradients"][name], name
                        )

    def test_state(self):
        """No optimizer state of what is frozen, and every weight once."""
        with training.Run("llama") as run:
            path = run.program(run.adamw, *options_of(("name:layers.*",)))
            about = json.loads(run.hocket("inspect", path, "--json"))
            for parameter in about["parameters"]:
                if parameter["name"].startswith("state."):
                    continue
                frozen = parameter["name"].startswith("layers.")
                self.assertEqual(parameter["frozen"], frozen)
                self.assertEqual(len(parameter["slots"]), 0 if frozen else 2)
            self.assertIn("are trained. To train the others would take",
                          run.hocket("inspect", path))  # fmt: skip
            whole = json.loads(run.hocket("inspect", run.program(run.adamw), "--json"))
            self.assertLess(about["memory"][0]["arena_bytes"], whole["memory"][0]["arena_bytes"])
            self.assertLess(about["flops_per_token"], 2.5 / 3 * whole["flops_per_token"])


if __name__ == "__main__":
    unittest.main()
