# Part of Hocket, under the Apache License v2.0.
"""Small models by Hocket's names, and the same models as ranks of Megatron-LM
hold them. Numbers are exact in bfloat16, so that imports can be compared bit
for bit."""

import argparse
import dataclasses
import math
import zlib


@dataclasses.dataclass
class Config:
    layers: int = 4
    hidden: int = 8
    heads: int = 4
    groups: int = 2
    head_dim: int = 2
    ffn: int = 6
    vocabulary: int = 13
    padded: int = 16
    positions: int = 8
    learned: bool = False
    swiglu: bool = True
    bias: bool = False
    layer_norm: bool = False
    tied: bool = False
    qk_norm: bool = False
    experts: int = 0
    shared: int = 0
    capacity: float = 0
    pattern: str = ""  # Of a hybrid's layers.
    state_dim: int = 3
    state_head_dim: int = 4
    state_groups: int = 2
    kv_rank: int = 0  # Of latent attention, with a head's parts beside each other.
    q_rank: int = 0
    nope: int = 4
    rope: int = 4
    value: int = 3
    expert_bias: bool = False
    encoder_layers: int = 0  # Of the neighbours that its sixth layer attends to.

    @property
    def inner(self):
        return 2 * self.hidden

    def letter(self, layer):
        """Of a layer that is both, "*-" or "*E"."""
        return self.pattern[layer] if self.pattern else "*E" if self.experts else "*-"

    def settings(self, **more):
        """The options of Megatron-LM that give the model."""
        said = {
            "num_layers": self.layers,
            "hidden_size": self.hidden,
            "num_attention_heads": self.heads,
            "group_query_attention": self.groups != self.heads,
            "num_query_groups": self.groups,
            "kv_channels": self.head_dim,
            "ffn_hidden_size": self.ffn,
            "vocab_size": self.vocabulary,
            "padded_vocab_size": self.padded,
            "max_position_embeddings": self.positions,
            "seq_length": self.positions,
            "position_embedding_type": "learned_absolute" if self.learned else "rope",
            "rotary_base": 500000,
            "rotary_percent": 1.0,
            "normalization": "LayerNorm" if self.layer_norm else "RMSNorm",
            "norm_epsilon": 1e-6,
            "swiglu": self.swiglu,
            "add_bias_linear": self.bias,
            "bias_gelu_fusion": self.bias,
            "qk_layernorm": self.qk_norm,
            "untie_embeddings_and_output_weights": not self.tied,
            "hidden_dropout": 0.0,
            "attention_dropout": 0.0,
            "window_size": None,
        }
        if self.experts:
            said |= {"num_experts": self.experts, "moe_router_topk": 2,
                     "moe_ffn_hidden_size": self.ffn, "moe_layer_freq": 1,
                     "moe_expert_capacity_factor": self.capacity or None,
                     "moe_shared_expert_intermediate_size": self.shared or None}  # fmt: skip
        if self.pattern:
            said |= {"hybrid_layer_pattern": self.pattern, "mamba_state_dim": self.state_dim,
                     "mamba_head_dim": self.state_head_dim, "mamba_num_groups": self.state_groups,
                     "mamba_num_heads": None, "norm_epsilon": 1e-5}  # fmt: skip
        if self.kv_rank:
            said |= {"multi_latent_attention": True, "q_lora_rank": self.q_rank or None,
                     "kv_lora_rank": self.kv_rank, "qk_head_dim": self.nope,
                     "qk_pos_emb_head_dim": self.rope, "v_head_dim": self.value,
                     "rope_type": "yarn", "rotary_scaling_factor": 4.0, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 8}  # fmt: skip
        if self.expert_bias:
            said |= {"moe_router_enable_expert_bias": True, "moe_router_bias_update_rate": 0.002,
                     "moe_router_score_function": "sigmoid"}  # fmt: skip
        if self.encoder_layers:
            said |= {"retro_add_retriever": True, "retro_encoder_layers": self.encoder_layers,
                     "retro_encoder_hidden_dropout": 0.0, "retro_encoder_attention_dropout": 0.25,
                     "retro_num_neighbors": 3, "retro_num_retrieved_chunks": 2,
                     "retro_gpt_chunk_length": 4}  # fmt: skip
        return argparse.Namespace(**said | more)


LLAMA = Config()
GPT2 = Config(groups=4, learned=True, swiglu=False, bias=True, layer_norm=True, tied=True)
MOE = Config(layers=2, qk_norm=True, experts=4, shared=6)
LATENT = Config(layers=2, groups=4, kv_rank=5, q_rank=6, qk_norm=True)
LATENT_MOE = Config(layers=2, groups=4, kv_rank=5, experts=4, shared=6, expert_bias=True)
HYBRID = Config(layers=6, pattern="MM*-ME", experts=4, shared=6)
RETRO = Config(layers=6, groups=4, bias=True, layer_norm=True, encoder_layers=2)
RETRIEVING = 5  # The layer of a model of six that attends to neighbours.


class Matrix:
    """Rows of floats; a vector has `vector` and one column."""

    def __init__(self, rows, vector=False, depthwise=False):
        self.rows, self.vector, self.depthwise = rows, vector, depthwise

    @property
    def shape(self):
        one = (1,) if self.depthwise else ()
        return (len(self.rows),) if self.vector else (len(self.rows), *one, len(self.rows[0]))

    @property
    def values(self):
        return [value for row in self.rows for value in row]

    def part(self, first, count):
        return Matrix(self.rows[first : first + count], self.vector, self.depthwise)

    def columns(self, first, count):
        return Matrix([row[first : first + count] for row in self.rows])


def join(*parts):
    return Matrix([row for part in parts for row in part.rows], parts[0].vector,
                  parts[0].depthwise)  # fmt: skip


def numbers(name, *shape):
    """Of bfloat16's 8 bits, other ones for each name."""
    seed, columns = zlib.crc32(name.encode()), math.prod(shape[1:])
    value = [((seed + 37 * i) % 251 - 125) / 64 for i in range(shape[0] * columns)]
    rows = [value[row * columns : (row + 1) * columns] for row in range(shape[0])]
    return Matrix(rows, len(shape) == 1)


def ours(config):
    """Hocket's weights; of experts, a matrix each: "...experts.{e}.up"."""
    shapes, c = {}, config
    if c.learned:
        shapes["position_embedding.weight"] = c.positions, c.hidden
    if not c.tied:
        shapes["head.weight"] = c.vocabulary, c.hidden
    shapes["embedding.weight"] = c.vocabulary, c.hidden

    def norm(name, size=c.hidden, bias=c.layer_norm):
        shapes[name + ".weight"] = (size,)
        if bias:
            shapes[name + ".bias"] = (size,)

    def linear(name, out, width, bias=c.bias):
        shapes[name + ".weight"] = out, width
        if bias:
            shapes[name + ".bias"] = (out,)

    def mlp(name):
        for part in ("gate", "up") if c.swiglu else ("up",):
            linear(f"{name}.{part}", c.ffn, c.hidden)
        linear(f"{name}.down", c.hidden, c.ffn)

    def attention(layer, name="attention"):
        norm(f"{layer}{name}_norm")
        linear(f"{layer}{name}.q", c.heads * c.head_dim, c.hidden)
        linear(f"{layer}{name}.k", c.groups * c.head_dim, c.hidden)
        linear(f"{layer}{name}.v", c.groups * c.head_dim, c.hidden)
        linear(f"{layer}{name}.o", c.hidden, c.heads * c.head_dim)
        if c.qk_norm:
            norm(layer + "attention.q_norm", c.head_dim)
            norm(layer + "attention.k_norm", c.head_dim)

    def latent_attention(layer):
        norm(layer + "attention_norm")
        if c.q_rank:
            linear(layer + "attention.q_down", c.q_rank, c.hidden)
        linear(layer + "attention.q", c.heads * (c.rope + c.nope), c.q_rank or c.hidden)
        linear(layer + "attention.kv_down", c.kv_rank, c.hidden)
        linear(layer + "attention.k_rope", c.rope, c.hidden)
        linear(layer + "attention.k", c.heads * c.nope, c.kv_rank)
        linear(layer + "attention.v", c.heads * c.value, c.kv_rank)
        linear(layer + "attention.o", c.hidden, c.heads * c.value)
        if c.qk_norm:
            norm(layer + "attention.kv_norm", c.kv_rank)
            if c.q_rank:
                norm(layer + "attention.q_norm", c.q_rank)

    def states(layer):
        norm(layer + "mixer_norm", bias=False)
        maps, heads = c.state_groups * c.state_dim, c.inner // c.state_head_dim
        for name, rows in (("z", c.inner), ("x", c.inner), ("b", maps), ("c", maps), ("dt", heads)):
            linear(layer + "mixer." + name, rows, c.hidden, bias=False)
        for name, rows in (("x", c.inner), ("b", maps), ("c", maps)):
            linear(layer + "mixer.conv_" + name, rows, 4, bias=True)
        for name in ("decay", "step_bias", "skip"):
            shapes[layer + "mixer." + name] = (heads,)
        norm(layer + "mixer.gated_norm", c.inner, bias=False)
        linear(layer + "mixer.out", c.hidden, c.inner, bias=False)

    def retriever(layer):
        attention(layer, "cross_attention")
        for j in range(c.encoder_layers):
            inside = f"{layer}cross_attention.encoder.layers.{j}."
            attention(inside)
            if j == 0:
                attention(inside, "cross_attention")
            norm(inside + "mlp_norm")
            mlp(inside + "mlp")

    norm("final_norm")
    for i in range(c.layers):
        layer, letter = f"layers.{i}.", c.letter(i)
        if c.encoder_layers and i == RETRIEVING:
            retriever(layer)
        if "M" in letter:
            states(layer)
        if "*" in letter:
            (latent_attention if c.kv_rank else attention)(layer)
        if "-" in letter:
            norm(layer + "mlp_norm")
            mlp(layer + "mlp")
        if "E" not in letter:
            continue
        norm(layer + "mlp_norm")
        linear(layer + "mlp.router", c.experts, c.hidden)
        for e in range(c.experts):
            mlp(f"{layer}mlp.experts.{e}")
        if c.shared:
            mlp(layer + "mlp.shared")
    return {name: numbers(name, *shape) for name, shape in shapes.items()}


def theirs(config):
    """The same in Megatron Core's names, each whole; rows of padding are 9."""
    weights, result = ours(config), {}

    def move(name, source, *ends):
        for end in ends or (".weight", ".bias"):
            if source + end in weights:
                result[name + end] = weights[source + end]

    def fc1(name, source):
        for end in (".weight", ".bias"):
            parts = [weights[source + part + end] for part in (".gate", ".up")
                     if source + part + end in weights]  # fmt: skip
            if parts:
                result[name + end] = join(*parts)

    def mlp(name, source):
        fc1(name + ".linear_fc1", source)
        move(name + ".linear_fc2", source + ".down")

    def state_weights(layer, source):
        move(layer + "norm", source + "mixer_norm")
        move(layer + "mixer.norm", source + "mixer.gated_norm")
        move(layer + "mixer.out_proj", source + "mixer.out")
        for name, old in (("A_log", "decay"), ("dt_bias", "step_bias"), ("D", "skip")):
            result[layer + "mixer." + name] = weights[source + "mixer." + old]
        for part in ("z", "x", "B", "C", "dt"):
            whole = weights[f"{source}mixer.{part.lower()}.weight"]
            result[f"{layer}mixer.in_proj.weight.{part}"] = whole
        for part in "xBC":
            conv = f"{source}mixer.conv_{part.lower()}"
            rows = weights[conv + ".weight"].rows
            result[f"{layer}mixer.conv1d.weight.{part}"] = Matrix(rows, depthwise=True)
            result[f"{layer}mixer.conv1d.bias.{part}"] = weights[conv + ".bias"]

    def pairs(rows):
        """What rotates by halves, as its neighbours do."""
        half = len(rows) // 2
        return Matrix([rows[i // 2 + i % 2 * half] for i in range(len(rows))])

    def latent_attention(layer, source):
        c, at, to = config, source + "attention.", layer + "self_attention.linear_"
        rows = weights[at + "q.weight"].rows
        each = c.rope + c.nope
        queries = [rows[h * each : (h + 1) * each] for h in range(c.heads)]
        queries = [join(Matrix(q[c.rope :]), pairs(q[: c.rope])) for q in queries]
        result[f"{to}q_{'up_' if c.q_rank else ''}proj.weight"] = join(*queries)
        move(to + "q_down_proj", at + "q_down")
        turned = pairs(weights[at + "k_rope.weight"].rows)
        result[to + "kv_down_proj.weight"] = join(weights[at + "kv_down.weight"], turned)
        k, v = (weights[f"{at}{x}.weight"] for x in "kv")
        both = [part for h in range(c.heads)
                for part in (k.part(h * c.nope, c.nope), v.part(h * c.value, c.value))]  # fmt: skip
        result[to + "kv_up_proj.weight"] = join(*both)
        move(layer + "self_attention.kv_layernorm", at + "kv_norm")

    def attention(layer, source):
        move(layer + "input_layernorm", source + "attention_norm")
        move(layer + "self_attention.linear_proj", source + "attention.o")
        if config.kv_rank:
            latent_attention(layer, source)
            return
        for end in (".weight", ".bias"):
            if source + "attention.q" + end in weights:
                fused = qkv(config, *(weights[f"{source}attention.{x}{end}"] for x in "qkv"))
                result[layer + "self_attention.linear_qkv" + end] = fused

    def crossing(layer, source):
        move(layer + "pre_cross_attn_layernorm", source + "cross_attention_norm")
        move(layer + "cross_attention.attn.linear_q", source + "cross_attention.q")
        move(layer + "cross_attention.attn.linear_proj", source + "cross_attention.o")
        for end in (".weight", ".bias"):
            if source + "cross_attention.k" + end in weights:
                both = [weights[f"{source}cross_attention.{x}{end}"] for x in "kv"]
                d = config.head_dim
                heads = [x.part(g * d, d) for g in range(config.groups) for x in both]
                result[layer + "cross_attention.attn.linear_kv" + end] = join(*heads)

    def retriever(layer, source):
        crossing(layer, source)
        for j in range(config.encoder_layers):
            inside = f"cross_attention.encoder.layers.{j}."
            attention(layer + inside, source + inside)
            # The first layer has a module around this norm.
            wraps = ".norm" if j == 0 else ""
            move(f"{layer}{inside}pre_mlp_layernorm{wraps}", source + inside + "mlp_norm")
            mlp(layer + inside + "mlp", source + inside + "mlp")
            if j == 0:
                crossing(layer + inside, source + inside)

    padding = Matrix([[9.0] * config.hidden] * (config.padded - config.vocabulary))
    for name, source in (("embedding.word_embeddings.weight", "embedding.weight"),
                         ("output_layer.weight", "head.weight")):  # fmt: skip
        if source in weights:
            result[name] = join(weights[source], padding)
    move("embedding.position_embeddings", "position_embedding")
    move("decoder.final_layernorm", "final_norm")
    for i in range(config.layers):
        layer, source = f"decoder.layers.{i}.", f"layers.{i}."
        if "M" in config.letter(i):
            state_weights(layer, source)
            continue
        attention(layer, source)
        move(layer + "pre_mlp_layernorm", source + "mlp_norm")
        move(layer + "self_attention.q_layernorm", source + "attention.q_norm")
        move(layer + "self_attention.k_layernorm", source + "attention.k_norm")
        if config.encoder_layers and i == RETRIEVING:
            retriever(layer, source)
        move(layer + "mlp.router", source + "mlp.router")
        if config.expert_bias:
            result[layer + "mlp.router.expert_bias"] = numbers(layer + "bias", config.experts)
        for e in range(config.experts):
            mlp(f"{layer}mlp.experts.{e}", f"{source}mlp.experts.{e}")
        mlp(layer + "mlp.shared_experts", source + "mlp.shared")
        mlp(layer + "mlp", source + "mlp")
    return result


def qkv(config, q, k, v):
    """For each group: its queries, its key, its value."""
    d, queries = config.head_dim, config.heads // config.groups * config.head_dim
    return join(*(part for g in range(config.groups) for part in (
        q.part(g * queries, queries), k.part(g * d, d), v.part(g * d, d))))  # fmt: skip


# How ranks of tensor parallelism share weights.
BY_COLUMNS = ("linear_proj.weight", "linear_fc2.weight", "out_proj.weight")
BY_ROWS = ("word_embeddings", "output_layer", "linear_qkv", "linear_q.", "linear_kv.",
           "linear_q_proj", "linear_q_up", "linear_kv_up", "linear_fc1", ".mixer.")  # fmt: skip


def shard(config, name, whole, rank, ranks):
    """What a rank of tensor parallelism has of a weight."""
    if any(part in name for part in ("linear_fc1.",)) and config.swiglu:
        each = len(whole.rows) // 2 // ranks
        return join(whole.part(rank * each, each), whole.part((ranks + rank) * each, each))
    if name.endswith(BY_COLUMNS):
        each = len(whole.rows[0]) // ranks
        return whole.columns(rank * each, each)
    if any(part in name for part in BY_ROWS):
        each = len(whole.rows) // ranks
        return whole.part(rank * each, each)
    return whole


def rank_chunks(config, rank, ranks, chunks=1):
    """rank: (tensor, stage, expert) of `ranks`. A dict of local names for each
    chunk of the stage."""
    (tensor, stage, expert), (tensors, stages, experts) = rank, ranks
    each = config.layers // stages // chunks
    held = config.experts // experts
    result = []
    for chunk in range(chunks):
        first, local = (chunk * stages + stage) * each, {}
        is_first = stage == chunk == 0
        is_last = stage == stages - 1 and chunk == chunks - 1
        for name, whole in theirs(config).items():
            words = name.split(".")
            if words[1] == "layers":
                if not first <= int(words[2]) < first + each:
                    continue
                words[2] = str(int(words[2]) - first)
                if words[3:5] == ["mlp", "experts"]:
                    if int(words[5]) // held != expert:
                        continue
                    # Grouped ones, as Transformer Engine has them.
                    words[5:] = [words[6], words[7] + str(int(words[5]) % held)]
            elif not (is_first if words[0] == "embedding" else is_last):
                continue
            held_part = shard(config, name, whole, tensor, tensors)
            name = ".".join(words)
            if words[-1] in ("z", "x", "B", "C", "dt"):  # One weight on each rank.
                name = name.rsplit(".", 1)[0]
                held_part = join(*([local[name]] if name in local else []), held_part)
            local[name] = held_part
        if is_last and not is_first and config.tied:
            whole = theirs(config)["embedding.word_embeddings.weight"]
            local["output_layer.weight"] = shard(config, "output_layer", whole, tensor, tensors)
        result.append(local)
    return result


def folder_of(rank, ranks):
    name = f"mp_rank_{rank[0]:02}"
    name += f"_{rank[1]:03}" if ranks[1] > 1 else ""
    return name + (f"_{rank[2]:03}" if ranks[2] > 1 else "")


def all_ranks(ranks):
    return [(t, p, e) for p in range(ranks[1]) for e in range(ranks[2]) for t in range(ranks[0])]


def stacked(config, rows=2, columns=2):
    """As torch_dist has them: layers and experts in leading dims, cut into
    `rows` or `columns` where Megatron-LM would. name -> (shape, [(offsets,
    shape, values)])."""
    result, count = {}, (config.layers, config.experts)
    for name, whole in theirs(config).items():
        words, lead = name.split("."), []
        if words[1] == "layers" and not config.pattern and not config.encoder_layers:
            lead.append((int(words[2]), count[0]))
            del words[2]
        if "experts" in words:
            number = words.index("experts") + 1
            lead.append((int(words[number]), count[1]))
            words[number] = "experts"
        shape = tuple(of for _, of in lead) + whole.shape
        shards = result.setdefault(".".join(words), (shape, []))[1]
        offset, ones = tuple(at for at, _ in lead), (1,) * len(lead)
        for at, part in cuts(name, whole, rows, columns):
            shards.append((offset + at, ones + part.shape, part.values))
    return result


def cuts(name, whole, rows, columns):
    if name.endswith(BY_COLUMNS):
        each = len(whole.rows[0]) // columns
        return [((0, i * each), whole.columns(i * each, each)) for i in range(columns)]
    if not any(part in name for part in BY_ROWS):
        rows = 1
    each = len(whole.rows) // rows
    return [((i * each,) + (0,) * (len(whole.shape) - 1), whole.part(i * each, each))
            for i in range(rows)]  # fmt: skip
