# Part of Hocket, under the Apache License v2.0.
"""What `hocket compile` says of plans: bad ones, ones that do not fit, and how
much of its memory one that fits leaves."""

import json
import pathlib
import shlex
import tempfile
import unittest

from programs import hocket

SPEC = """name: "small"
model {
  layers: 4 hidden: 64 heads: 4 kv_heads: 2 ffn: 128 vocab_size: 96
  max_positions: 32 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training { micro_batch_size: 2 sequence_length: 32 global_batch_size: 16 }
"""

# A plan, and all that is said of it.
BAD = (
    ("--mesh tp=0",
     "--mesh tp=0: S4: plan.tensor_parallel is 0; write a number from 1 to 65536"),
    ("--mesh dp=0",
     "--mesh dp=0: S4: plan.data_parallel is 0; write a number from 1 to 65536"),
    ("--mesh dp=2 --set cluster.devices=8",
     "--set cluster.devices=8: S20: cluster.devices is 8, but the plan's axes "
     "multiply to 2 ranks (dp=2); write 2, or leave it out"),
    ("--mesh tp=3",
     "--mesh tp=3: S22: plan.tensor_parallel is 3, which does not divide "
     "model.heads (4); write one of its divisors"),
    ("--mesh pp=8",
     "--mesh pp=8: S18: there are 8 stages (pipeline_parallel * virtual_stages) for "
     "4 layers; write fewer stages, or layers_per_stage"),
    ("--mesh dp=3",
     "SPEC:6:52: S14: training.global_batch_size is 16, which is not a multiple of "
     "micro_batch_size (2) * plan.data_parallel (3); write 18"),
    ("--mesh cp=4,ep=3 --set 'model.moe={experts: 6}'",
     "--mesh cp=4,ep=3: S21: plan.expert_parallel is 3, which does not divide "
     "data_parallel * context_parallel (4)"),
    ("--mesh dp=2,cp=2,ep=8 --set 'model.moe={experts: 8}'",
     "--mesh dp=2,cp=2,ep=8: S21: plan.expert_parallel is 8, which does not divide "
     "data_parallel * context_parallel (4)"),
    ("--mesh tp=2,ep=2,etp=1 --set 'model.moe={experts: 4}'",
     "--mesh tp=2,ep=2,etp=1: S37: plan.expert_tensor_parallel is 1, so that each "
     "tensor rank sends tokens of its own to the experts; write sequence_parallel: "
     "true (--sequence-parallel), or leave it out"),
    ("--mesh tp=2,etp=1 --sequence-parallel",
     "--mesh tp=2,etp=1: S37: plan.expert_tensor_parallel is 1, which has no use "
     "without experts; leave it out"),
    ("--mesh tp=4,ep=2,etp=2 --set 'model.moe={experts: 4}'",
     "--mesh tp=4,ep=2,etp=2: S37: plan.expert_tensor_parallel is 2, so that groups "
     "of as many tensor ranks send tokens of their own to the experts; write "
     "sequence_parallel: true (--sequence-parallel), or leave it out"),
    ("--mesh tp=4,etp=3 --sequence-parallel --set 'model.moe={experts: 4}'",
     "--mesh tp=4,etp=3: S38: plan.expert_tensor_parallel is 3, which does not "
     "divide plan.tensor_parallel (4); write one of its divisors"),
    ("--mesh tp=4,ep=4,etp=2 --sequence-parallel --set 'model.moe={experts: 4}'",
     "--mesh tp=4,ep=4,etp=2: S21: plan.expert_parallel is 4, which does not divide "
     "data_parallel * context_parallel * tensor_parallel / expert_tensor_parallel "
     "(2)"),
    ("--mesh cp=2,tp=4,ep=8,etp=2 --sequence-parallel --set 'model.moe={experts: 8}'",
     "--mesh cp=2,tp=4,ep=8,etp=2: S21: plan.expert_parallel is 8, which does not "
     "divide data_parallel * context_parallel * tensor_parallel / "
     "expert_tensor_parallel (4)"),
    ("--mesh tp=2,ep=4,etp=1 --sequence-parallel --set 'model.moe={experts: 4}'",
     "--mesh tp=2,ep=4,etp=1: S21: plan.expert_parallel is 4, which does not divide "
     "data_parallel * context_parallel * tensor_parallel (2)"),
    ("--mesh cp=4 --cp-strategy alltoall",
     "--cp-strategy alltoall: S36: plan.context_strategy is ALL_TO_ALL, which deals "
     "out key heads, but model.kv_heads (2) is no multiple of context_parallel * "
     "tensor_parallel (4); write ALL_GATHER or RING, or fewer ranks"),
    ("--recompute auto",
     "--recompute auto: S41: plan.recompute is AUTO, which needs to know how many "
     "bytes a device has; write cluster.memory_bytes (--memory 80GiB)"),
    ("--recompute-num-layers 2",
     "--recompute-num-layers 2: S40: plan.recompute is NONE, with which recompute_method and "
     "recompute_layers have no meaning; leave them out, or write FULL"),
    ("--recompute selective --recompute-modules core_attn,norms",
     "--recompute-modules core_attn,norms: S1: there is no module 'norms'; write some of "
     "core_attn, layernorm, mlp, shared_experts, moe, moe_act, activation, pointwise"),
    ("--loss-chunks 0",
     "--loss-chunks 0: S4: plan.loss_chunks is 0; write a number from 1 to 1048576"),
    ("--loss-chunks 2000",
     "--loss-chunks 2000: S117: plan.loss_chunks is 2000, more than the 64 tokens of a "
     "microbatch on a rank; write fewer"),
    ("--loss-chunks 2 --mesh dp=2 --zero 3",
     "--loss-chunks 2: S118: plan.loss_chunks is 2, which adds up the head's whole "
     "gradient on each rank, but plan.zero_stage is 3; leave it out, or write zero_stage "
     "0 or 1"),
    ("--loss-chunks 2 --set model.vocab_size=128 --set model.attention_mask=BIDIRECTIONAL "
     "--set model.classes=3",
     "--loss-chunks 2: S119: plan.loss_chunks is 2, but the model has no loss over "
     "tokens; leave it out"),
    ("--recompute-method some",
     "--recompute-method some: S1: write one of uniform, block"),
    ("--mesh tp=2 --shardings s --set 'model.moe={experts: 4}'",
     "--shardings s: S43: plan.shardings is of models without experts"),
    ("--memory lots",
     "--memory lots: S1: expected a number of bytes, like 80GiB, 500MB or 1000000"),
)  # fmt: skip


class PlansTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.spec = self.folder / "spec.textproto"
        self.spec.write_text(SPEC)
        self.out = self.folder / "x.hkx"

    def compile(self, options):
        return hocket("compile", self.spec, *shlex.split(options), "-o", self.out)

    def summary(self, options):
        done = self.compile(options + " --json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.out.unlink()
        return json.loads(done.stdout)

    def refusal(self, options):
        done = self.compile(options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(self.out.exists())
        self.assertTrue(done.stderr.startswith("hocket: "), done.stderr)
        return done.stderr[len("hocket: ") :].rstrip("\n")

    def test_a_bad_plan_has_one_message(self):
        for options, message in BAD:
            with self.subTest(options):
                expected = message.replace("SPEC", str(self.spec))
                # The line of the file, with a caret, may follow.
                said, _, excerpt = self.refusal(options).partition("\n")
                self.assertEqual(said, expected)
                self.assertNotIn("hocket:", excerpt)

    def test_too_few_microbatches_are_named(self):
        said = self.refusal("--mesh pp=2 --virtual-stages 2 --microbatches 1")
        self.assertIn("S25", said)
        self.assertIn("microbatches", said)
        self.assertEqual(len(said.splitlines()), 1)

    def test_what_does_not_fit_is_told_what_does(self):
        mesh = "--mesh pp=2,dp=2,tp=2"
        most = self.summary(mesh)["arena_bytes"]
        budget = most - 9000
        lines = self.refusal(f"{mesh} --memory {budget}").splitlines()
        self.assertRegex(
            lines[0],
            f"^--memory {budget}: S42: ranks [0-9]+ to [0-9]+ need [0-9.]+ [KM]iB, "
            "8.79 KiB more than the [0-9.]+ [KM]iB of a device \\(at the peak: "
            "[a-z]+ [0-9.]+ KiB, [^)]*\\); the nearest plans that fit:$",
        )
        self.assertEqual(len(lines), 4)
        for line in lines[1:]:
            flags, peak, unit = line.strip().rsplit(maxsplit=2)
            with self.subTest(flags):
                # What is named replaces what was given.
                given = "" if "--mesh" in flags else mesh
                summary = self.summary(f"{given} {flags} --memory {budget}")
                self.assertLessEqual(summary["arena_bytes"], budget)
                scale = {"KiB": 1 << 10, "MiB": 1 << 20}[unit]
                self.assertAlmostEqual(
                    summary["arena_bytes"] / scale, float(peak), delta=0.05
                )

    def test_where_nothing_fits_more_ranks_are_asked_for(self):
        said = self.refusal("--memory 10KiB")
        self.assertIn("S42: rank 0 needs ", said)
        self.assertTrue(
            said.endswith(
                "no plan near it fits: more ranks are needed, or more memory"
            ),
            said,
        )

    def test_auto_says_what_it_chose_and_how_far_it_may_be(self):
        mesh = "--mesh pp=2,dp=2,tp=2 --zero 1"
        none = self.summary(mesh)
        full = self.summary(f"{mesh} --recompute full")
        budget = (none["arena_bytes"] + full["arena_bytes"]) // 2
        auto = f"{mesh} --recompute auto --memory {budget}"
        summary = self.summary(auto)
        self.assertLessEqual(summary["arena_bytes"], budget)
        self.assertEqual(
            max(role["arena_bytes"] for role in summary["memory"]),
            summary["arena_bytes"],
        )
        first, second = summary["memory"]
        self.assertGreater(first["recomputed"], 0)
        self.assertLess(first["recomputed"], first["residuals"])
        self.assertLessEqual(first["least_share"], first["recompute_share"])
        self.assertGreater(first["least_share"], 0)
        # The last rank holds one microbatch, the first two.
        self.assertLess(second["recompute_share"], first["recompute_share"])
        lines = self.compile(auto).stdout.splitlines()
        self.assertRegex(
            lines[1],
            "^memory: ranks 0 to 3 [0-9.]+ [KM]iB, ranks 4 to 7 [0-9.]+ [KM]iB; a "
            "device has [0-9.]+ [KM]iB, [0-9.]+ (B|KiB) more$",
        )
        self.assertRegex(
            lines[2],
            "^recompute: ranks 0 to 3: [0-9]+ of [0-9]+ residuals, [0-9.]+ % more "
            "work; no choice that fits takes less than [0-9.]+ %$",
        )

    def test_the_same_plan_gives_the_same_bytes(self):
        most = self.summary("--mesh pp=2")["arena_bytes"]
        options = f"--mesh pp=2 --recompute auto --memory {most - 50000}"
        self.assertEqual(self.compile(options).returncode, 0)
        first = self.out.read_bytes()
        self.compile(options)
        self.assertEqual(self.out.read_bytes(), first)

    def test_help_teaches_every_flag_of_a_plan(self):
        text = hocket("compile", "--help").stdout
        for flag, lesson in (
            ("--plan", "textproto"),
            ("--mesh", "pp: pipeline, dp: data, cp: context, tp: tensor"),
            ("--virtual-stages", "Default: 1"),
            ("--schedule", "zb-h1, zb-h2, zb-v, dualpipe-v, list, or a"),
            ("--microbatches", "training.micro_batch_size * dp"),
            ("--sequence-parallel", "along the sequence"),
            ("--zero", "1: optimizer state, 2: also gradients"),
            ("--cp-strategy", "allgather, ring or alltoall"),
            ("--shardings", "how parameters and ops"),
            ("--recompute", "auto: the"),
            ("--recompute-method", "block: only the first"),
            ("--recompute-num-layers", "Default: 1"),
            ("--memory", "80GiB"),
        ):
            with self.subTest(flag):
                self.assertIn(f"\n  {flag} ", text)
                about = text.split(f"\n  {flag} ", 1)[1].split("\n  --", 1)[0]
                self.assertIn(lesson, " ".join(about.split()))


if __name__ == "__main__":
    unittest.main()
