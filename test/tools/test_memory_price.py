# Part of Hocket, under the Apache License v2.0.
"""The search's price of memory beside the arenas of compiled programs."""

import json
import pathlib
import re
import tempfile
import unittest

from programs import ROOT, hocket

SPEC = """name: "mid"
model {{ layers: 8 hidden: 1024 heads: 16 {more} vocab_size: 32000 max_positions: 1024 }}
training {{ sequence_length: 1024 global_batch_size: 64 precision: BF16 }}
plan {{ {plan} }}
"""
EXPERTS = "mlp_bias: false moe { experts: 8 top_k: 2 ffn: 2048 }"
CHOSEN = "mlp_bias: false moe {{ experts: {} top_k: {} ffn: 512 }}"
# Experts, those that a token goes to, and the ranks that share them out.
SHARED_OUT = [
    (experts, top_k, ranks)
    for experts, top_k in ((8, 2), (64, 6), (128, 8), (256, 8))
    for ranks in (2, 4, 8, 16, 32, 64)
    if ranks <= experts
]
# Kinds of layers: a Mamba-2 block alone, or with an MLP, attention with one and
# alone, and an MLP.
KINDS = {
    "m": "mixer: MAMBA2 feed_forward: NO_FEED_FORWARD position: NONE",
    "w": "mixer: MAMBA2 position: NONE",
    "a": "mixer: ATTENTION",
    "b": "feed_forward: NO_FEED_FORWARD",
    "f": "mixer: NO_MIXER position: NONE",
}
SCANS = """norm: RMS_NORM bias: false position: ROTARY activation: SWIGLU ffn: 2816
state_space {{ heads: 32 head_dim: 64 state_size: 128 groups: {} norm_groups: {} }}
{} pattern: "{}" """
# Mamba-2, Bamba, Zamba2 and Nemotron-H in small: their kinds, and groups of
# states and of norms.
HYBRIDS = [("m", 1, 1), ("w*3 a", 1, 1), ("m*3 a", 8, 1), ("m f m b f", 8, 8)]
# T5 in small: layers of both stacks, tokens of both, and more.
TWO_STACKS = """name: "t5"
model {{ encoder {{ layers: {} }} layers: {} hidden: 1024 heads: 16 vocab_size: 32000
  norm: RMS_NORM bias: false attention_scale: 1 position: RELATIVE {} }}
training {{ encoder_sequence_length: {} sequence_length: {} span_corruption {{ }}
  global_batch_size: 64 precision: BF16 }}
"""
STACKS = [
    (8, 8, "activation: RELU", 1024, 1024),
    (6, 10, "activation: RELU", 1024, 256),
    (8, 8, "activation: GEGLU_TANH tied_embeddings: false", 1024, 256),
]
# DeepSeek-V2's attention in small, with latent queries or without.
LATENT = """norm: RMS_NORM bias: false position: ROTARY activation: SWIGLU ffn: 2816
qk_norm: true latent_attention {{ {} kv_lora_rank: 256
qk_nope_head_dim: 64 qk_rope_head_dim: 32 v_head_dim: 64 }}"""
# LLaVA in small: layers, images and what is trained; the tower's sizes.
IMAGES = """name: "llava"
model {{ vision {{ {tower} }} image_token: 31999
  layers: {layers} hidden: 1024 heads: 16 ffn: 2816 vocab_size: 32000
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
  tied_embeddings: false max_positions: 4096 }}
training {{ images_per_sequence: {images} sequence_length: 1024 {trained}
  global_batch_size: 64 precision: BF16 data {{ eod_token: 2 eod_mask_loss: true }} }}
"""
TOWER = "layers: {} hidden: {} heads: 16 image_size: {} patch_size: 14"
SIGHTED = [
    (8, 1, 'freeze { name: "vision.*" }', (24, 1024, 336)),
    (8, 3, 'freeze { name: "vision.*" }', (12, 768, 224)),
    (8, 1, 'train_only { name: "projector.*" }', (24, 1024, 336)),
    (8, 1, "", (24, 1024, 336)),
    (8, 3, "", (6, 512, 224)),
]
# Retro in small: the layers that attend to neighbours, and more of retrieval.
RETRIEVING = """name: "retro"
model {{ layers: 8 hidden: 1024 heads: 16 vocab_size: 32000 max_positions: 1024 {}
  retrieval {{ layers: {} {} }} }}
training {{ sequence_length: 1024 global_batch_size: 64 precision: BF16 }}
"""
RETRIEVALS = [
    ("", "[5]", ""),
    ("norm: RMS_NORM bias: false activation: SWIGLU position: ROTARY", "[1, 4, 7]", ""),
    ("kv_heads: 4", "[0, 2, 4, 6]", "chunk_length: 128 neighbors: 3 encoder_layers: 3"),
]
# Where the text of level exec says how many bytes a role needs.
ARENA = re.compile(r"^  exec\.role @\w+ ranks .* arena (\d+) ", re.M)
# Llama-3 8B and Mixtral 8x7B, of examples/: layers larger than a bucket.
LARGE = [
    ("llama-3-8b", "dp=2,tp=4,mbs=1,sp=1,zero=3", 8),
    ("llama-3-8b", "dp=2,tp=2,pp=2,mbs=1,zero=2,v=2,schedule=zb-v", 8),
    ("llama-3-8b", "pp=4,dp=4,mbs=1,schedule=zb-h1,recompute=full", 16),
    ("llama-3-8b", "pp=4,dp=4,mbs=1,zero=3,schedule=zb-h1,recompute=selective", 16),
    ("llama-3-8b", "pp=2,tp=4,sp=1,mbs=2,schedule=zb-h1,recompute=full", 8),
    ("gemma-3-1b", "pp=2,dp=4,mbs=2,recompute=selective,v=2,loss_chunks=4", 8),
    ("gemma-3-1b", "pp=2,dp=4,mbs=2,recompute=full,v=2,loss_chunks=4", 8),
    ("mixtral-8x7b", "dp=64,mbs=1,zero=1,ep=2", 64),
    ("mixtral-8x7b", "dp=8,cp=2,mbs=1,zero=3,ep=8,recompute=selective", 16),
    ("mixtral-8x7b", "tp=8,pp=4,sp=1,mbs=2,recompute=selective,schedule=zb-v,v=2", 32),
]
# What a price may be off by, of the fullest rank and of any; of the fullest
# where ranks exchange the rows of experts, and where layers have scans.
FULLEST, ANY, EXCHANGING, HYBRID, STACKED, SEEING = 0.05, 0.06, 0.03, 0.03, 0.03, 0.03

# The plan as `simulate` and as a specification has it.
SEQUENCES = [
    (
        "dp=2,cp=2,tp=2,sp=1,mbs=2",
        "data_parallel: 2 context_parallel: 2 tensor_parallel: 2 "
        "sequence_parallel: true micro_batch_size: 2",
    ),
    ("pp=2,cp=4,mbs=2", "pipeline_parallel: 2 context_parallel: 4 micro_batch_size: 2"),
    (
        "dp=4,cp=2,zero=2,mbs=2",
        "data_parallel: 4 context_parallel: 2 zero_stage: 2 micro_batch_size: 2",
    ),
]
DENSE = [
    ("dp=8,mbs=2", "data_parallel: 8 micro_batch_size: 2"),
    (
        "tp=8,mbs=2,sp=1",
        "tensor_parallel: 8 sequence_parallel: true micro_batch_size: 2",
    ),
    (
        "dp=4,tp=2,zero=2,mbs=2",
        "data_parallel: 4 tensor_parallel: 2 zero_stage: 2 micro_batch_size: 2",
    ),
    ("dp=8,zero=3,mbs=2", "data_parallel: 8 zero_stage: 3 micro_batch_size: 2"),
    ("pp=4,tp=2,mbs=2", "pipeline_parallel: 4 tensor_parallel: 2 micro_batch_size: 2"),
    (
        "pp=4,tp=2,v=2,mbs=2,schedule=interleaved-1f1b",
        "pipeline_parallel: 4 tensor_parallel: 2 virtual_stages: 2 micro_batch_size: 2",
    ),
    (
        "pp=4,dp=2,mbs=4,recompute=full",
        "pipeline_parallel: 4 data_parallel: 2 micro_batch_size: 4 recompute: FULL",
    ),
    (
        "dp=8,mbs=4,recompute=selective",
        "data_parallel: 8 micro_batch_size: 4 recompute: SELECTIVE",
    ),
    (
        "dp=8,mbs=4,recompute=selective,modules=core_attn/mlp",
        "data_parallel: 8 micro_batch_size: 4 recompute: SELECTIVE "
        "recompute_modules: [ CORE_ATTN, MLP ]",
    ),
    (
        "pp=4,tp=2,mbs=2,schedule=zb-h1",
        'pipeline_parallel: 4 tensor_parallel: 2 micro_batch_size: 2 schedule: "zb-h1"',
    ),
    (
        "pp=4,tp=2,v=2,mbs=2,sp=1,schedule=zb-v",
        "pipeline_parallel: 4 tensor_parallel: 2 virtual_stages: 2 micro_batch_size: 2 "
        'sequence_parallel: true schedule: "zb-v"',
    ),
    (
        "pp=2,dp=2,tp=2,sp=1,zero=1,mbs=4",
        "pipeline_parallel: 2 data_parallel: 2 tensor_parallel: 2 "
        "sequence_parallel: true zero_stage: 1 micro_batch_size: 4",
    ),
    ("dp=8,mbs=2,loss_chunks=8", "data_parallel: 8 micro_batch_size: 2 loss_chunks: 8"),
    (
        "pp=2,tp=4,mbs=2,sp=1,loss_chunks=4,schedule=zb-h1",
        "pipeline_parallel: 2 tensor_parallel: 4 micro_batch_size: 2 "
        'sequence_parallel: true loss_chunks: 4 schedule: "zb-h1"',
    ),
    (
        "pp=2,dp=4,v=2,mbs=2,zero=2,recompute=full,schedule=interleaved-1f1b",
        "pipeline_parallel: 2 data_parallel: 4 virtual_stages: 2 "
        "micro_batch_size: 2 zero_stage: 2 recompute: FULL",
    ),
    (
        "pp=2,dp=4,v=2,mbs=4,recompute=selective,loss_chunks=4",
        "pipeline_parallel: 2 data_parallel: 4 virtual_stages: 2 micro_batch_size: 4 "
        "recompute: SELECTIVE loss_chunks: 4",
    ),
    (
        "pp=4,tp=2,mbs=4,recompute=full,loss_chunks=8",
        "pipeline_parallel: 4 tensor_parallel: 2 micro_batch_size: 4 recompute: FULL "
        "loss_chunks: 8",
    ),
]
# Mamba-2 2.7B, Bamba 9B and Nemotron-H 8B, of the sizes of their config.json, each
# with plans and the ranks that these are for.
PUBLISHED_SPEC = """name: "{name}"
model {{ norm: RMS_NORM bias: false max_positions: 4096 {model} }}
training {{ sequence_length: 4096 global_batch_size: 512 precision: BF16 }}
"""
PUBLISHED = {
    "mamba2-2.7b": (
        "layers: 64 hidden: 2560 vocab_size: 50288 position: NONE state_space {} "
        'layer_kinds { name: "m" mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } '
        'pattern: "m"',
        [
            ("dp=8,tp=8,mbs=1,sp=1,recompute=full", 64),
            ("pp=4,dp=2,tp=8,mbs=1,sp=1,zero=1", 64),
            ("dp=64,mbs=1,zero=3,recompute=full", 64),
        ],
    ),
    "bamba-9b": (
        "layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336 vocab_size: 128256 "
        "position: ROTARY activation: SWIGLU tied_embeddings: false state_space {} "
        'layer_kinds { name: "m" mixer: MAMBA2 position: NONE } '
        'layer_kinds { name: "a" } pattern: "m*9 a m*8 a m*8 a m*4"',
        [
            ("dp=8,tp=8,mbs=1,sp=1,zero=1,recompute=selective", 64),
            ("pp=4,dp=4,tp=4,v=2,mbs=1,sp=1,zero=1", 64),
        ],
    ),
    "nemotron-h-8b": (
        "layers: 52 hidden: 4096 heads: 32 kv_heads: 8 head_dim: 128 ffn: 21504 "
        "vocab_size: 131072 position: NONE tied_embeddings: false "
        "state_space { groups: 8 norm_groups: 8 } "
        'layer_kinds { name: "m" mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } '
        'layer_kinds { name: "a" feed_forward: NO_FEED_FORWARD } '
        'layer_kinds { name: "f" mixer: NO_MIXER } '
        'pattern: "(m f)*3 m a f (m f)*4 m a f (m f)*4 m a f (m f)*4 m a f (m f)*5"',
        [
            ("dp=8,tp=8,mbs=2,sp=1,zero=1", 64),
            ("pp=2,dp=8,tp=4,mbs=1,sp=1,recompute=full", 64),
        ],
    ),
}
# What hybrids have beside those.
SHARDED = [
    ("dp=8,zero=1,mbs=2", "data_parallel: 8 zero_stage: 1 micro_batch_size: 2"),
    ("dp=8,zero=2,mbs=2", "data_parallel: 8 zero_stage: 2 micro_batch_size: 2"),
    (
        "dp=8,mbs=4,recompute=full",
        "data_parallel: 8 micro_batch_size: 4 recompute: FULL",
    ),
    (
        "tp=8,mbs=4,sp=1,recompute=selective",
        "tensor_parallel: 8 sequence_parallel: true micro_batch_size: 4 "
        "recompute: SELECTIVE",
    ),
    (
        "tp=8,mbs=4,sp=1,recompute=full",
        "tensor_parallel: 8 sequence_parallel: true micro_batch_size: 4 "
        "recompute: FULL",
    ),
    ("pp=2,dp=4,mbs=2", "pipeline_parallel: 2 data_parallel: 4 micro_batch_size: 2"),
    (
        "tp=8,mbs=2,sp=1",
        "tensor_parallel: 8 sequence_parallel: true micro_batch_size: 2",
    ),
]
MIXTURES = [
    (
        "dp=8,ep=8,mbs=2",
        "data_parallel: 8 expert_parallel: 8 micro_batch_size: 2",
    ),
    (
        "pp=2,dp=4,ep=4,mbs=2",
        "pipeline_parallel: 2 data_parallel: 4 expert_parallel: 4 micro_batch_size: 2",
    ),
    (
        "dp=4,cp=2,ep=8,mbs=2",
        "data_parallel: 4 context_parallel: 2 expert_parallel: 8 micro_batch_size: 2",
    ),
    (
        "dp=2,tp=4,ep=4,etp=2,sp=1,mbs=2",
        "data_parallel: 2 tensor_parallel: 4 expert_parallel: 4 "
        "expert_tensor_parallel: 2 sequence_parallel: true micro_batch_size: 2",
    ),
    (
        "dp=8,ep=8,mbs=2,recompute=full",
        "data_parallel: 8 expert_parallel: 8 micro_batch_size: 2 recompute: FULL",
    ),
    (
        "dp=8,ep=8,mbs=2,recompute=selective",
        "data_parallel: 8 expert_parallel: 8 micro_batch_size: 2 recompute: SELECTIVE",
    ),
    (
        "pp=4,tp=2,mbs=4,recompute=selective",
        "pipeline_parallel: 4 tensor_parallel: 2 micro_batch_size: 4 "
        "recompute: SELECTIVE",
    ),
    (
        "pp=4,dp=2,mbs=2,recompute=selective,schedule=zb-h1",
        "pipeline_parallel: 4 data_parallel: 2 micro_batch_size: 2 "
        'recompute: SELECTIVE schedule: "zb-h1"',
    ),
]


class MemoryPriceTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def report(self, *arguments):
        done = hocket(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["memory"]

    def arenas(self, spec, *options):
        """The bytes of each role, of level exec: that takes a third of the time of a
        program, whose roles have the same (test_arenas_of_programs)."""
        module = self.folder / "exec.mlir"
        done = hocket("compile", spec, "--compile-to", "exec", "-o", module, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(found) for found in ARENA.findall(module.read_text())]

    def arenas_of_program(self, spec, *options):
        program = self.folder / "program.hkx"
        roles = self.report("compile", spec, "-o", program, *options)
        return [role["arena_bytes"] for role in roles]

    def written(self, text):
        spec = self.folder / "spec.textproto"
        spec.write_text(text)
        return spec

    def check(self, more, short, plan, fullest=FULLEST, devices=8):
        text = SPEC.format(more=more, plan=plan)
        return self.compare(text, short, fullest, devices)

    def compare(self, text, short, fullest, devices, *compiled_as, each=ANY):
        spec = self.written(text)
        cluster = ("--cluster", f"h100:{devices}")
        ranks = self.report("simulate", spec, "--plan", short, *cluster)
        priced = [rank["total"] for rank in ranks]
        # A program whose steps are run again has more than level exec says.
        arenas = self.arenas_of_program if "RERUN" in text else self.arenas
        compiled = arenas(spec, *compiled_as)
        self.assertEqual(len(priced), len(compiled))
        for rank, (price, arena) in enumerate(zip(priced, compiled)):
            message = f"{short}: rank {rank} is priced {price}, compiled {arena}"
            self.assertLess(abs(price / arena - 1), each, message)
        off = max(priced) / max(compiled) - 1
        self.assertLess(abs(off), fullest, f"{short}: {off:+.1%}")
        return max(priced), max(compiled)

    def test_dense(self):
        for short, plan in DENSE:
            with self.subTest(plan=short):
                self.check("", short, plan)

    def test_large_layers(self):
        for example, short, devices in LARGE:
            with self.subTest(example=example, plan=short):
                text = (ROOT / "examples" / example / "spec.textproto").read_text()
                text = re.sub("global_batch_size: .*", "global_batch_size: 128", text)
                self.compare(text, short, 0.03, devices, "--plan", short)

    def test_loss_in_chunks(self):
        """Of whole logits in bf16 three quarters go, whatever is computed again; only
        evaluation still makes them."""
        logits = 2 * 4 * 1024 * 32000
        for recompute in ("NONE", "SELECTIVE"):
            with self.subTest(recompute=recompute):
                plan = f"micro_batch_size: 4 recompute: {recompute}"
                plan += " pipeline_parallel: 2 data_parallel: 4"
                spec = self.written(SPEC.format(more="", plan=plan))
                whole = self.arenas(spec)
                chunked = self.arenas(spec, "--loss-chunks", 4)
                self.assertEqual(whole[0], chunked[0])
                self.assertAlmostEqual(
                    (whole[1] - chunked[1]) / logits, 0.75, delta=0.1
                )

    def test_arenas_of_programs(self):
        texts = [SPEC.format(more="", plan=DENSE[i][1]) for i in (0, 4, 9, 11, 13)]
        texts += [SPEC.format(more=EXPERTS, plan=plan) for _, plan in MIXTURES[1:4]]
        texts.append(SPEC.format(more=self.hybrid("m*3 a", 8, 1), plan=SHARDED[5][1]))
        texts.append(TWO_STACKS.format(*STACKS[1]) + f"plan {{ {DENSE[5][1]} }}")
        texts.append(self.sighted(*SIGHTED[0]) + f"plan {{ {DENSE[4][1]} }}")
        for text in texts:
            with self.subTest(text=text):
                spec = self.written(text)
                self.assertEqual(self.arenas(spec), self.arenas_of_program(spec))

    def test_norms(self):
        around = "norm: RMS_NORM norm_position: BOTH qk_norm: true bias: false"
        behind = "norm: RMS_NORM norm_position: BRANCH qk_norm: true bias: false"
        for norms in (around, behind):
            for short, plan in DENSE[:9]:
                with self.subTest(norms=norms, plan=short):
                    self.check(norms, short, plan)

    def test_branches_side_by_side(self):
        for branches in ("PARALLEL", "PARALLEL_ONE_NORM"):
            for short, plan in DENSE[:9]:
                with self.subTest(branches=branches, plan=short):
                    self.check(f"position: ROTARY branches: {branches}", short, plan)

    def test_latent_attention(self):
        plans = [DENSE[i] for i in (0, 1, 2, 3, 4, 7, 11)] + [SEQUENCES[0], SHARDED[4]]
        for queries in ("q_lora_rank: 384", ""):
            for short, plan in plans:
                with self.subTest(queries=queries, plan=short):
                    self.check(LATENT.format(queries), short, plan)

    def test_state_spaces(self):
        for pattern, groups, norms in HYBRIDS:
            more = self.hybrid(pattern, groups, norms)
            plans = DENSE[3:10] + SHARDED if groups == norms else SHARDED
            for short, plan in plans:
                with self.subTest(pattern=pattern, plan=short):
                    self.check(more, short, plan, HYBRID)

    def test_shared_sequences_of_state_spaces(self):
        for pattern, groups, norms in HYBRIDS[1:3]:  # One group, and more than ranks.
            more = self.hybrid(pattern, groups, norms)
            for short, plan in SEQUENCES:
                with self.subTest(pattern=pattern, plan=short):
                    self.check(more, short, plan, HYBRID)

    def test_published_hybrids(self):
        for name, (model, plans) in PUBLISHED.items():
            for short, devices in plans:
                with self.subTest(model=name, plan=short):
                    text = PUBLISHED_SPEC.format(name=name, model=model)
                    self.compare(text, short, HYBRID, devices, "--plan", short)

    @staticmethod
    def hybrid(pattern, groups, norms):
        kinds = [
            f'layer_kinds {{ name: "{name}" {fields} }}'
            for name, fields in KINDS.items()
            if name in pattern
        ]
        return SCANS.format(groups, norms, "\n".join(kinds), pattern)

    def test_two_stacks(self):
        for stacks in STACKS:
            # But for full recompute in chunks, of which little is left to price.
            for short, plan in DENSE[:12] + SHARDED[:3]:
                if stacks != STACKS[0] and "schedule" in short:
                    continue
                with self.subTest(stacks=stacks, plan=short):
                    layers, more, lengths = stacks[:2], stacks[2], stacks[3:]
                    text = TWO_STACKS.format(*layers, more, *lengths)
                    text += f"plan {{ {plan} }}"
                    self.compare(text, short, STACKED, 8)

    @staticmethod
    def sighted(layers, images, trained, tower):
        tower = TOWER.format(*tower)
        return IMAGES.format(layers=layers, images=images, trained=trained, tower=tower)

    def test_images(self):
        for sights in SIGHTED:
            for short, plan in DENSE[:12] + SHARDED[:3]:
                if sights not in SIGHTED[::3] and "schedule" in short:
                    continue
                with self.subTest(sights=sights, plan=short):
                    text = self.sighted(*sights) + f"plan {{ {plan} }}"
                    # Ranks without the tower are far from full.
                    self.compare(text, short, SEEING, 8, each=0.1)

    def test_capped_logits(self):
        for short, plan in DENSE:
            with self.subTest(plan=short):
                self.check("logit_softcap: 30", short, plan)

    def test_classes(self):
        """A head of few columns, in the place of that of tokens."""
        fields = (
            "attention_mask: BIDIRECTIONAL token_types: 2 norm_position: POST "
            "embedding_norm: true final_norm: false"
        )
        for head in ("classes: 3", "choices: 2"):
            for number in (0, 1, 4, 6, 7, 8, 9, 10):
                short, plan = DENSE[number]
                with self.subTest(head=head, plan=short):
                    self.check(f"{fields} {head}", short, plan)

    def test_flops_are_the_programs(self):
        # What a model computes for a token, by its plan and by its program.
        for pattern, groups, norms in HYBRIDS:
            with self.subTest(pattern=pattern):
                more = self.hybrid(pattern, groups, norms)
                self.compare_flops(SPEC.format(more=more, plan=DENSE[0][1]))
        for layers, decoders, more, *lengths in STACKS:
            with self.subTest(lengths=lengths):
                text = TWO_STACKS.format(layers, decoders, more, *lengths)
                self.compare_flops(text + f"plan {{ {DENSE[0][1]} }}")
        for parts in RETRIEVALS:
            with self.subTest(retrieval=parts):
                text = RETRIEVING.format(*parts)
                self.compare_flops(text + f"plan {{ {DENSE[0][1]} }}")

        for sights in SIGHTED:
            with self.subTest(sights=sights):
                self.compare_flops(self.sighted(*sights) + f"plan {{ {DENSE[0][1]} }}")

    def compare_flops(self, text):
        spec, program = (self.folder / name for name in ("spec", "program"))
        spec.write_text(text)
        done = hocket("compile", spec, "-o", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        compiled = json.loads(hocket("inspect", program, "--json").stdout)
        cluster = ("--cluster", "h100:8", "--json")
        done = hocket("simulate", spec, "--plan", DENSE[0][0], *cluster)
        price = json.loads(done.stdout)
        planned = (
            price["flops_per_device"] / price["tokens_per_second_per_device"]
        )
        # Causal attention has half of the square, or a diagonal more.
        self.assertAlmostEqual(planned / compiled["flops_per_token"], 1, 3)

    def test_experts(self):
        for short, plan in MIXTURES:
            with self.subTest(plan=short):
                self.check(EXPERTS, short, plan, EXCHANGING)

    def test_noise_of_routers(self):
        """What shared experts read is kept, and beside it what the router reads."""
        short, plan = "dp=8,mbs=4", "data_parallel: 8 micro_batch_size: 4"
        for shared in (0, 1):
            quiet = EXPERTS.replace("ffn:", f"shared_experts: {shared} ffn:")
            noisy = quiet.replace("ffn:", "input_jitter: 0.01 ffn:")
            before, after = (
                self.check(more, short, plan, EXCHANGING) for more in (quiet, noisy)
            )
            grown = 8 * shared * 4 * 1024 * 1024 * 2
            self.assertEqual(after[0] - before[0], grown)
            self.assertAlmostEqual(after[1] - before[1], grown, delta=2**20)

    def test_exchanged_rows(self):
        for experts, top_k, ranks in SHARED_OUT:
            short = f"dp={ranks},ep={ranks},mbs=1"
            with self.subTest(experts=experts, top_k=top_k, plan=short):
                plan = f"data_parallel: {ranks} expert_parallel: {ranks}"
                more = CHOSEN.format(experts, top_k)
                self.check(more, short, plan, EXCHANGING, devices=ranks)

    def test_steps_that_are_run_again(self):
        # Of a fixed bound, so that what is run again needs more, or less.
        for bound, ranks in ((1, 2), (1, 8), (1.5, 16), (4, 16)):
            short = f"dp={ranks},ep={ranks},mbs=1"
            with self.subTest(bound=bound, plan=short):
                plan = f"data_parallel: {ranks} expert_parallel: {ranks}"
                again = f"expert_capacity_bound: {bound} beyond_bound: RERUN top_k"
                more = CHOSEN.format(64, 6).replace("top_k", again)
                self.check(more, short, plan, EXCHANGING, devices=ranks)


if __name__ == "__main__":
    unittest.main()
