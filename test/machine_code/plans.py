# Part of Hocket, under the Apache License v2.0.
"""The programs whose kernels are looked at: every example, and a table of plans
that together have every kind of layer, precision, schedule and sharding."""

import concurrent.futures
import os

from programs import ROOT, hocket

# More of them launch the same kernels more often, and take longer to write; fewer
# are not all kinds of layers that an example has.
FEW_LAYERS = ("--set", "model.layers=6")
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/spec.textproto"))

# Heads of 64, and rows of whole 16-byte vectors: what tensor cores take.
SIZES = "layers: 4 hidden: 128 heads: 2 vocab_size: 96 max_positions: 256"
GPT = SIZES + " ffn: 256 activation: GELU_TANH"
LLAMA = SIZES + (" ffn: 192 norm: RMS_NORM activation: SWIGLU position: ROTARY"
                 " bias: false tied_embeddings: false")  # fmt: skip
MODELS = {
    "gpt": GPT,
    "dropout": GPT + " dropout { attention: 0.1 residual: 0.1 embedding: 0.1 }",
    "llama": LLAMA + " kv_heads: 2",
    "sliding": LLAMA + " kv_heads: 1 sliding_window: 100",
    "capped": LLAMA + (" kv_heads: 2 sliding_window: 100 attention_softcap: 50"
                       " logit_softcap: 30"),
    "sloped": GPT + " position: ALIBI",
    "relative": GPT + " position: RELATIVE attention_scale: 1",
    "experts": LLAMA + " moe { experts: 4 top_k: 2 ffn: 64 aux_loss: 0.01 }",
    "dropping": LLAMA + (" moe { experts: 8 top_k: 2 ffn: 64 capacity_factor: 0.75"
                         " scores: SIGMOID groups: 4 topk_groups: 2 bias_rate: 0.01"
                         " shared_experts: 1 }"),
    "states": LLAMA + (" state_space { state_size: 64 } layer_kinds { name: 'mamba'"
                       " mixer: MAMBA2 } layer_kinds { name: 'attention' }"
                       " pattern: 'mamba attention'"),
    "seen": LLAMA + (" kv_heads: 2 image_token: 3 vision { layers: 2 hidden: 128 heads: 2"
                     " image_size: 28 patch_size: 4 }"),
    "noisy": LLAMA + (" moe { experts: 8 top_k: 2 ffn: 64 choice: SINKHORN"
                      " input_jitter: 0.01 }"),
}  # fmt: skip
TRAINING = ("training { sequence_length: 256 global_batch_size: 24 precision: BF16"
            " micro_batch_size: 1 }")  # fmt: skip

PLANS = (
    ("gpt", "--mesh dp=2 --microbatches 3"),
    ("gpt", "--attention-gradient joint --set training.micro_batch_size=64"
            " --set training.global_batch_size=64"),
    ("gpt", "--mesh dp=4 --zero 2"),
    ("gpt", "--mesh dp=2 --zero 3 --set training.precision=FP32"),
    ("gpt", "--mesh dp=2 --set training.fp8_format=HYBRID"),
    ("gpt", "--mesh dp=2 --set training.fp8_format=HYBRID"
            " --set training.fp8_recipe=MXFP8"),
    ("llama", "--set training.fp8_format=HYBRID --set training.fp8_recipe=BLOCKWISE"),
    ("gpt", "--mesh tp=2 --sequence-parallel --set training.precision=FP16"),
    ("gpt", "--mesh pp=4 --schedule gpipe --microbatches 4"),
    ("gpt", "--mesh pp=2,dp=2 --schedule zb-h1 --microbatches 4 --zero 1"),
    ("dropout", "--mesh pp=2,dp=2,tp=2 --sequence-parallel --microbatches 3 --zero 1"),
    ("dropout", "--mesh cp=2 --recompute selective"),
    ("llama", "--mesh dp=2,tp=2 --microbatches 2 --zero 3"),
    ("llama", "--mesh tp=2 --loss-chunks 3"),
    ("llama", "--mesh pp=2 --virtual-stages 2 --schedule zb-v --microbatches 4"),
    ("llama", "--mesh pp=2 --virtual-stages 2 --schedule dualpipe-v --microbatches 4"),
    ("llama", "--mesh pp=2,tp=2 --virtual-stages 2 --microbatches 4 --recompute full"),
    ("llama", "--mesh cp=2 --cp-strategy alltoall"),
    ("llama", "--mesh pp=2,cp=2,tp=2 --microbatches 4"),
    ("sliding", "--mesh dp=2,cp=2 --zero 1"),
    ("sliding", "--mesh cp=4 --cp-strategy ring"),
    ("capped", "--entries train,generate"),
    ("capped", "--entries train,generate --set model.head_dim=128"),
    ("capped", "--entries train,generate --set training.precision=FP32"),
    ("sloped", "--entries train,generate"),
    ("sloped", "--entries train,generate --set model.head_dim=128"),
    ("sloped", "--entries train,generate --set training.precision=FP32"),
    ("noisy", "--mesh dp=2"),
    ("relative", ""),
    ("seen", "--set training.images_per_sequence=2"),
    ("seen", "--set training.images_per_sequence=2 --set training.precision=FP32"),
    ("states", "--entries train,generate"),
    ("states", "--entries train,generate --set training.precision=FP32"),
    ("experts", "--mesh dp=2,ep=2 --microbatches 2"),
    ("experts", "--mesh dp=2,cp=2,ep=4 --cp-strategy ring --zero 1"),
    ("experts", "--mesh cp=4,ep=2 --cp-strategy ring"),
    ("gpt", "--entries generate --set training.precision=FP32"),
    ("sliding", "--entries generate --set model.heads=1"),
    ("llama", "--entries train,generate --mesh tp=2"),
    ("dropping", "--mesh dp=4,ep=4,tp=2 --sequence-parallel --zero 1"),
    ("dropping", "--mesh pp=2,dp=2,ep=2,tp=2 --sequence-parallel --microbatches 2"),
)  # fmt: skip


def write_sources(spec, folder, options):
    """The kernels of a program as CUDA C++, in `folder`."""
    done = hocket("compile", spec, "--emit=cuda", "-o", folder, *options)
    if done.returncode:
        raise AssertionError(f"{spec} {' '.join(options)}: {done.stderr}")
    return folder


def write_all_sources(folder):
    """{program: the folder of its sources}, inside `folder`."""
    jobs = {path.name: (path / "spec.textproto", FEW_LAYERS) for path in EXAMPLES}
    for name, model in MODELS.items():
        text = f'name: "{name}"\nmodel {{ {model} }}\n{TRAINING}\n'
        (folder / name).write_text(text)
    for name, plan in PLANS:
        jobs[f"{name} {plan}"] = (folder / name, plan.split())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        written = {
            program: pool.submit(write_sources, spec, folder / f"sources{i}", options)
            for i, (program, (spec, options)) in enumerate(jobs.items())
        }
    return {program: source.result() for program, source in written.items()}
