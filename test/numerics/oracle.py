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
        self.moe = get("moe")
        bias = get("bias", True)
        self.qkv_bias = get("attention_qkv_bias", bias)
        self.out_bias = get("attention_out_bias", bias)
        self.mlp_bias = get("mlp_bias", bias)
        rms = self.norm == "RMS_NORM"
        self.norm_bias = get("norm_bias", bias and not rms)

    @property
    def gated(self):
        return self.activation in ("SWIGLU", "GEGLU")

    def has_experts(self, layer):
        if self.moe is None:
            return False
        after = layer - self.moe.get("first_dense_layers", 0)
        interval = self.moe.get("interval", 1)
        return after >= 0 and after % interval == interval - 1

    @property
    def capacity(self):
        """The most tokens of a sequence that an expert takes, or None."""
        factor = self.moe.get("capacity_factor")
        if factor is None:
            return None
        even = self.sequence * self.moe.get("top_k", 2) / self.moe["experts"]
        return min(max(math.ceil(factor * even), 1), self.sequence)


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
        if c.has_experts(i):
            add_experts(c, add, layer + "mlp.")
        else:
            add_mlp(c, add, layer + "mlp.", c.ffn)
    add("final_norm", (c.hidden,), c.norm_bias)
    if not c.tied:
        add("head", (c.rows, c.hidden))
    return shapes


def add_mlp(config, add, name, ffn, experts=()):
    """The shapes of one MLP, or of each of `experts` of them."""
    inward, outward = (*experts, ffn, config.hidden), (*experts, config.hidden, ffn)
    if config.gated:
        add(name + "gate", inward, config.mlp_bias)
    add(name + "up", inward, config.mlp_bias)
    add(name + "down", outward, config.mlp_bias)


def add_experts(config, add, name):
    experts, ffn = config.moe["experts"], config.moe.get("ffn", config.ffn)
    add(name + "router", (experts, config.hidden))
    add_mlp(config, add, name + "experts.", ffn, (experts,))
    if shared := config.moe.get("shared_experts", 0):
        add_mlp(config, add, name + "shared.", shared * ffn)


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


def quantized(x, kind):
    """x in 8 bits, as numbers again: scaled so that its largest magnitude is
    the largest that the kind has (current scaling, one scale a tensor)."""
    largest = torch.finfo(kind).max
    scale = x.abs().max() / largest
    scale = torch.where(scale < 2.0**-126, torch.ones_like(scale), scale)
    return (x / scale).clamp(-largest, largest).to(kind).to(x.dtype) * scale


class Fp8Linear(torch.autograd.Function):
    """A linear layer of 8-bit operands: e4m3, and e5m2 for gradients (Megatron's
    hybrid format); sums are in the precision of x."""

    @staticmethod
    def forward(ctx, x, weight):
        x = quantized(x, torch.float8_e4m3fn)
        weight = quantized(weight, torch.float8_e4m3fn)
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad = quantized(grad, torch.float8_e5m2)
        return grad @ weight, grad.flatten(0, -2).T @ x.flatten(0, -2)


class Model:
    """loss(weights, tokens) for one spec; tokens [B, S + 1]. With fp8 the
    layers' linear ops have 8-bit operands, but those of experts. `rounded` is
    applied to what training in a narrower type keeps in that type: working
    copies of weights and what ops of a layer hand to each other."""

    def __init__(self, config, fused_attention=False, fp8=False, rounded=None):
        self.config, self.fused, self.fp8 = config, fused_attention, fp8
        self.rounded = rounded or (lambda x: x)
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
        # Of each layer with experts: the bias of its choice, and what has been
        # chosen since it was last moved. `router_loss` is of the last call.
        self.balance, self.router_loss = {}, 0.0

    def table(self, dtype):
        if self.tables.dtype != dtype:
            pair = (self.angles.cos().to(dtype), self.angles.sin().to(dtype))
            self.tables = SimpleNamespace(dtype=dtype, pair=pair)
        return self.tables.pair

    def norm(self, x, weights, name):
        weight, bias = weights[name + ".weight"], weights.get(name + ".bias")
        if self.config.norm == "LAYER_NORM":
            y = F.layer_norm(x, x.shape[-1:], weight, bias, self.config.eps)
            return self.rounded(y)
        y = self.rms(x, weight)
        return y if bias is None else self.rounded(y + bias)

    def rms(self, x, weight):
        return self.rounded(F.rms_norm(x, x.shape[-1:], weight, self.config.eps))

    def linear(self, x, weights, name):
        if self.fp8 and "." in name:  # experts have no such names
            bias = weights.get(name + ".bias")
            y = Fp8Linear.apply(x, weights[name + ".weight"])
            return self.rounded(y if bias is None else y + bias)
        weight = self.rounded(weights[name + ".weight"])
        return self.rounded(F.linear(x, weight, weights.get(name + ".bias")))

    def attention(self, x, weights, name):
        c = self.config
        batch, sequence, _ = x.shape

        def heads(which):
            y = self.linear(x, weights, name + which)
            y = y.view(batch, sequence, -1, c.head_dim).transpose(1, 2)
            norm = weights.get(f"{name}{which}_norm.weight")
            y = y if norm is None else self.rms(y, norm)
            rotated = c.position == "ROTARY" and which != "v"
            return self.rounded(rotate(y, self.table(x.dtype))) if rotated else y

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
        y = self.rounded(y.transpose(1, 2).reshape(batch, sequence, -1))
        return self.linear(y, weights, name + "o")

    def mlp(self, x, weights, name):
        if self.config.moe and name + "router.weight" in weights:
            return self.experts(x, weights, name)
        return self.dense(x, weights, name)

    def choose(self, scores, bias):
        """The experts of each token, by score and bias, from the best groups."""
        moe, biased = self.config.moe, scores.detach() + bias
        k, groups = moe.get("top_k", 2), moe.get("groups", 1)
        kept = moe.get("topk_groups", groups)
        if groups > 1:
            grouped = biased.unflatten(-1, (groups, -1))
            counted = min(max(1, k // kept), grouped.shape[-1])
            worth = grouped.topk(counted, -1).values.sum(-1)
            best = worth.topk(kept, -1).indices
            closed = torch.ones_like(worth, dtype=torch.bool)
            closed.scatter_(-1, best, False)
            biased = grouped.masked_fill(closed[..., None], -math.inf).flatten(-2)
        return biased.topk(k, -1).indices

    def experts(self, x, weights, name):
        """A loop over experts; what a capacity drops gets weight 0."""
        moe, count = self.config.moe, self.config.moe["experts"]
        logits = F.linear(x, self.rounded(weights[name + "router.weight"]))
        logits = self.rounded(logits)
        sigmoid = moe.get("scores", "SOFTMAX") == "SIGMOID"
        scores = logits.sigmoid() if sigmoid else logits.softmax(-1)
        state = self.balance.setdefault(
            name, SimpleNamespace(bias=scores.new_zeros(count), load=0)
        )
        chosen = self.choose(scores, state.bias)
        hot = F.one_hot(chosen, count).to(scores.dtype)  # [B, S, k, E]
        load = hot.sum((0, 1, 2))
        state.load = state.load + load
        self.add_router_loss(scores, logits, load)
        mix = scores.gather(-1, chosen)
        if moe.get("renormalise", True):
            mix = mix / mix.sum(-1, keepdim=True)
        if (capacity := self.config.capacity) is not None:
            order = hot.flatten(1, 2).cumsum(1).unflatten(1, hot.shape[1:3])
            place = (order * hot).sum(-1)  # from 1, in its expert's rows
            mix = mix * (place <= capacity)
        mix = (mix * moe.get("scale", 1.0))[..., None]
        share = (mix * hot).sum(-2)  # [B, S, E]
        result = torch.zeros_like(x)
        for e in range(count):
            one = {
                f"{part}.weight": weights[f"{name}experts.{part}.weight"][e]
                for part in ("gate", "up", "down")
                if f"{name}experts.{part}.weight" in weights
            }
            result = result + share[..., e : e + 1] * self.dense(x, one, "")
        result = self.rounded(result)
        if moe.get("shared_experts", 0):
            result = result + self.dense(x, weights, name + "shared.")
        return result

    def add_router_loss(self, scores, logits, load):
        """Switch's load-balancing loss (arXiv 2101.03961) and the z-loss."""
        moe = self.config.moe
        share = scores / scores.sum(-1, keepdim=True)
        fraction = load / load.sum()
        even = moe["experts"] * (fraction * share.mean((0, 1))).sum()
        large = logits.logsumexp(-1).square().mean()
        self.router_loss = (
            self.router_loss
            + moe.get("aux_loss", 0.0) * even
            + moe.get("z_loss", 0.0) * large
        )

    def move_biases(self):
        """After a step: against the load (arXiv 2408.15664)."""
        for state in self.balance.values():
            rate = self.config.moe.get("bias_rate", 0.0)
            state.bias = state.bias + rate * (state.load.mean() - state.load).sign()
            state.load = 0

    def dense(self, x, weights, name):
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
        y = self.rounded(y)
        return self.linear(y, weights, name + "down")

    def hidden_states(self, weights, ids):
        c, self.router_loss = self.config, 0.0
        x = weights["embedding.weight"][ids]
        if c.position == "LEARNED":
            x = x + weights["position_embedding.weight"][: ids.shape[1]]
        x = self.rounded(x)
        for i in range(c.layers):
            layer = f"layers.{i}."
            for norm, branch, part in (
                ("attention_norm", self.attention, "attention."),
                ("mlp_norm", self.mlp, "mlp."),
            ):
                if c.post_norm:
                    x = self.rounded(x + branch(x, weights, layer + part))
                    x = self.norm(x, weights, layer + norm)
                else:
                    y = self.norm(x, weights, layer + norm)
                    x = self.rounded(x + branch(y, weights, layer + part))
        return self.norm(x, weights, "final_norm")

    def loss(self, weights, tokens):
        x = self.hidden_states(weights, tokens[:, :-1])
        head = weights["embedding.weight" if self.config.tied else "head.weight"]
        logits = self.rounded(F.linear(x, self.rounded(head)))
        logits = logits[..., : self.config.vocab].flatten(0, 1)
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
