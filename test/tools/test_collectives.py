#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""What devices exchange, per layer and direction, under each plan.

Nobody writes these collectives: they are what lies between the shardings that
factor rules give. The counts are those of the papers that did write them.
"""

import collections
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))

MODEL = """
model {
  layers: 3 hidden: 32 heads: 4 kv_heads: 4 ffn: 64 vocab_size: 64
  max_positions: 16 norm: RMS_NORM activation: SWIGLU position: ROTARY
  bias: false tied_embeddings: false
}
training {
  sequence_length: 16 micro_batch_size: 4 precision: FP32
}
"""
EXPERTS = "model.moe={experts: 4 top_k: 2 ffn: 24 capacity_factor: 1.25}"
FUNCTION = re.compile(r"func\.func .*?@([a-z_]+)\(")
COLLECTIVE = re.compile(
    r"dist\.(all_reduce|all_gather|reduce_scatter|all_to_all|shift) .*?over (\[.*?\])"
)


def collectives(*options):
    """function -> Counter of "kind axes"."""
    with tempfile.TemporaryDirectory() as folder:
        spec, out = pathlib.Path(folder, "a.textproto"), pathlib.Path(folder, "a.mlir")
        spec.write_text(MODEL)
        command = [BUILD / "bin/hocket", "compile", spec, *options]
        subprocess.run([*command, "--compile-to=dist", "-o", out], check=True)
        text = out.read_text()
    found, function = collections.defaultdict(collections.Counter), None
    for line in text.splitlines():
        if match := FUNCTION.search(line):
            function = match[1]
        elif match := COLLECTIVE.search(line):
            found[function][f"{match[1]} {match[2]}"] += 1
    return found


class CollectivesTest(unittest.TestCase):
    def test_tensor_parallel_layers_reduce_twice_each_way(self):
        found = collectives("--mesh", "tp=2")
        for function in ("layer_forward", "layer_backward"):
            self.assertEqual(found[function], {'all_reduce ["tp"]': 2}, function)

    def test_sequence_parallel_layers_gather_and_scatter(self):
        found = collectives("--mesh", "tp=2", "--sequence-parallel")
        self.assertEqual(
            found["layer_forward"],
            {'all_gather ["tp"]': 2, 'reduce_scatter ["tp"]': 2},
        )
        # Two gathers of gradients and two of norms that are not kept whole.
        self.assertEqual(
            found["layer_backward"],
            {'all_gather ["tp"]': 4, 'reduce_scatter ["tp"]': 2},
        )

    def test_logits_are_never_gathered(self):
        forward = collectives("--mesh", "tp=2")["forward"]
        # The embedding's sum, the labels' logits, and one number a row and rank.
        self.assertEqual(
            forward, {'all_reduce ["tp"]': 2, 'all_gather ["tp"]': 1}
        )

    def test_data_parallel_layers_exchange_nothing(self):
        found = collectives("--mesh", "dp=2")
        self.assertEqual(found["layer_forward"], {})
        self.assertEqual(found["layer_backward"], {})
        # Each of 9 weights of 3 layers, and of the embedding, norm and head.
        self.assertEqual(found["update"], {'all_reduce ["dp"]': 3 * 9 + 3})

    def test_zero_1_scatters_gradients_and_gathers_parameters(self):
        update = collectives("--mesh", "dp=2", "--zero", "1")["update"]
        self.assertEqual(update['reduce_scatter ["dp"]'], 3 * 9 + 3)
        # And one gather of the norms of shards.
        self.assertEqual(update['all_gather ["dp"]'], 3 * 9 + 3 + 1)
        self.assertEqual(update['all_reduce ["dp"]'], 0)

    def test_zero_2_scatters_in_every_microbatch(self):
        found = collectives("--mesh", "dp=2", "--zero", "2")
        self.assertEqual(found["backward"]['reduce_scatter ["dp"]'], 3 * 9 + 3)
        self.assertEqual(found["update"]['reduce_scatter ["dp"]'], 0)

    def test_zero_3_gathers_every_weight_of_a_layer_once_each_way(self):
        found = collectives("--mesh", "dp=2", "--zero", "3")
        for function in ("layer_forward", "layer_backward"):
            self.assertEqual(found[function], {'all_gather ["dp"]': 9}, function)

    def test_context_parallel_gathers_keys_and_values(self):
        found = collectives("--mesh", "cp=2")
        self.assertEqual(found["layer_forward"], {'all_gather ["cp"]': 2})
        # Again, rather than kept; and the gradients by them are scattered.
        self.assertEqual(
            found["layer_backward"],
            {'all_gather ["cp"]': 2, 'reduce_scatter ["cp"]': 2},
        )
        # To weights, ranks that share sequences are ranks with other ones.
        self.assertEqual(found["update"], {'all_reduce ["cp"]': 3 * 9 + 3})

    def test_context_parallel_by_all_to_all_deals_out_heads(self):
        found = collectives("--mesh", "cp=2", "--cp-strategy", "alltoall")
        # Queries, keys and values there, and the result back.
        self.assertEqual(found["layer_forward"], {'all_to_all ["cp"]': 4})
        # The result's gradient there, the three gradients back; and the result
        # itself, which two need, in two ways.
        self.assertEqual(found["layer_backward"], {'all_to_all ["cp"]': 5})

    def test_context_parallel_by_a_ring_shifts_keys_and_values(self):
        found = collectives("--mesh", "cp=4", "--cp-strategy", "ring")
        self.assertEqual(found["layer_forward"], {'shift ["cp"]': 2 * 3})
        # And their gradients, home too.
        self.assertEqual(found["layer_backward"], {'shift ["cp"]': 2 * 3 + 2 * 4})

    def test_context_and_tensor_parallel_layers_add_up(self):
        found = collectives("--mesh", "cp=2,tp=2", "--sequence-parallel")
        self.assertEqual(
            found["layer_forward"],
            {
                'all_gather ["tp"]': 2,
                'reduce_scatter ["tp"]': 2,
                'all_gather ["cp"]': 2,
            },
        )

    def test_zero_splits_state_over_data_and_context(self):
        update = collectives("--mesh", "dp=2,cp=2", "--zero", "1")["update"]
        self.assertEqual(update['reduce_scatter ["dp", "cp"]'], 3 * 9 + 3)

    def test_experts_take_rows_and_send_results_back(self):
        found = collectives("--mesh", "dp=2,ep=2", "--set", EXPERTS)
        self.assertEqual(found["expert_layer_forward"], {'all_to_all ["ep"]': 2})
        # Gradients of both, and the results for the router's weights.
        self.assertEqual(found["expert_layer_backward"], {'all_to_all ["ep"]': 3})

    def test_experts_over_context_scatter_before_they_exchange(self):
        found = collectives("--mesh", "dp=2,cp=2,ep=4", "--set", EXPERTS)
        self.assertEqual(
            found["expert_layer_forward"],
            {
                # Keys and values, choices, and what experts give.
                'all_gather ["cp"]': 4,
                'reduce_scatter ["cp"]': 1,
                'all_to_all ["ep"]': 2,
            },
        )

    def test_experts_over_a_part_of_context_cut_it_for_themselves_alone(self):
        options = ["--mesh", "cp=4,ep=2", "--set", EXPERTS]
        found = collectives(*options)
        self.assertEqual(
            found["expert_layer_forward"],
            {
                # Keys and values, and choices: one group of four ranks.
                'all_gather ["cp.0", "cp.1"]': 3,
                # To the half that has the expert, then to a rank of it; and back.
                'reduce_scatter ["cp.1"]': 1,
                'reduce_scatter ["cp.0"]': 1,
                'all_gather ["cp.1"]': 1,
                'all_gather ["cp.0"]': 1,
            },
        )
        # Gradients of 3 layers' 3 matrices of experts, and all others; the norm.
        self.assertEqual(
            found["update"],
            {
                'all_reduce ["cp.0"]': 9,
                'all_reduce ["cp.0", "cp.1"]': 3 * 7 + 3,
                'all_gather ["cp.1"]': 1,
            },
        )
        ring = collectives(*options, "--cp-strategy", "ring")
        self.assertEqual(ring["expert_layer_forward"]['shift ["cp.0", "cp.1"]'], 2 * 3)
        heads = collectives(*options, "--cp-strategy", "alltoall")
        self.assertEqual(heads["expert_layer_forward"]['all_to_all ["cp.0", "cp.1"]'], 4)

    def test_experts_go_to_the_nearest_ranks(self):
        found = collectives("--mesh", "dp=2,cp=4,ep=4", "--set", EXPERTS)
        self.assertNotIn("dp", str(found["expert_layer_forward"]))
        self.assertNotIn("ep", str(found["expert_layer_forward"]))
        self.assertEqual(found["update"]['all_reduce ["dp"]'], 9)

    def test_dropless_experts_exchange_no_rows(self):
        model = EXPERTS.replace(" capacity_factor: 1.25", "")
        found = collectives("--mesh", "dp=2,cp=2", "--set", model)
        # Keys and values; each rank orders the tokens that it has.
        self.assertEqual(found["expert_layer_forward"], {'all_gather ["cp"]': 2})

    def test_whole_experts_take_rows_of_tensor_ranks(self):
        options = ["--sequence-parallel", "--set", EXPERTS]
        found = collectives("--mesh", "dp=2,tp=2,ep=4,etp=1", *options)
        self.assertEqual(
            found["expert_layer_forward"],
            {
                # Attention's input, choices, and what experts give.
                'all_gather ["tp"]': 3,
                # Attention's result, and the experts' rows.
                'reduce_scatter ["tp"]': 2,
                'all_to_all ["ep"]': 2,
            },
        )
        self.assertEqual(
            found["expert_layer_backward"],
            {
                'all_gather ["tp"]': 4,
                'reduce_scatter ["tp"]': 2,
                'all_to_all ["ep"]': 3,
            },
        )
        # Nothing over dp where the tensor ranks hold all experts.
        found = collectives("--mesh", "dp=2,tp=2,ep=2,etp=1", *options)
        self.assertNotIn("dp", str(found["expert_layer_forward"]))

    def test_zero_3_gathers_weights_over_expert_ranks(self):
        found = collectives("--mesh", "dp=2,ep=2", "--zero", "3", "--set", EXPERTS)
        # Four of attention, two norms and the router; experts are split already.
        self.assertEqual(
            found["expert_layer_forward"],
            {'all_gather ["ep"]': 7, 'all_to_all ["ep"]': 2},
        )

    def test_experts_split_over_tensor_ranks_sum_tokens_and_no_rows(self):
        found = collectives("--mesh", "dp=2,tp=2,ep=2", "--set", EXPERTS)
        # One sum of attention's result, and one of the experts'.
        self.assertEqual(
            found["expert_layer_forward"],
            {'all_reduce ["tp"]': 2, 'all_to_all ["ep"]': 2},
        )
        # And one of the gradient by the router's weights, a number a choice.
        self.assertEqual(
            found["expert_layer_backward"],
            {'all_reduce ["tp"]': 3, 'all_to_all ["ep"]': 3},
        )

    def test_experts_split_inside_pairs_of_tensor_ranks(self):
        options = ["--sequence-parallel", "--set", EXPERTS]
        found = collectives("--mesh", "dp=2,tp=4,ep=4,etp=2", *options)
        self.assertEqual(
            found["expert_layer_forward"],
            {
                # Attention's input, the choices, and attention's result.
                'all_gather ["tp.0", "tp.1"]': 2,
                'reduce_scatter ["tp.0", "tp.1"]': 1,
                # A pair's tokens and their weights, and the sums of its results.
                'all_gather ["tp.1"]': 2,
                'reduce_scatter ["tp.1"]': 1,
                # Rows to the pair that has the expert, and results back.
                'reduce_scatter ["tp.0"]': 1,
                'all_gather ["tp.0"]': 1,
                'all_to_all ["ep"]': 2,
            },
        )
        # Nothing over dp where a group of tensor ranks holds all experts.
        found = collectives("--mesh", "dp=2,tp=4,ep=2,etp=2", *options)
        self.assertNotIn("dp", str(found["expert_layer_forward"]))
        self.assertNotIn("dp", str(found["expert_layer_backward"]))

    def test_gradients_of_experts_are_summed_over_their_own_ranks(self):
        def sums(mesh, *options):
            options = [*options, "--sequence-parallel", "--set", EXPERTS]
            return collectives("--mesh", mesh, *options)["update"]

        # Of 3 layers 3 matrices each; routers, norms and the rest are others.
        self.assertEqual(sums("dp=2,cp=2,tp=4,etp=2")['all_reduce ["dp", "cp", "tp.0"]'], 9)
        self.assertEqual(sums("cp=2,tp=4,ep=2,etp=2")['all_reduce ["cp"]'], 3 * 7 + 2)
        update = sums("dp=2,tp=4,ep=2,etp=1", "--zero", "1")
        self.assertEqual(update['reduce_scatter ["dp", "tp.0"]'], 9)
        self.assertEqual(update['all_gather ["dp", "tp.0"]'], 9)

    def test_axes_do_not_disturb_each_other(self):
        found = collectives("--mesh", "dp=2,tp=2", "--zero", "1")
        for function in ("layer_forward", "layer_backward"):
            self.assertEqual(found[function], {'all_reduce ["tp"]': 2}, function)


if __name__ == "__main__":
    unittest.main()
