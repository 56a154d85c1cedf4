# Part of Hocket, under the Apache License v2.0.
"""An encoder before the decoder (T5, arXiv 1910.10683), for the oracle: plain
attention over whole matrices of scores, in both stacks and from one to the other."""

import math

import torch
import torch.nn.functional as F


def add_shapes(config, add, layer_shapes):
    """`layer_shapes(prefix)` adds those of a layer."""
    c = config
    buckets = c.relative_position.get("buckets", 32)
    if c.position == "RELATIVE":
        add("encoder.relative_position", (buckets, c.heads))
    for i in range(c.encoder_layers):
        layer_shapes(f"encoder.layers.{i}.")
    add("encoder.final_norm", (c.hidden,), c.norm_bias)


def bias_of(model, weights, prefix, queries, both):
    """[heads, queries, queries] of a stack's self-attention, or 0."""
    if model.config.position != "RELATIVE":
        return 0
    behind = torch.arange(queries)[None, :] - torch.arange(queries)[:, None]
    table = weights[prefix + "relative_position.weight"]
    return table[model.buckets_of(behind, both)].permute(2, 0, 1)


def attend(model, weights, name, queries, keys, bias=0, causal=False):
    """Attention of the tokens `queries` to the tokens `keys`."""
    c = model.config

    def heads(x, which):
        y = model.linear(x, weights, name + which)
        return y.unflatten(-1, (-1, c.head_dim)).transpose(1, 2)

    q, k, v = heads(queries, "q"), heads(keys, "k"), heads(keys, "v")
    k, v = (t.repeat_interleave(c.heads // c.kv_heads, 1) for t in (k, v))
    scores = (q @ k.transpose(-1, -2)) * c.scale + bias
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    y = model.rounded((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    return model.linear(y, weights, name + "o")


def run(model, weights, prefix, tokens, encoded=None):
    """The last states of the encoder, or of the decoder that sees `encoded`."""
    x = model.scaled(weights["embedding.weight"][tokens], model.config.embedding_scale)
    x = model.rounded(x)
    causal = encoded is not None
    bias = bias_of(model, weights, prefix, tokens.shape[1], not causal)
    layers = model.config.layers if causal else model.config.encoder_layers
    for i in range(layers):
        layer = f"{prefix}layers.{i}."

        def add(name, branch):
            normed = model.norm(x, weights, layer + name + "_norm")
            return model.rounded(x + branch(layer + name + ".", normed))

        x = add("attention", lambda name, y: attend(model, weights, name, y, y, bias, causal))
        if causal:
            x = add("cross_attention", lambda name, y: attend(model, weights, name, y, encoded))
        x = add("mlp", lambda name, y: model.dense(y, weights, name))
    return model.norm(x, weights, prefix + "final_norm")


def loss(model, weights, batch):
    """Of the labels that are not -1, over `batch.count`."""
    encoded = run(model, weights, "encoder.", batch.encoder)
    logits = model.logits(run(model, weights, "", batch.tokens, encoded), weights)
    total = F.cross_entropy(logits, batch.labels.flatten(), ignore_index=-1, reduction="sum")
    return total / batch.count
