# Part of Hocket, under the Apache License v2.0.
"""Hocket's losses and gradients against PyTorch's in fp64.

The bands are those a user can rely on: in fp32 the first loss to 2e-6, every
gradient tensor to 1e-5 (Frobenius norm of the difference over that of the
reference), 20 losses under AdamW to 1e-4; in bf16 losses to 1e-2 and gradients
to 2e-2. With factors of 8 bits the reference has them too, and otherwise fp32:
their bands are FP8_..., and losses stay near those of fp64 too. A gradient that is next to nothing beside all of them together (that of
the keys' bias is zero in exact arithmetic where positions do not rotate) is
measured against a share of the norm of all instead of its own.
"""

import hashlib
import json
import math
import unittest

import safetensors
import training


SHARE = {"FP32": 1e-6, "BF16": 1e-3}

# The gradient of a key's bias is exactly 0, since a softmax does not see what is
# added to all its inputs; in fp64 it comes out below this share of all gradients
# together. Such a tensor must be as near to 0 as rounding leaves it.
ZERO = 1e-12
ROUNDING = {"FP32": 1e-8, "BF16": 1e-4}


# With factors of 8 bits: the first loss, gradients, the losses of all steps, and
# these beside those of fp64.
FP8_LOSS, FP8_GRADIENT, FP8_LOSSES, FP8_WIDE = 2e-3, 0.3, 1e-2, 3e-2

# Ranks along dp compute a microbatch of one sequence each, so that both make one
# of two as one rank does: a scale is that of a microbatch.
DP2 = "--mesh dp=2 --set training.micro_batch_size=1"
FP8_PLANS = (
    f"{DP2} --zero 1",
    f"{DP2} --zero 3",
    "--mesh tp=2 --sequence-parallel",
    "--mesh pp=2",
    "--mesh pp=2 --schedule zb-h1",
    "--mesh cp=2",
    "--recompute full",
    "--recompute selective",
)

# Where two experts score alike, rounding sends a token to the other one, and it
# is one of the few from which an expert's gradient comes.
REROUTED = 0.1


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def distance(values, reference, least=0.0):
    """In the Frobenius norm, relative to the reference's or to `least`."""
    difference = [a - b for a, b in zip(values, reference, strict=True)]
    return norm(difference) / max(norm(reference), least)


class NumericsTest(unittest.TestCase):
    name = ""

    @classmethod
    def setUpClass(cls):
        if not cls.name:
            raise unittest.SkipTest("a base class")
        golden = training.HERE / "golden"
        cls.golden = json.loads((golden / f"{cls.name}.json").read_text())
        cls.gradients = safetensors.read(golden / f"{cls.name}.safetensors")
        cls.run_folder = training.Run(cls.name)
        cls.addClassCleanup(cls.run_folder.scratch.cleanup)
        cls.before = cls.run_folder.initial_weights()

    def test_same_start(self):
        """The weights and samples are those that the reference saw."""
        found = training.fingerprint(self.before)
        self.assertEqual(set(found), set(self.golden["weights"]))
        for name, (shape, total, squares) in self.golden["weights"].items():
            self.assertEqual(found[name][0], shape)
            self.assertAlmostEqual(found[name][1], total, delta=1e-4)
            self.assertAlmostEqual(found[name][2], squares, delta=1e-4)
        samples = json.dumps(self.run_folder.samples()).encode()
        digest = hashlib.sha256(samples).hexdigest()
        self.assertEqual(digest, self.golden["samples"])

    def check_step(self, precision, loss_band, gradient_band):
        found, loss = self.run_folder.gradients(self.before, precision)
        first = self.golden["losses"][0]
        self.assertLess(abs(loss / first - 1), loss_band, "first loss")
        self.assertEqual(set(found), set(self.gradients))
        far = {}
        total = norm([norm(values) for _, values in self.gradients.values()])
        least = SHARE[precision] * total
        for name, (shape, reference) in self.gradients.items():
            self.assertEqual(list(found[name][0]), shape)
            if norm(reference) < ZERO * total:
                gap, band = norm(found[name][1]) / total, ROUNDING[precision]
            else:
                gap = distance(found[name][1], reference, least)
                band = gradient_band
            if not gap < band:
                far[name] = gap
        self.assertEqual(far, {}, f"gradients beyond {gradient_band}")

    def check_losses(self, precision, band):
        found = self.run_folder.losses(precision)
        self.assertEqual(len(found), training.STEPS)
        pairs = zip(found, self.golden["losses"], strict=True)
        gaps = [abs(a / b - 1) for a, b in pairs]
        self.assertLess(max(gaps), band, f"losses of the steps: {gaps}")

    def test_fp32_step(self):
        self.check_step("FP32", 2e-6, 1e-5)

    def test_fp32_losses(self):
        self.check_losses("FP32", 1e-4)

    def test_bf16_step(self):
        routed = any(".router." in name for name in self.before)
        self.check_step("BF16", 1e-2, REROUTED if routed else 2e-2)

    def test_bf16_losses(self):
        self.check_losses("BF16", 1e-2)


class Fp8Test(unittest.TestCase):
    name = ""

    @classmethod
    def setUpClass(cls):
        if not cls.name:
            raise unittest.SkipTest("a base class")
        golden = training.HERE / "golden"

        def losses(name):
            return json.loads((golden / f"{name}.json").read_text())["losses"]

        cls.wide, cls.losses = losses(cls.name), losses(f"{cls.name}_fp8")
        cls.gradients = safetensors.read(golden / f"{cls.name}_fp8.safetensors")
        cls.run_folder = training.Run(cls.name)
        cls.addClassCleanup(cls.run_folder.scratch.cleanup)

    def test_step(self):
        """What bf16 rounds takes some codes to their neighbours, and through a few
        layers that makes rounding another draw: gradients of both are as far
        from each other as from those of fp64."""
        before = self.run_folder.initial_weights()
        found, loss = self.run_folder.gradients(before, "BF16", *training.FP8)
        self.assertLess(abs(loss / self.losses[0] - 1), FP8_LOSS, "first loss")
        total = norm([norm(values) for _, values in self.gradients.values()])
        least, far = SHARE["BF16"] * total, {}
        for name, (_, reference) in self.gradients.items():
            gap = distance(found[name][1], reference, least)
            if not gap < FP8_GRADIENT:
                far[name] = gap
        self.assertEqual(far, {}, f"gradients beyond {FP8_GRADIENT}")

    def test_plans(self):
        """A plan changes where codes are made and carried, not what they are:
        what is left is what bf16 rounds elsewhere."""
        one = self.run_folder.losses("BF16", *training.FP8)
        for plan in FP8_PLANS:
            with self.subTest(plan=plan):
                found = self.run_folder.losses(
                    "BF16", *training.FP8, *plan.split()
                )  # fmt: skip
                gaps = [abs(a / b - 1) for a, b in zip(found, one, strict=True)]
                self.assertLess(max(gaps), FP8_LOSSES, f"losses: {gaps}")

    def test_losses(self):
        """Over the steps of a training run, beside the reference and fp64."""
        found = self.run_folder.losses("BF16", *training.FP8)
        self.assertEqual(len(found), training.STEPS)
        for expected, band in ((self.losses, FP8_LOSSES), (self.wide, FP8_WIDE)):
            gaps = [abs(a / b - 1) for a, b in zip(found, expected, strict=True)]
            self.assertLess(max(gaps), band, f"losses of the steps: {gaps}")


def load_tests(loader, _standard, _pattern):
    suite = unittest.TestSuite()
    for name in training.models():
        case = type(name, (NumericsTest,), {"name": name})
        suite.addTests(loader.loadTestsFromTestCase(case))
    for name in training.FP8_MODELS:
        case = type(f"{name}_fp8", (Fp8Test,), {"name": name})
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite
