# Part of Hocket, under the Apache License v2.0.
"""Adapters of experts beside PEFT, where it is installed.

    pip install torch transformers peft
    python3 test/tools/test_live_adapters.py

A run of Hocket's has adapters. PEFT loads them as Hocket writes them, in both ways, and
trains its own, which Hocket reads. The log-probability of every token of the vocabulary at
every position is compared.
"""

import importlib.util
import unittest

import test_live_models as live
from test_live_models import MODELS, NEAR, PROMPTS, SIZES, must

MISSING = [n for n in ("torch", "transformers", "peft") if not importlib.util.find_spec(n)]
EXPERTS = "EXPERT_GATE,EXPERT_UP,EXPERT_DOWN"
SHARED = {
    **SIZES,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
    "mlp_only_layers": [0],
}
# A family, its config, what is adapted, and the ways that PEFT reads it.
CASES = {
    "mixtral": ("mixtral", MODELS["mixtral"][1], f"QUERY,{EXPERTS}", ("joined", "each")),
    "mixtral, one of three": ("mixtral", MODELS["mixtral"][1], "EXPERT_UP", ("joined",)),
    "qwen3_moe": (*MODELS["qwen3_moe"], EXPERTS, ("joined", "each")),
    # PEFT itself joins no adapters of each expert of this family.
    "qwen2_moe, shared experts": (
        "qwen2_moe", SHARED, f"VALUE,GATE,UP,DOWN,{EXPERTS}", ("joined",)
    ),
    "qwen2_moe, shared experts alone": ("qwen2_moe", SHARED, "GATE,UP,DOWN", ("joined",)),
}  # fmt: skip


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveAdaptersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = live.LiveModelsTest("report")
        live.LiveModelsTest.setUpClass()
        cls.addClassCleanup(live.LiveModelsTest.doClassCleanups)
        import peft
        import torch

        cls.peft, cls.torch = peft, torch
        cls.folder = cls.models.folder

    def base(self, folder):
        return self.models.transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=self.torch.float32, attn_implementation="eager"
        )

    def told(self, model):
        with self.torch.no_grad():
            logits = model(input_ids=self.torch.tensor(PROMPTS), use_cache=False).logits
        return self.torch.log_softmax(logits.double(), -1)[:, :-1].flatten().tolist()

    def ours(self, run, *arguments):
        rows = live.served(self.models.words, PROMPTS, "--load", run, *arguments)
        return [each for row in rows for top in row for each in top]

    def far(self, ours, theirs):
        self.assertEqual(len(ours), len(theirs))
        return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))

    def test_peft_loads_what_was_trained(self):
        for number, (name, (family, config, targets, ways)) in enumerate(CASES.items()):
            with self.subTest(name):
                theirs, run = (self.folder / f"adapted-{number}{end}" for end in ("", "-run"))
                self.models.publish(family, config, theirs)
                lora = {"rank": 3, "alpha": 6, "targets": targets}
                settings = {**live.TRAINING, **{f"training.lora.{k}": v for k, v in lora.items()},
                            "training.learning_rate.peak": "0.05"}  # fmt: skip
                self.models.train(theirs, run, "--load", theirs, "--finetune", settings=settings)
                ours = self.ours(run)
                plain = self.told(self.base(theirs))
                self.assertGreater(self.far(ours, plain), 100 * NEAR)
                for way in ways:
                    written = self.folder / f"adapted-{number}-{way}"
                    must("checkpoint", "export", run, "-o", written, "--format", "peft",
                         "--experts", way)  # fmt: skip
                    adapted = self.peft.PeftModel.from_pretrained(self.base(theirs), written)
                    self.assertLess(self.far(ours, self.told(adapted)), NEAR)

    def test_what_peft_trains_is_read(self):
        """And read by PEFT again, as Hocket writes it."""
        short = ("--set", f"training.sequence_length={live.LENGTH}")
        both = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
        for number, (family, config, adapters) in enumerate((
            ("mixtral", MODELS["mixtral"][1],
             {"target_modules": ["q_proj"], "target_parameters": both}),
            ("mixtral", MODELS["mixtral"][1],
             {"target_modules": [], "target_parameters": ["down_proj"]}),
            ("qwen2_moe", {**SHARED, "mlp_only_layers": []},
             {"target_modules": ["shared_expert.up_proj"], "target_parameters": both[:1],
              "rank_pattern": {"gate_up_proj": 5}, "alpha_pattern": {"gate_up_proj": 10}}),
        )):  # fmt: skip
            with self.subTest(family, number=number):
                base, tuned, start, again = (
                    self.folder / f"tuned-{number}{end}" for end in ("", "-peft", "-start", "-again")
                )
                self.models.publish(family, config, base)
                model = self.peft.get_peft_model(
                    self.base(base),
                    self.peft.LoraConfig(r=2, lora_alpha=4, task_type="CAUSAL_LM", **adapters),
                )
                self.torch.manual_seed(4)
                with self.torch.no_grad():
                    for key, weight in model.named_parameters():
                        if "lora_" in key:
                            weight.normal_(0, 0.2)
                model.save_pretrained(tuned)
                theirs = self.told(model)
                must("checkpoint", "import", tuned, "--base", base, "-o", start, *short)
                self.assertLess(self.far(self.ours(start, *short), theirs), NEAR)
                must("checkpoint", "export", start, "-o", again, "--format", "peft")
                adapted = self.peft.PeftModel.from_pretrained(self.base(base), again)
                self.assertLess(self.far(self.told(adapted), theirs), NEAR)
                self.assertGreater(self.far(self.told(self.base(base)), theirs), 100 * NEAR)


if __name__ == "__main__":
    unittest.main()
