# Part of Hocket, under the Apache License v2.0.
"""Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) for
oracle.py, equation by equation."""

from types import SimpleNamespace

import positions
import torch


def sizes_of(config):
    latent = config.latent
    return SimpleNamespace(
        q_rank=latent.get("q_lora_rank"),
        rank=latent["kv_lora_rank"],
        nope=latent.get("qk_nope_head_dim", 128),
        rope=latent.get("qk_rope_head_dim", 64),
        value=latent.get("v_head_dim", 128),
    )


def head_dim(latent):
    return latent.get("qk_nope_head_dim", 128) + latent.get("qk_rope_head_dim", 64)


def add_shapes(config, add, name):
    s, hidden, heads = sizes_of(config), config.hidden, config.heads
    if s.q_rank:
        add(name + "q_down", (s.q_rank, hidden))
        if config.qk_norm:
            add(name + "q_norm", (s.q_rank,))
    add(name + "q", (heads * (s.rope + s.nope), s.q_rank or hidden))
    add(name + "kv_down", (s.rank, hidden))
    if config.qk_norm:
        add(name + "kv_norm", (s.rank,))
    add(name + "k_rope", (s.rope, hidden))
    add(name + "k", (heads * s.nope, s.rank))
    add(name + "v", (heads * s.value, s.rank))
    add(name + "o", (hidden, heads * s.value), config.out_bias)


def heads(model, x, weights, name, table):
    """Queries, keys and values, [B, n, S, d]; values may be narrower."""
    s = sizes_of(model.config)

    def latent(which):
        y = model.linear(x, weights, f"{name}{which}_down")
        norm = weights.get(f"{name}{which}_norm.weight")
        return y if norm is None else model.rms(y, model.centered(norm))

    def split(y, width):
        return y.view(*x.shape[:2], -1, width).transpose(1, 2)

    def turned(y):
        return y if table is None else model.rounded(positions.rotate(y, table))

    q = model.linear(latent("q") if s.q_rank else x, weights, name + "q")
    kv = latent("kv")
    shared = turned(split(model.linear(x, weights, name + "k_rope"), s.rope))
    plain = split(model.linear(kv, weights, name + "k"), s.nope)
    k = torch.cat((shared.expand(-1, plain.shape[1], -1, -1), plain), -1)
    v = split(model.linear(kv, weights, name + "v"), s.value)
    return turned(split(q, s.rope + s.nope)), k, v
