#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes the golden files of the checkpoint tests. Needs NumPy, safetensors,
and for the models PyTorch and transformers; run it in this folder, with the
families that are to be made anew, or with none for all.

package.safetensors       what the safetensors package writes
<family>/                 a tiny random model as transformers saves it
<family>.canonical.safetensors   its weights by Hocket's names, renamed and
                          transposed here by hand
"""

import json
import os
import shutil
import sys

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
import transformers


def package():
    rng = np.random.RandomState(0)
    tensors = {
        "z": rng.randint(0, 9, (2,)).astype(np.int32),
        "b.weight": rng.randn(2, 3).astype(np.float32),
        "a\"quoted\\": rng.randn(4).astype(np.float32),
        "long": rng.randint(0, 9, (3,)).astype(np.int64),
        "double": rng.randn(1, 2),
        "half": rng.randn(3).astype(np.float16),
        "bytes": np.arange(5, dtype=np.uint8),
        "empty": np.zeros((0, 4), np.float32),
        "scalar": np.array(2.5, np.float32),
        "caf\u00e9": np.ones(1, np.float32),
    }
    with open("package.safetensors", "wb") as out:
        out.write(safetensors.numpy.save(tensors, metadata={"format": "pt"}))


SIZES = dict(
    vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
    pad_token_id=None,
)
DEEPSEEK = {
    **SIZES, "num_key_value_heads": 2, "kv_lora_rank": 3, "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 4, "v_head_dim": 3, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 2, "n_shared_experts": 2, "first_k_dense_replace": 1,
}
FAMILIES = {
    "gpt2": transformers.GPT2Config(
        vocab_size=5, n_positions=3, n_embd=4, n_layer=2, n_head=2, n_inner=6
    ),
    "llama": transformers.LlamaConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=False,
    ),
    "mistral": transformers.MistralConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        head_dim=2, tie_word_embeddings=False,
    ),
    "qwen2": transformers.Qwen2Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=True,
    ),
    "qwen3": transformers.Qwen3Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        max_position_embeddings=8, tie_word_embeddings=True,
    ),
    "mixtral": transformers.MixtralConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        head_dim=2, num_local_experts=3, tie_word_embeddings=False,
    ),
    "qwen2_moe": transformers.Qwen2MoeConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6,
        moe_intermediate_size=3, shared_expert_intermediate_size=6,
        num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=8, num_experts=3, num_experts_per_tok=2,
        mlp_only_layers=[0], tie_word_embeddings=False,
    ),
    "qwen3_moe": transformers.Qwen3MoeConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6,
        moe_intermediate_size=3, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=4, max_position_embeddings=8,
        num_experts=3, num_experts_per_tok=2, mlp_only_layers=[0],
        tie_word_embeddings=True,
    ),
    "smollm3": transformers.SmolLM3Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=True, pad_token_id=None,
    ),
    "gemma2": transformers.Gemma2Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        max_position_embeddings=8, tie_word_embeddings=True,
    ),
    "gemma3_text": transformers.Gemma3TextConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        max_position_embeddings=8, tie_word_embeddings=True,
    ),
    "olmo2": transformers.Olmo2Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=False,
    ),
    "granite": transformers.GraniteConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=False,
    ),
    "nemotron": transformers.NemotronConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        max_position_embeddings=8, tie_word_embeddings=False,
    ),
    "stablelm": transformers.StableLmConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        use_qkv_bias=True, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                         "partial_rotary_factor": 1.0},
    ),
    "starcoder2": transformers.Starcoder2Config(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        tie_word_embeddings=True,
    ),
    "gpt_neox": transformers.GPTNeoXConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=8,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                         "partial_rotary_factor": 1.0},
    ),
    "phi": transformers.PhiConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                         "partial_rotary_factor": 1.0},
    ),
    "gemma": transformers.GemmaConfig(**SIZES, head_dim=4, tie_word_embeddings=True),
    "olmo3": transformers.Olmo3Config(**SIZES, tie_word_embeddings=False),
    "olmoe": transformers.OlmoeConfig(
        **SIZES, num_experts=3, num_experts_per_tok=2, tie_word_embeddings=False,
    ),
    "exaone4": transformers.Exaone4Config(**SIZES, head_dim=4, tie_word_embeddings=False),
    "phi3": transformers.Phi3Config(**SIZES, tie_word_embeddings=False),
    "seed_oss": transformers.SeedOssConfig(
        **SIZES, head_dim=4, attention_out_bias=True, mlp_bias=True, tie_word_embeddings=False,
    ),
    "arcee": transformers.ArceeConfig(
        **SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=False,
    ),
    "ernie4_5": transformers.Ernie4_5Config(**SIZES, head_dim=4, use_bias=True),
    "helium": transformers.HeliumConfig(
        **{**SIZES, "num_attention_heads": 1}, head_dim=4, attention_bias=True, mlp_bias=True,
        tie_word_embeddings=False,
    ),
    "glm": transformers.GlmConfig(**SIZES, head_dim=8, tie_word_embeddings=False),
    "glm4": transformers.Glm4Config(**SIZES, head_dim=8, tie_word_embeddings=False),
    "cohere": transformers.CohereConfig(
        **{**SIZES, "num_attention_heads": 1}, attention_bias=True, tie_word_embeddings=True,
    ),
    "cohere2": transformers.Cohere2Config(
        **{**SIZES, "num_attention_heads": 1}, tie_word_embeddings=True,
    ),
    "deepseek_v2": transformers.DeepseekV2Config(**DEEPSEEK, q_lora_rank=None),
    "deepseek_v3": transformers.DeepseekV3Config(
        **DEEPSEEK, q_lora_rank=3, n_group=2, topk_group=1
    ),
    "gptj": transformers.GPTJConfig(
        vocab_size=5, n_positions=3, n_embd=4, n_layer=2, n_head=1, n_inner=6, rotary_dim=4,
    ),
    "granitemoe": transformers.GraniteMoeConfig(
        **SIZES, num_local_experts=3, num_experts_per_tok=2, tie_word_embeddings=False,
    ),
    "opt": transformers.OPTConfig(
        vocab_size=5, hidden_size=4, num_hidden_layers=2, ffn_dim=6, num_attention_heads=2,
        max_position_embeddings=3, pad_token_id=None,
    ),
    "falcon": transformers.FalconConfig(
        vocab_size=5, hidden_size=4, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
        ffn_hidden_size=6, new_decoder_architecture=True, bias=True,
    ),
    "falcon_one_norm": transformers.FalconConfig(
        vocab_size=5, hidden_size=4, num_hidden_layers=2, num_attention_heads=2,
        ffn_hidden_size=6, tie_word_embeddings=False,
    ),
    "mamba2": transformers.Mamba2Config(
        vocab_size=5, hidden_size=4, num_hidden_layers=2, num_heads=4, head_dim=2,
        state_size=3, n_groups=2, conv_kernel=2, use_bias=True,
        tie_word_embeddings=False,
    ),
    "bamba": transformers.BambaConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        attn_layer_indices=[1], mamba_n_heads=4, mamba_d_state=3, mamba_d_conv=2,
        tie_word_embeddings=True,
    ),
    "nemotron_h": transformers.NemotronHConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6,
        layers_block_type=["linear_attention", "full_attention", "mlp"],
        num_attention_heads=2, num_key_value_heads=1, head_dim=2,
        max_position_embeddings=8, mamba_num_heads=4, mamba_head_dim=2,
        ssm_state_size=3, n_groups=1, conv_kernel=2, tie_word_embeddings=False,
    ),
    "bloom": transformers.BloomConfig(
        vocab_size=5, hidden_size=4, n_layer=2, n_head=2, tie_word_embeddings=True,
    ),
    "bert": transformers.BertConfig(
        vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=3, type_vocab_size=2,
        pad_token_id=None,
    ),
    "t5": transformers.T5Config(
        vocab_size=5, d_model=4, d_kv=3, d_ff=6, num_layers=2, num_decoder_layers=1,
        num_heads=2, relative_attention_num_buckets=4, relative_attention_max_distance=6,
    ),
    "t5_gated": transformers.T5Config(
        vocab_size=5, d_model=4, d_kv=3, d_ff=6, num_layers=2, num_decoder_layers=1,
        num_heads=2, relative_attention_num_buckets=4, relative_attention_max_distance=6,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    ),
    "llava": transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            hidden_size=6, intermediate_size=8, num_hidden_layers=3, num_attention_heads=2,
            image_size=6, patch_size=3, projection_dim=4,
        ),
        text_config=transformers.LlamaConfig(
            vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8,
        ),
        image_token_index=4,
    ),
}


# The size of a head, and of what rotates, in pairs.
PAIRED = {"ernie4_5": (4, 4), "helium": (4, 4), "glm": (8, 4), "glm4": (8, 4),
          "cohere": (4, 4), "cohere2": (4, 4), "gptj": (4, 4)}


def canonical_gpt2(w, config):
    out = {
        "embedding.weight": w["transformer.wte.weight"],
        "position_embedding.weight": w["transformer.wpe.weight"],
        "final_norm.weight": w["transformer.ln_f.weight"],
        "final_norm.bias": w["transformer.ln_f.bias"],
    }
    h = config.n_embd
    for i in range(config.n_layer):
        old, new = f"transformer.h.{i}.", f"layers.{i}."
        for kind in ("weight", "bias"):
            joined = w[old + f"attn.c_attn.{kind}"]
            for k, part in enumerate("qkv"):
                piece = joined[..., k * h : (k + 1) * h]
                out[new + f"attention.{part}.{kind}"] = piece.T if piece.ndim > 1 else piece
            for a, b in (("attn.c_proj", "attention.o"), ("mlp.c_fc", "mlp.up"),
                         ("mlp.c_proj", "mlp.down")):
                t = w[old + f"{a}.{kind}"]
                out[new + f"{b}.{kind}"] = t.T if t.ndim > 1 else t
            out[new + f"attention_norm.{kind}"] = w[old + f"ln_1.{kind}"]
            out[new + f"mlp_norm.{kind}"] = w[old + f"ln_2.{kind}"]
    return out


def canonical_llama(w, config):
    norms = [
        ("post_attention_layernorm", "mlp_norm"),
        ("post_self_attn_layernorm", "attention_post_norm"),
        ("post_mlp_layernorm", "mlp_post_norm"),
    ]
    if config.model_type in ("gemma2", "gemma3_text", "olmo2", "olmo3", "exaone4"):
        norms = [
            ("post_attention_layernorm", "attention_post_norm"),
            ("pre_feedforward_layernorm", "mlp_norm"),
            ("post_feedforward_layernorm", "mlp_post_norm"),
        ]
    names = [
        ("model.embed_tokens", "embedding"), ("model.norm", "final_norm"),
        ("model.layers.", "layers."), ("lm_head", "head"),
        ("input_layernorm", "attention_norm"), *norms,
        ("self_attn.q_norm", "attention.q_norm"),
        ("self_attn.k_norm", "attention.k_norm"),
        ("c_fc", "up"), ("c_proj", "down"),
        ("self_attn.", "attention."), ("_proj.", "."),
        ("block_sparse_moe.", "mlp."), (".w1.", ".gate."), (".w3.", ".up."),
        (".w2.", ".down."), ("mlp.gate.weight", "mlp.router.weight"),
        ("shared_expert.", "shared."), ("shared_expert_gate", "shared_gate"),
    ]
    out, experts = {}, {}
    for theirs, tensor in w.items():
        name = theirs
        for a, b in names:
            name = name.replace(a, b)
        # A dense layer's mlp.gate_proj is no router.
        if "mlp.gate_proj" in theirs and ".experts." not in theirs:
            name = name.replace("mlp.router", "mlp.gate")
        if ".experts." in name:  # stacked, in the order of their numbers
            before, after = name.split(".experts.")
            number, rest = after.split(".", 1)
            stack = experts.setdefault(f"{before}.experts.{rest}", {})
            stack[int(number)] = tensor
        elif "router.layer" in theirs:
            out[name.replace("router.layer", "router")] = tensor
        elif "input_linear" in theirs:  # of each expert, its gate first
            for part, piece in zip(("gate", "up"), tensor.chunk(2, dim=1)):
                out[name.replace("input_linear", f"experts.{part}")] = piece
        elif "output_linear" in theirs:
            out[name.replace("output_linear", "experts.down")] = tensor
        elif "qkv_proj" in theirs:  # all queries, then keys, then values
            rows = config.hidden_size // config.num_attention_heads
            each = [config.num_attention_heads * rows] + [config.num_key_value_heads * rows] * 2
            for part, piece in zip("qkv", tensor.split(each)):
                out[name.replace(".qkv.", f".{part}.")] = piece
        elif "gate_up_proj" in theirs:
            for part, piece in zip(("gate", "up"), tensor.chunk(2)):
                out[name.replace(".gate_up.", f".{part}.")] = piece
        else:
            out[name] = tensor
    for name, stack in experts.items():
        out[name] = torch.stack([stack[e] for e in sorted(stack)])
    return out


def canonical_bert(w, config):
    names = [
        ("bert.embeddings.word_embeddings", "embedding"),
        ("bert.embeddings.position_embeddings", "position_embedding"),
        ("bert.embeddings.token_type_embeddings", "token_type_embedding"),
        ("bert.embeddings.LayerNorm", "embedding_norm"),
        ("bert.pooler.dense", "pooler"), ("bert.encoder.layer.", "layers."),
        ("attention.output.LayerNorm", "attention_norm"),
        ("attention.output.dense", "attention.o"),
        ("attention.self.query", "attention.q"), ("attention.self.key", "attention.k"),
        ("attention.self.value", "attention.v"), ("intermediate.dense", "mlp.up"),
        ("output.LayerNorm", "mlp_norm"), ("output.dense", "mlp.down"),
        ("cls.predictions.transform.dense", "head_transform"),
        ("cls.predictions.transform.LayerNorm", "head_norm"),
        ("cls.predictions", "head"), ("cls.seq_relationship", "sentence_head"),
    ]
    out = {}
    for name, tensor in w.items():
        for a, b in names:
            name = name.replace(a, b)
        out[name] = tensor
    return out


def in_halves(out, head, rotated):
    """What is rotated in pairs, (0, 1), (2, 3) and so on of each head, in halves."""
    for name, tensor in out.items():
        if ".attention.q." in name or ".attention.k." in name:
            heads = tensor.unflatten(0, (-1, head))
            turned, rest = heads[:, :rotated], heads[:, rotated:]
            out[name] = torch.cat([turned[:, ::2], turned[:, 1::2], rest], 1).flatten(0, 1)
    return out


def canonical_deepseek(w, config):
    """What rotates stands first in a head, and in halves."""
    nope, rope, value = config.qk_nope_head_dim, config.qk_rope_head_dim, config.v_head_dim
    halves = [*range(0, rope, 2), *range(1, rope, 2)]
    out, rest = {}, {}
    for name, tensor in w.items():
        before, _, linear = name.partition(".self_attn.")
        at = before.replace("model.", "") + ".attention."
        if linear in ("q_proj.weight", "q_b_proj.weight"):
            heads = tensor.unflatten(0, (-1, nope + rope))
            order = [nope + r for r in halves] + list(range(nope))
            out[at + "q.weight"] = heads[:, order].flatten(0, 1)
        elif linear == "q_a_proj.weight":
            out[at + "q_down.weight"] = tensor
        elif linear in ("q_a_layernorm.weight", "kv_a_layernorm.weight"):
            out[at + linear.replace("_a_layernorm", "_norm")] = tensor
        elif linear == "kv_a_proj_with_mqa.weight":
            out[at + "kv_down.weight"] = tensor[:-rope]
            out[at + "k_rope.weight"] = tensor[-rope:][halves]
        elif linear == "kv_b_proj.weight":
            heads = tensor.unflatten(0, (-1, nope + value))
            out[at + "k.weight"] = heads[:, :nope].flatten(0, 1)
            out[at + "v.weight"] = heads[:, nope:].flatten(0, 1)
        elif name.endswith("e_score_correction_bias"):
            layer = name.split(".")[2]
            out[f"state.layers.{layer}.mlp.router.bias"] = tensor
        else:
            rest[name.replace("shared_experts.", "shared_expert.")] = tensor
    return out | canonical_llama(rest, config)


def canonical_opt(w, config):
    names = [
        ("model.decoder.embed_tokens", "embedding"),
        ("model.decoder.embed_positions", "position_embedding"),
        ("model.decoder.final_layer_norm", "final_norm"), ("model.decoder.", ""),
        ("self_attn_layer_norm", "attention_norm"), ("final_layer_norm", "mlp_norm"),
        ("self_attn.", "attention."), ("out_proj", "o"), ("_proj.", "."), ("fc1", "mlp.up"),
        ("fc2", "mlp.down"),
    ]
    out = {}
    for theirs, tensor in w.items():
        name = theirs
        for a, b in names:
            name = name.replace(a, b)
        out[name] = tensor[2:] if "embed_positions" in theirs else tensor
    return out


def canonical_gptj(w, config):
    names = [
        ("transformer.wte", "embedding"), ("transformer.ln_f", "final_norm"),
        ("transformer.h.", "layers."), ("lm_head", "head"), ("ln_1", "attention_norm"),
        ("attn.", "attention."), ("out_proj", "o"), ("_proj.", "."), ("fc_in", "up"),
        ("fc_out", "down"),
    ]
    out = {}
    for name, tensor in w.items():
        for a, b in names:
            name = name.replace(a, b)
        out[name] = tensor
    return out


def canonical_gpt_neox(w, config):
    """BLOOM's and Falcon's, too."""
    names = [
        ("gpt_neox.embed_in", "embedding"), ("gpt_neox.final_layer_norm", "final_norm"),
        ("gpt_neox.layers.", "layers."), ("embed_out", "head"),
        ("transformer.word_embeddings_layernorm", "embedding_norm"),
        ("transformer.word_embeddings", "embedding"), ("transformer.ln_f", "final_norm"),
        ("transformer.h.", "layers."), ("self_attention.", "attention."),
        ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "mlp_norm"),
        ("attention.dense", "attention.o"), ("dense_h_to_4h", "up"),
        ("dense_4h_to_h", "down"), ("ln_attn", "attention_norm"), ("ln_mlp", "mlp_norm"),
        ("lm_head", "head"),
    ]
    out, heads = {}, config.num_attention_heads
    size = config.hidden_size // heads
    keys = heads
    if config.model_type == "falcon":
        keys = config.num_kv_heads if config.new_decoder_architecture else 1
    for name, tensor in w.items():
        for a, b in names:
            name = name.replace(a, b)
        if "query_key_value" not in name:
            out[name] = tensor
            continue
        # [key heads, queries of each and two, head dim, ...], as its attention views it
        each = tensor.view(keys, heads // keys + 2, size, *tensor.shape[1:])
        for part, piece in zip("qkv", (each[:, :-2], each[:, -2], each[:, -1])):
            last = 2 if part == "q" else 1
            out[name.replace("query_key_value", part)] = piece.flatten(0, last)
    return out


def canonical_phi(w, config):
    names = [
        ("model.embed_tokens", "embedding"), ("model.final_layernorm", "final_norm"),
        ("model.layers.", "layers."), ("lm_head", "head"),
        ("input_layernorm", "attention_norm"), ("self_attn.dense", "attention.o"),
        ("self_attn.", "attention."), ("_proj.", "."), ("fc1", "up"), ("fc2", "down"),
    ]
    out = {}
    for name, tensor in w.items():
        for a, b in names:
            name = name.replace(a, b)
        out[name] = tensor
    return out


def canonical_states(w, config):
    """Mamba-2's, alone and, in Bamba, beside layers that attend."""
    names = [
        ("backbone.", ""), ("model.", ""), ("embeddings", "embedding"),
        ("embed_tokens", "embedding"), ("norm_f", "final_norm"),
        ("final_layernorm", "final_norm"), ("lm_head", "head"),
        ("pre_ff_layernorm", "mlp_norm"), ("feed_forward.", "mlp."),
        ("self_attn.", "attention."), ("mamba.", "mixer."), ("_proj.", "."),
        ("mixer.norm", "mixer.gated_norm"), ("A_log", "decay"),
        ("dt_bias", "step_bias"), ("mixer.D", "mixer.skip"),
    ]
    family = config.model_type
    heads, maps = {
        "mamba2": lambda c: (c.num_heads, c.n_groups * c.state_size),
        "bamba": lambda c: (c.mamba_n_heads, c.mamba_n_groups * c.mamba_d_state),
        "nemotron_h": lambda c: (c.mamba_num_heads, c.n_groups * c.ssm_state_size),
    }[family](config)
    inner = 2 * config.hidden_size
    out = {}
    for theirs, tensor in w.items():
        name = theirs
        for a, b in names:
            name = name.replace(a, b)
        if "input_layernorm" in name:
            layer = name.split(".")[1]
            attends = int(layer) in config.attn_layer_indices
            name = name.replace("input_layernorm", "attention_norm" if attends else "mixer_norm")
        elif name.split(".")[0] == "layers" and family != "bamba":
            # Whatever a layer of Nemotron-H is, it is called a mixer.
            kind = config.layer_types[int(name.split(".")[1])]
            branch = {"full_attention": "attention", "mlp": "mlp"}.get(kind, "mixer")
            name = name.replace(".norm.", f".{branch}_norm.") if name.split(".")[2] == "norm" else (
                name.replace("mixer.", branch + "."))
        before, _, end = name.rpartition(".")
        if ".mixer.in." in name:  # a gate, what is mixed, two maps, and steps
            parts = tensor.split([inner, inner, maps, maps, heads])
            for part, rows in zip(("z", "x", "b", "c", "dt"), parts):
                out[f"{before[:-2]}{part}.{end}"] = rows
        elif "conv1d" in name:
            parts = tensor.split([inner, maps, maps])
            for part, rows in zip("xbc", parts):
                out[f"{before[:-6]}conv_{part}.{end}"] = rows.flatten(1) if rows.ndim > 1 else rows
        else:
            out[name] = tensor
    return out


def canonical_t5(w, config):
    names = [
        ("shared", "embedding"), ("lm_head", "head"), ("decoder.", ""), ("block.", "layers."),
        ("layers.0.layer.0.SelfAttention.relative_attention_bias", "relative_position"),
        ("layer.0.layer_norm", "attention_norm"), ("layer.0.SelfAttention", "attention"),
        ("layer.1.EncDecAttention", "cross_attention"), ("layer.2.DenseReluDense", "mlp"),
        ("layer.1.DenseReluDense", "mlp"), ("layer.2.layer_norm", "mlp_norm"),
        ("final_layer_norm", "final_norm"), ("wi_0", "gate"), ("wi_1", "up"), ("wi", "up"),
        ("wo", "down"),
    ]
    out = {}
    for theirs, tensor in w.items():
        name = theirs
        for a, b in names:
            name = name.replace(a, b)
        # The second branch of an encoder's layers is the MLP.
        between = "mlp_norm" if theirs.startswith("encoder.") else "cross_attention_norm"
        out[name.replace("layer.1.layer_norm", between)] = tensor
    return out


def canonical_llava(w, config):
    """The names of each part in turn; patches are rows of a matrix."""
    language = {
        name.removeprefix("language_model."): tensor
        for name, tensor in w.items()
        if name.startswith("language_model.")
    }
    out = canonical_llama(language, config.text_config)
    names = [
        ("vision_tower.", "vision."), ("embeddings.patch_embedding", "patch_embedding"),
        ("embeddings.position_embedding", "position_embedding"), ("encoder.", ""),
        ("embeddings.class_embedding", "class_embedding.weight"),
        ("pre_layrnorm", "pre_norm"), ("post_layernorm", "post_norm"),
        ("layer_norm1", "attention_norm"), ("layer_norm2", "mlp_norm"),
        ("self_attn.out_proj", "attention.o"), ("self_attn.q_proj", "attention.q"),
        ("self_attn.k_proj", "attention.k"), ("self_attn.v_proj", "attention.v"),
        ("fc1", "up"), ("fc2", "down"),
        ("multi_modal_projector.linear_1", "projector.up"),
        ("multi_modal_projector.linear_2", "projector.down"),
    ]
    for theirs, tensor in w.items():
        if theirs.startswith("language_model."):
            continue
        name = theirs
        for a, b in names:
            name = name.replace(a, b)
        out[name] = tensor.flatten(1) if tensor.ndim > 2 else tensor
    return out


def models(chosen):
    for family, config in FAMILIES.items():
        if chosen and family not in chosen:
            continue
        torch.manual_seed(1)
        if family == "bert":
            model = transformers.BertForPreTraining(config)
        elif config.model_type == "t5":
            model = transformers.T5ForConditionalGeneration(config)
            if family == "t5_gated":
                head = torch.empty_like(model.lm_head.weight)
                model.lm_head.weight = torch.nn.Parameter(head)
        elif family == "llava":
            model = transformers.LlavaForConditionalGeneration(config)
        else:
            model = transformers.AutoModelForCausalLM.from_config(config)
        for p in model.parameters():  # norms and biases are not constant then
            torch.nn.init.normal_(p)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                torch.nn.init.normal_(buffer)
        if family == "opt":  # The rows of no position.
            model.model.decoder.embed_positions.weight.data[:2] = 0
        shutil.rmtree(family, ignore_errors=True)
        model.save_pretrained(family)
        for extra in os.listdir(family):
            if extra not in ("model.safetensors",):
                os.remove(os.path.join(family, extra))
        w = safetensors.torch.load_file(f"{family}/model.safetensors")
        make = {
            "gpt2": canonical_gpt2, "bert": canonical_bert,
            "gpt_neox": canonical_gpt_neox, "bloom": canonical_gpt_neox,
            "falcon": canonical_gpt_neox, "falcon_one_norm": canonical_gpt_neox,
            "phi": canonical_phi, "gptj": canonical_gptj, "opt": canonical_opt, "t5": canonical_t5, "t5_gated": canonical_t5,
            "deepseek_v2": canonical_deepseek, "deepseek_v3": canonical_deepseek,
            "mamba2": canonical_states, "bamba": canonical_states,
            "nemotron_h": canonical_states, "llava": canonical_llava,
        }.get(family, canonical_llama)
        out = make(w, config)
        if family in PAIRED:
            in_halves(out, *PAIRED[family])
        out = {k: t.contiguous() for k, t in out.items()}
        safetensors.torch.save_file(out, f"{family}.canonical.safetensors",
                                    metadata={"format": "pt"})


if not sys.argv[1:]:
    package()
models(sys.argv[1:])
