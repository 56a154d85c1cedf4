# Part of Hocket, under the Apache License v2.0.
"""The transformer that a spec describes, in plain PyTorch.

An oracle: written from the spec's schema and the papers, on a dict of tensors
with canonical names, in whatever precision the tensors have. It shares no code
with the compiler. Nothing here is fast on purpose except `attention`, which
may use PyTorch's own kernel when asked to.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import torch
import torch.nn.functional as F


@dataclass
class Config:
    """A model's fields with every default derived."""

    spec: dict

    def __post_init__(self):
        model = self.spec["model"]
        training = self.spec.get("training", {})
        get = model.get
        self.layers, self.hidden = model["layers"], model["hidden"]
        self.heads, self.vocab = model["heads"], model["vocab_size"]
        padding = get("vocab_padding", 1)
        self.rows = -(-self.vocab // padding) * padding
        self.kv_heads = get("kv_heads", self.heads)
        self.head_dim = get("head_dim", self.hidden // self.heads)
        self.ffn = get("ffn", 4 * self.hidden)
        self.sequence = training.get("sequence_length") or get("max_positions")
        self.positions = get("max_positions", self.sequence)
        self.norm = get("norm", "LAYER_NORM")
        self.eps = get("norm_eps", 1e-5)
        self.post_norm = get("norm_position", "PRE") == "POST"
        self.activation = get("activation", "GELU")
        self.position = get("position", "LEARNED")
        self.rope = get("rope", {})
        self.qk_norm = get("qk_norm", False)
        self.window = get("sliding_window")
        self.scale = get("attention_scale", self.head_dim**-0.5)
        self.tied = get("tied_embeddings", True)
        self.initializer = get("initializer", {})
        bias = get("bias", True)
        self.qkv_bias = get("attention_qkv_bias", bias)
        self.out_bias = get("attention_out_bias", bias)
        self.mlp_bias = get("mlp_bias", bias)
        rms = self.norm == "RMS_NORM"
        self.norm_bias = get("norm_bias", bias and not rms)

    @property
    def gated(self):
        return self.activation in ("SWIGLU", "GEGLU")


def parameter_shapes(config):
    """Canonical name -> shape, in the order of the forward pass."""
    c, shapes = config, {}

    def add(name, shape, bias=False):
        shapes[name + ".weight"] = shape
        if bias:
            shapes[name + ".bias"] = shape[:1]

    add("embedding", (c.rows, c.hidden))
    if c.position == "LEARNED":
        add("position_embedding", (c.positions, c.hidden))
    for i in range(c.layers):
        layer = f"layers.{i}."
        query, key = c.heads * c.head_dim, c.kv_heads * c.head_dim
        add(layer + "attention_norm", (c.hidden,), c.norm_bias)
        add(layer + "attention.q", (query, c.hidden), c.qkv_bias)
        add(layer + "attention.k", (key, c.hidden), c.qkv_bias)
        add(layer + "attention.v", (key, c.hidden), c.qkv_bias)
        if c.qk_norm:
            add(layer + "attention.q_norm", (c.head_dim,))
            add(layer + "attention.k_norm", (c.head_dim,))
        add(layer + "attention.o", (c.hidden, query), c.out_bias)
        add(layer + "mlp_norm", (c.hidden,), c.norm_bias)
        if c.gated:
            add(layer + "mlp.gate", (c.ffn, c.hidden), c.mlp_bias)
        add(layer + "mlp.up", (c.ffn, c.hidden), c.mlp_bias)
        add(layer + "mlp.down", (c.hidden, c.ffn), c.mlp_bias)
    add("final_norm", (c.hidden,), c.norm_bias)
    if not c.tied:
        add("head", (c.rows, c.hidden))
    return shapes


def initial_weights(config, generator, dtype=torch.float32):
    """Normal weights, biases 0, norm weights 1."""
    stddev = config.initializer.get("stddev", 0.02)
    depth = config.initializer.get("depth_scaled", False)
    weights = {}
    for name, shape in parameter_shapes(config).items():
        if name.endswith(".bias"):
            weights[name] = torch.zeros(shape, dtype=dtype)
        elif "norm" in name:
            weights[name] = torch.ones(shape, dtype=dtype)
        else:
            scaled = depth and (".o." in name or ".down." in name)
            s = stddev / math.sqrt(2 * config.layers) if scaled else stddev
            normal = torch.randn(shape, generator=generator, dtype=torch.float32)
            weights[name] = (normal * s).to(dtype)
    return weights


def inverse_frequencies(config):
    """Of each pair of the rotated part (arXiv 2104.09864), in fp64."""
    rotated = config.head_dim
    exponent = torch.arange(0, rotated, 2, dtype=torch.float64) / rotated
    frequencies = config.rope.get("theta", 10000) ** -exponent
    scaling = config.rope.get("scaling", {})
    if "linear" in scaling:
        return frequencies / scaling["linear"].get("factor", 1)
    if "llama3" not in scaling:
        return frequencies
    s = scaling["llama3"]
    factor, old = s.get("factor", 8), s.get("original_max_positions", 8192)
    low, high = s.get("low_freq_factor", 1), s.get("high_freq_factor", 4)
    wavelength = 2 * math.pi / frequencies
    smooth = ((old / wavelength - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * frequencies / factor + smooth * frequencies


def rotate(x, table):
    """Rotates the halves of the leading part of x [B, n, S, d]."""
    cos, sin = table
    half = cos.shape[-1]
    x1, x2, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin, rest), -1)


class Model:
    """loss(weights, tokens) for one spec; tokens [B, S + 1]."""

    def __init__(self, config, fused_attention=False):
        self.config, self.fused = config, fused_attention
        s = config.sequence
        angles = torch.outer(
            torch.arange(s, dtype=torch.float64), inverse_frequencies(config)
        )
        self.angles = angles
        distance = torch.arange(s)[:, None] - torch.arange(s)[None, :]
        self.visible = distance >= 0
        if config.window:
            self.visible &= distance < config.window
        self.tables = SimpleNamespace(dtype=None)

    def table(self, dtype):
        if self.tables.dtype != dtype:
            pair = (self.angles.cos().to(dtype), self.angles.sin().to(dtype))
            self.tables = SimpleNamespace(dtype=dtype, pair=pair)
        return self.tables.pair

    def norm(self, x, weights, name):
        weight, bias = weights[name + ".weight"], weights.get(name + ".bias")
        if self.config.norm == "LAYER_NORM":
            return F.layer_norm(x, x.shape[-1:], weight, bias, self.config.eps)
        y = self.rms(x, weight)
        return y if bias is None else y + bias

    def rms(self, x, weight):
        return F.rms_norm(x, x.shape[-1:], weight, self.config.eps)

    def linear(self, x, weights, name):
        return F.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))

    def attention(self, x, weights, name):
        c = self.config
        batch, sequence, _ = x.shape

        def heads(which):
            y = self.linear(x, weights, name + which)
            y = y.view(batch, sequence, -1, c.head_dim).transpose(1, 2)
            norm = weights.get(f"{name}{which}_norm.weight")
            y = y if norm is None else self.rms(y, norm)
            rotated = c.position == "ROTARY" and which != "v"
            return rotate(y, self.table(x.dtype)) if rotated else y

        q, k, v = heads("q"), heads("k"), heads("v")
        if self.fused:
            y = F.scaled_dot_product_attention(
                q, k, v, is_causal=True, scale=c.scale, enable_gqa=True
            )
        else:
            group = c.heads // c.kv_heads
            k, v = (t.repeat_interleave(group, 1) for t in (k, v))
            scores = (q @ k.transpose(-1, -2)) * c.scale
            scores = scores.masked_fill(~self.visible, -math.inf)
            y = scores.softmax(-1) @ v
        y = y.transpose(1, 2).reshape(batch, sequence, -1)
        return self.linear(y, weights, name + "o")

    def mlp(self, x, weights, name):
        kind = self.config.activation
        up = self.linear(x, weights, name + "up")
        if self.config.gated:
            gate = self.linear(x, weights, name + "gate")
            act = F.silu(gate) if kind == "SWIGLU" else F.gelu(gate)
            y = act * up
        else:
            y = {
                "GELU": F.gelu,
                "GELU_TANH": lambda t: F.gelu(t, approximate="tanh"),
                "SILU": F.silu,
                "RELU": F.relu,
                "RELU_SQUARED": lambda t: F.relu(t).square(),
            }[kind](up)
        return self.linear(y, weights, name + "down")

    def hidden_states(self, weights, ids):
        c = self.config
        x = weights["embedding.weight"][ids]
        if c.position == "LEARNED":
            x = x + weights["position_embedding.weight"][: ids.shape[1]]
        for i in range(c.layers):
            layer = f"layers.{i}."
            for norm, branch, part in (
                ("attention_norm", self.attention, "attention."),
                ("mlp_norm", self.mlp, "mlp."),
            ):
                if c.post_norm:
                    x = x + branch(x, weights, layer + part)
                    x = self.norm(x, weights, layer + norm)
                else:
                    y = self.norm(x, weights, layer + norm)
                    x = x + branch(y, weights, layer + part)
        return self.norm(x, weights, "final_norm")

    def loss(self, weights, tokens):
        x = self.hidden_states(weights, tokens[:, :-1])
        head = weights["embedding.weight" if self.config.tied else "head.weight"]
        logits = F.linear(x, head)[..., : self.config.vocab].flatten(0, 1)
        if logits.dtype == torch.bfloat16:
            logits = logits.float()
        return F.cross_entropy(logits, tokens[:, 1:].flatten())


def decays(name):
    """Whether weight decay applies: not to norms and biases."""
    return not name.endswith(".bias") and "norm" not in name


def adamw(config, weights):
    o = config.spec["training"].get("optimizer", {}).get("adamw", {})
    rate = config.spec["training"].get("learning_rate", {}).get("peak", 3e-4)
    decay = o.get("weight_decay", 0.1)
    groups = [
        {"params": [w for n, w in weights.items() if decays(n)]},
        {
            "params": [w for n, w in weights.items() if not decays(n)],
            "weight_decay": 0.0,
        },
    ]
    betas = (o.get("beta1", 0.9), o.get("beta2", 0.95))
    return torch.optim.AdamW(
        groups, lr=rate, betas=betas, eps=o.get("eps", 1e-8), weight_decay=decay
    )
