# Part of Hocket, under the Apache License v2.0.
"""The transformer that a spec describes, in plain PyTorch.

An oracle: written from the spec's schema and the papers, on a dict of tensors
with canonical names, in whatever precision the tensors have. It shares no code
with the compiler. Nothing here is fast on purpose except `attention`, which
may use PyTorch's own kernel when asked to.
"""

import math
import re
from dataclasses import dataclass
from types import SimpleNamespace

import eight_bits
import encoders
import latent
import positions
import retrieval
import state_space
import two_stacks
import vision
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
        self.heads, self.vocab = model.get("heads", 1), model["vocab_size"]
        padding = get("vocab_padding", 1)
        self.rows = -(-self.vocab // padding) * padding
        self.kv_heads = get("kv_heads", self.heads)
        self.latent = get("latent_attention")
        self.head_dim = get("head_dim", self.hidden // self.heads)
        if self.latent:
            self.head_dim = latent.head_dim(self.latent)
        self.ffn = get("ffn", 4 * self.hidden)
        self.sequence = training.get("sequence_length") or get("max_positions")
        self.positions = get("max_positions", self.sequence)
        self.norm = get("norm", "LAYER_NORM")
        self.eps = get("norm_eps", 1e-5)
        self.norm_position = get("norm_position", "PRE")
        self.side_by_side = get("branches", "SEQUENTIAL")
        self.zero_centered = get("norm_zero_centered", False)
        self.embedding_scale = get("embedding_scale", 1.0)
        self.residual_scale = get("residual_scale", 1.0)
        self.logit_scale = get("logit_scale", 1.0)
        self.activation = get("activation", "GELU")
        self.position = get("position", "LEARNED")
        self.rope = get("rope", {})
        self.relative_position = get("relative_position", {})
        self.qk_norm = get("qk_norm", False)
        self.qk_norm_scope = get("qk_norm_scope", "HEAD")
        self.window = get("sliding_window")
        self.scale = get("attention_scale", self.head_dim**-0.5)
        self.attention_softcap = get("attention_softcap")
        self.logit_softcap = get("logit_softcap")
        self.tied = get("tied_embeddings", True)
        self.initializer = get("initializer", {})
        self.moe = get("moe")
        self.state_space = get("state_space")
        bias = get("bias", True)
        self.qkv_bias = get("attention_qkv_bias", bias)
        self.out_bias = get("attention_out_bias", bias)
        self.mlp_bias = get("mlp_bias", bias)
        rms = self.norm == "RMS_NORM"
        self.norm_bias = get("norm_bias", bias and not rms)
        self.bias = bias
        self.encoder = get("attention_mask", "CAUSAL") == "BIDIRECTIONAL"
        self.has_prefix = get("attention_mask", "CAUSAL") == "PREFIX"
        self.encoder_layers = get("encoder", {}).get("layers", 0)
        self.token_types = get("token_types", 0)
        self.embedding_norm = get("embedding_norm", False)
        self.final_norm = get("final_norm", True)
        self.head_transform = get("head_transform", False)
        self.head_bias = get("head_bias", False)
        self.sentence_head = get("sentence_head", False)
        self.vision = get("vision")
        self.retrieval = get("retrieval")
        self.classes, self.choices = get("classes", 0), get("choices", 0)

        self.kinds = [self.kind_of(i) for i in range(self.layers)]

    @property
    def gated(self):
        return self.activation in ("SWIGLU", "GEGLU", "GEGLU_TANH")

    def kind_of(self, layer):
        """What differs between layers, of one of them."""
        kind, model = {}, self.spec["model"]
        if "pattern" in model:
            kinds = model["layer_kinds"]
            kinds = kinds if isinstance(kinds, list) else [kinds]
            names = names_of(model["pattern"])
            name = names[layer % len(names)]
            kind = next(k for k in kinds if k["name"] == name)
            feed_forward = kind.get("feed_forward", "DENSE")
        else:
            feed_forward = "EXPERTS" if self.has_experts(layer) else "DENSE"
        position = kind.get("position", self.position)
        return SimpleNamespace(
            attention=kind.get("mixer", "ATTENTION") == "ATTENTION",
            state_space=kind.get("mixer") == "MAMBA2",
            feed_forward=feed_forward,
            ffn=kind.get("ffn", self.ffn),
            window=kind.get("sliding_window", self.window) or None,
            rope=kind.get("rope", self.rope) if position == "ROTARY" else None,
            alibi=position == "ALIBI",
            relative=position == "RELATIVE",
        )

    def has_experts(self, layer):
        """Of a model whose layers have no kinds."""
        if self.moe is None:
            return False
        after = layer - self.moe.get("first_dense_layers", 0)
        interval = self.moe.get("interval", 1)
        return after >= 0 and after % interval == interval - 1

    @property
    def branches(self):
        """Residual branches of the whole model."""
        return sum(
            k.attention + k.state_space + (k.feed_forward != "NO_FEED_FORWARD")
            for k in self.kinds
        )

    @property
    def capacity(self):
        """The most tokens of a sequence that an expert takes, or None."""
        factor = self.moe.get("capacity_factor")
        if factor is None:
            return None
        even = self.sequence * self.moe.get("top_k", 2) / self.moe["experts"]
        return min(max(math.ceil(factor * even), 1), self.sequence)


def names_of(pattern):
    """The kinds that a pattern names, "a*2 (b c)*3", one behind the other."""

    def items():
        names = []
        while tokens and tokens[0] != ")":
            token = tokens.pop(0)
            once = [token]
            if token == "(":
                once = items()
                tokens.pop(0)
            count = 1
            if tokens and tokens[0] == "*":
                tokens.pop(0)
                count = int(tokens.pop(0))
            names += once * count
        return names

    tokens = re.findall(r"[()*]|[^\s()*]+", pattern)
    return items()


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
    if c.position == "RELATIVE":
        buckets = c.relative_position.get("buckets", 32)
        add("relative_position", (buckets, c.heads))
    if c.token_types:
        add("token_type_embedding", (c.token_types, c.hidden))
    if c.embedding_norm:
        add("embedding_norm", (c.hidden,), c.norm_bias)
    def add_block(name):
        add_norms(c, add, name)
        add_attention(c, add, name + ".")

    def add_layer(layer, blocks=()):
        for name in (layer + "attention", *blocks):
            add_block(name)
        add_norms(c, add, layer + "mlp")
        add_mlp(c, add, layer + "mlp.", c.ffn)

    if c.encoder_layers:
        two_stacks.add_shapes(c, add, add_layer)
    if c.vision:
        vision.add_shapes(c, add)
    for i, kind in enumerate(c.kinds):
        layer = f"layers.{i}."
        if kind.attention:
            add_norms(c, add, layer + "attention")
            add_attention(c, add, layer + "attention.")
        if c.encoder_layers:
            add_block(layer + "cross_attention")
        if c.retrieval:
            retrieval.add_shapes(c, i, add_block, add_layer)
        if kind.state_space:
            add_norms(c, add, layer + "mixer")
            state_space.add_shapes(c, add, shapes, layer + "mixer.")
        if kind.feed_forward != "NO_FEED_FORWARD":
            if c.side_by_side != "PARALLEL_ONE_NORM":
                add_norms(c, add, layer + "mlp")
        if kind.feed_forward == "EXPERTS":
            add_experts(c, add, layer + "mlp.")
        elif kind.feed_forward == "DENSE":
            add_mlp(c, add, layer + "mlp.", kind.ffn)
    if c.final_norm:
        add("final_norm", (c.hidden,), c.norm_bias)
    if c.head_transform:
        add("head_transform", (c.hidden, c.hidden), c.bias)
        add("head_norm", (c.hidden,), c.norm_bias)
    if not c.tied:
        add("head", (c.rows, c.hidden))
    if c.head_bias:
        shapes["head.bias"] = (c.rows,)
    if c.sentence_head:
        add("pooler", (c.hidden, c.hidden), c.bias)
        add("sentence_head", (2, c.hidden), c.bias)
    if c.classes or c.choices:
        add("pooler", (c.hidden, c.hidden), c.bias)
        add("class_head", (c.classes or 1, c.hidden), c.bias)
    return shapes


def add_norms(config, add, branch):
    if config.norm_position != "BRANCH":
        add(branch + "_norm", (config.hidden,), config.norm_bias)
    if config.norm_position in ("BOTH", "BRANCH"):
        add(branch + "_post_norm", (config.hidden,), config.norm_bias)


def add_attention(config, add, name):
    c = config
    if c.latent:
        latent.add_shapes(c, add, name)
        return
    query, key = c.heads * c.head_dim, c.kv_heads * c.head_dim
    add(name + "q", (query, c.hidden), c.qkv_bias)
    add(name + "k", (key, c.hidden), c.qkv_bias)
    add(name + "v", (key, c.hidden), c.qkv_bias)
    if c.qk_norm:
        together = c.qk_norm_scope == "ALL_HEADS"
        add(name + "q_norm", (query if together else c.head_dim,))
        add(name + "k_norm", (key if together else c.head_dim,))
    add(name + "o", (c.hidden, query), c.out_bias)


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
    if config.moe.get("shared_expert_gate", False):
        add(name + "shared_gate", (1, config.hidden))


def balanced(logits):
    """exp(logits) of each sequence, with rows that sum to 1/S and columns to 1/E.

    Sinkhorn and Knopp, 1967: rows and columns are divided by their sums in turn.
    """
    matrix = (logits - logits.amax(-1, keepdim=True)).exp()
    for _ in range(100):
        matrix = matrix / matrix.sum(-1, keepdim=True) / matrix.shape[-2]
        matrix = matrix / matrix.sum(-2, keepdim=True) / matrix.shape[-1]
    return matrix


def initial_weights(config, generator, dtype=torch.float32):
    """Normal weights, biases 0, norms that scale by 1."""
    stddev = config.initializer.get("stddev", 0.02)
    depth = config.initializer.get("depth_scaled", False)
    weights = {}
    for name, shape in parameter_shapes(config).items():
        if name.endswith(".bias"):
            weights[name] = torch.zeros(shape, dtype=dtype)
        elif "norm" in name:
            one = 0.0 if config.zero_centered else 1.0
            weights[name] = torch.full(shape, one, dtype=dtype)
        else:
            scaled = depth and (".o." in name or ".down." in name)
            s = stddev / math.sqrt(config.branches) if scaled else stddev
            normal = torch.randn(shape, generator=generator, dtype=torch.float32)
            weights[name] = (normal * s).to(dtype)
    return weights


class Model:
    """loss(weights, tokens) for one spec; tokens [B, S + 1]. With fp8, a recipe,
    the layers' linear ops have 8-bit operands, but those of experts. `rounded` is
    applied to what training in a narrower type keeps in that type: working
    copies of weights and what ops of a layer hand to each other."""

    def __init__(self, config, fused_attention=False, fp8="", rounded=None):
        self.config, self.fused, self.fp8 = config, fused_attention, fp8
        self.rounded = rounded or (lambda x: x)
        s = config.sequence
        self.distance = torch.arange(s)[:, None] - torch.arange(s)[None, :]
        # Of each layer with experts: the bias of its choice, and what has been
        # chosen since it was last moved. `router_loss` is of the last call.
        self.balance, self.router_loss = {}, 0.0
        self.lengths = None  # of an encoder's sequences in the last call
        self.prefixes = None  # lengths of those of the sequences in it

    def table(self, rope, dtype):
        places = torch.arange(self.config.sequence, dtype=torch.float64)
        width = self.config.head_dim
        if self.config.latent:
            width = latent.sizes_of(self.config).rope
        frequencies = positions.inverse_frequencies(rope, width)
        angles = torch.outer(places, frequencies)
        factor = positions.rope_factor(rope)
        return (angles.cos() * factor).to(dtype), (angles.sin() * factor).to(dtype)

    def buckets(self):
        """Of each query and key."""
        return self.buckets_of(-self.distance, self.config.encoder)

    def buckets_of(self, behind, both):
        c = self.config
        return positions.relative_buckets(
            behind,
            both,
            c.relative_position.get("buckets", 32),
            c.relative_position.get("max_distance", 128),
        )

    def visible(self, window):
        if self.config.encoder:  # all that is no padding
            keys = torch.arange(self.config.sequence)
            return (keys < self.lengths[:, None])[:, None, None, :]
        seen = self.distance >= 0
        if self.config.has_prefix:
            keys = torch.arange(self.config.sequence)
            return seen | (keys < self.prefixes[:, None])[:, None, None, :]
        return seen & (self.distance < window) if window else seen

    def norm(self, x, weights, name):
        weight, bias = weights[name + ".weight"], weights.get(name + ".bias")
        weight = self.centered(weight)
        if self.config.norm == "LAYER_NORM":
            y = F.layer_norm(x, x.shape[-1:], weight, bias, self.config.eps)
            return self.rounded(y)
        y = self.rms(x, weight)
        return y if bias is None else self.rounded(y + bias)

    def centered(self, weight):
        return 1 + weight if self.config.zero_centered else weight

    def rms(self, x, weight):
        return self.rounded(F.rms_norm(x, x.shape[-1:], weight, self.config.eps))

    def linear(self, x, weights, name):
        if self.fp8 and "." in name:  # experts have no such names
            bias = weights.get(name + ".bias")
            weight = weights[name + ".weight"]
            if self.fp8 != "TENSORWISE":  # made of the working copy
                weight = self.rounded(weight)
            y = eight_bits.linear(x, weight, self.fp8)
            return self.rounded(y if bias is None else y + bias)
        weight = self.rounded(weights[name + ".weight"])
        return self.rounded(F.linear(x, weight, weights.get(name + ".bias")))

    def attention(self, x, weights, name, kind):
        c = self.config
        batch, sequence, _ = x.shape
        table = self.table(kind.rope, x.dtype) if kind.rope is not None else None

        def heads(which):
            y = self.linear(x, weights, name + which)
            norm = weights.get(f"{name}{which}_norm.weight")
            together = c.qk_norm_scope == "ALL_HEADS"
            if norm is not None and together:
                y = self.rms(y, self.centered(norm))
            y = y.view(batch, sequence, -1, c.head_dim).transpose(1, 2)
            if norm is not None and not together:
                y = self.rms(y, self.centered(norm))
            rotated = table is not None and which != "v"
            return self.rounded(positions.rotate(y, table)) if rotated else y

        if c.latent:
            q, k, v = latent.heads(self, x, weights, name, table)
        else:
            q, k, v = heads("q"), heads("k"), heads("v")
        plain = not (kind.alibi or kind.relative or c.attention_softcap)
        if self.fused and plain and not c.encoder and not c.has_prefix:
            y = F.scaled_dot_product_attention(
                q, k, v, is_causal=True, scale=c.scale, enable_gqa=True
            )
        else:
            group = c.heads // c.kv_heads
            k, v = (t.repeat_interleave(group, 1) for t in (k, v))
            scores = (q @ k.transpose(-1, -2)) * c.scale
            scores = self.capped(scores, c.attention_softcap)
            if kind.alibi:
                slopes = torch.tensor(positions.alibi_slopes(c.heads), dtype=scores.dtype)
                scores = scores - slopes[:, None, None] * self.distance
            if kind.relative:
                learned = weights["relative_position.weight"][self.buckets()]
                scores = scores + learned.permute(2, 0, 1)
            scores = scores.masked_fill(~self.visible(kind.window), -math.inf)
            y = scores.softmax(-1) @ v
        y = self.rounded(y.transpose(1, 2).reshape(batch, sequence, -1))
        return self.linear(y, weights, name + "o")

    def state_space(self, x, weights, name, kind):
        return state_space.mix(self, x, weights, name)

    def mlp(self, x, weights, name, kind):
        if kind.feed_forward == "EXPERTS":
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
        wide = moe.get("router_dtype", "COMPUTE") == "FP32"
        rounded = (lambda tensor: tensor) if wide else self.rounded
        logits = rounded(F.linear(x, rounded(weights[name + "router.weight"])))
        sigmoid = moe.get("scores", "SOFTMAX") == "SIGMOID"
        scores = logits.sigmoid() if sigmoid else logits.softmax(-1)
        state = self.balance.setdefault(
            name, SimpleNamespace(bias=scores.new_zeros(count), load=0)
        )
        if moe.get("choice", "SCORE") == "SINKHORN":
            chosen = balanced(logits.detach()).topk(moe.get("top_k", 2), -1).indices
        else:
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
            shared = self.dense(x, weights, name + "shared.")
            if moe.get("shared_expert_gate", False):
                gate = self.linear(x, weights, name + "shared_gate").sigmoid()
                shared = self.rounded(gate * shared)
            result = result + shared
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
            approximate = "tanh" if kind == "GEGLU_TANH" else "none"
            act = F.silu(gate) if kind == "SWIGLU" else F.gelu(gate, approximate=approximate)
            y = act * up
        else:
            y = self.activate(up)
        y = self.rounded(y)
        return self.linear(y, weights, name + "down")

    def activate(self, x):
        return self.activated(self.config.activation, x)

    @staticmethod
    def activated(kind, x):
        return {
            "GELU": F.gelu,
            "QUICK_GELU": lambda t: t * torch.sigmoid(1.702 * t),
            "GELU_TANH": lambda t: F.gelu(t, approximate="tanh"),
            "SILU": F.silu,
            "RELU": F.relu,
            "RELU_SQUARED": lambda t: F.relu(t).square(),
        }[kind](x)

    def add_branch(self, x, weights, layer, kind, name):
        """x + f(norm(x)), norm(x + f(x)), x + norm(f(norm(x))) or x + norm(f(x))."""
        branches = {"attention": self.attention, "mixer": self.state_space, "mlp": self.mlp}
        c, branch = self.config, branches[name]
        norm, post = f"{layer}{name}_norm", f"{layer}{name}_post_norm"
        before = c.norm_position in ("PRE", "BOTH")
        y = self.norm(x, weights, norm) if before else x
        y = branch(y, weights, f"{layer}{name}.", kind)
        if c.norm_position in ("BOTH", "BRANCH"):
            y = self.norm(y, weights, post)
        x = self.rounded(x + self.scaled(y, c.residual_scale))
        return self.norm(x, weights, norm) if c.norm_position == "POST" else x

    def add_parallel_branches(self, x, weights, layer, kind):
        """x + (attention(norm(x)) + mlp(norm'(x))), or of one norm."""
        normed = self.norm(x, weights, layer + "attention_norm")
        attention = self.attention(normed, weights, layer + "attention.", kind)
        if self.config.side_by_side == "PARALLEL":
            normed = self.norm(x, weights, layer + "mlp_norm")
        mlp = self.mlp(normed, weights, layer + "mlp.", kind)
        scale = self.config.residual_scale
        both = self.rounded(self.scaled(attention, scale) + self.scaled(mlp, scale))
        return self.rounded(x + both)

    def capped(self, x, cap):
        return cap * torch.tanh(x / cap) if cap else x

    def scaled(self, x, factor):
        return x if factor == 1 else self.rounded(x * factor)

    def hidden_states(self, weights, ids, types=None, place=None, between=None):
        """`place` puts rows of others in the place of some embeddings; `between` goes on
        with the stream of a layer between attention and MLP."""
        c, self.router_loss = self.config, 0.0
        x = self.scaled(weights["embedding.weight"][ids], c.embedding_scale)
        if place:
            x = place(x)
        if c.position == "LEARNED":
            x = x + weights["position_embedding.weight"][: ids.shape[1]]
        if c.token_types:
            x = x + weights["token_type_embedding.weight"][types]
        x = self.rounded(x)
        if c.embedding_norm:
            x = self.norm(x, weights, "embedding_norm")
        for i, kind in enumerate(c.kinds):
            if c.side_by_side != "SEQUENTIAL":
                x = self.add_parallel_branches(x, weights, f"layers.{i}.", kind)
                continue
            if kind.attention:
                x = self.add_branch(x, weights, f"layers.{i}.", kind, "attention")
            if between:
                x = between(x, i)
            if kind.state_space:
                x = self.add_branch(x, weights, f"layers.{i}.", kind, "mixer")
            if kind.feed_forward != "NO_FEED_FORWARD":
                x = self.add_branch(x, weights, f"layers.{i}.", kind, "mlp")
        return self.norm(x, weights, "final_norm") if c.final_norm else x

    def logits(self, x, weights):
        """Of hidden states: [tokens, vocabulary]."""
        c = self.config
        if c.head_transform:
            x = self.linear(x, weights, "head_transform")
            x = self.norm(self.rounded(self.activate(x)), weights, "head_norm")
        x = self.scaled(x, c.logit_scale)
        head = self.rounded(weights["embedding.weight" if c.tied else "head.weight"])
        logits = self.rounded(F.linear(x, head, weights.get("head.bias")))
        logits = self.rounded(self.capped(logits, c.logit_softcap))
        logits = logits[..., : c.vocab].flatten(0, 1)
        return logits.float() if logits.dtype == torch.bfloat16 else logits

    def loss(self, weights, tokens):
        if self.config.encoder_layers:
            return two_stacks.loss(self, weights, tokens)
        if self.config.encoder:
            return encoders.loss(self, weights, tokens)
        if self.config.has_prefix:
            return self.loss_behind_prefixes(weights, tokens)
        if self.config.vision:
            return vision.loss(self, weights, tokens)
        if self.config.retrieval:
            return retrieval.loss(self, weights, tokens)
        x = self.hidden_states(weights, tokens[:, :-1])
        return F.cross_entropy(self.logits(x, weights), tokens[:, 1:].flatten())

    def loss_behind_prefixes(self, weights, batch):
        """Of the tokens behind `batch.prefixes`, over `batch.count`."""
        self.prefixes = batch.prefixes
        logits = self.logits(self.hidden_states(weights, batch.tokens[:, :-1]), weights)
        places = torch.arange(1, batch.tokens.shape[1])
        labels = batch.tokens[:, 1:].masked_fill(places < batch.prefixes[:, None], -1)
        total = F.cross_entropy(logits, labels.flatten(), ignore_index=-1, reduction="sum")
        return total / batch.count


def decays(name):
    """Whether weight decay applies: not to norms, biases and numbers of heads."""
    numbers = (".bias", ".decay", ".step_bias", ".skip")
    return not name.endswith(numbers) and "norm" not in name


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
