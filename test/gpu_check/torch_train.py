# Part of Hocket, under the Apache License v2.0.
"""The models of hocket-gpu-check in PyTorch, on one GPU.

    torch_train.py '{"spec": "llama-3-8b", "layers": 8, "batch": 1,
                     "sequence": 8192, "mode": "compiled"}'

Weights in f32, autocast to bf16, fused AdamW, gradients clipped; each of
PyTorch's attention back ends that runs is tried, and the fastest counts. One
line of JSON with tokens/s, the median of the steps.
"""

import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

SIZES = {
    "gpt2-124m": dict(layers=12, hidden=768, heads=12, ffn=3072, vocabulary=50304),
    "gpt2-1.5b": dict(layers=48, hidden=1600, heads=25, ffn=6400, vocabulary=50304),
    "llama-3-8b": dict(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336,
                       vocabulary=128256, llama=True),
    "tiny": dict(layers=2, hidden=64, heads=1, ffn=128, vocabulary=61),
}  # fmt: skip
BACKENDS = ("CUDNN_ATTENTION", "FLASH_ATTENTION", "MATH")
WARM_UP, STEPS = 3, 9


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.llama, hidden = size.get("llama", False), size["hidden"]
        self.heads, self.kv = size["heads"], size.get("kv_heads", size["heads"])
        self.dim = hidden // self.heads
        bias, norm = not self.llama, nn.RMSNorm if self.llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(hidden), norm(hidden)
        rows = (self.heads + 2 * self.kv) * self.dim
        self.qkv = nn.Linear(hidden, rows, bias=bias)
        self.out = nn.Linear(hidden, hidden, bias=bias)
        self.up = nn.Linear(hidden, size["ffn"] * (2 if self.llama else 1), bias=bias)
        self.down = nn.Linear(size["ffn"], hidden, bias=bias)

    def attention(self, x, rotation):
        batch, length, hidden = x.shape
        parts = self.qkv(x).view(batch, length, -1, self.dim).transpose(1, 2)
        q, k, v = parts.split([self.heads, self.kv, self.kv], dim=1)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=self.kv != self.heads
        )
        return self.out(y.transpose(1, 2).reshape(batch, length, hidden))

    def forward(self, x, rotation):
        x = x + self.attention(self.norm1(x), rotation)
        hidden = self.up(self.norm2(x))
        if self.llama:
            gate, hidden = hidden.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * hidden)
        return x + self.down(F.gelu(hidden, approximate="tanh"))


def rotate(x, rotation):
    cos, sin = rotation
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, left * sin + right * cos), -1).to(x)


class Model(nn.Module):
    def __init__(self, size, positions):
        super().__init__()
        hidden, vocabulary = size["hidden"], size["vocabulary"]
        self.llama = size.get("llama", False)
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size["layers"]))
        self.norm = nn.RMSNorm(hidden) if self.llama else nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        if self.llama:
            half = hidden // size["heads"] // 2
            angles = torch.outer(
                torch.arange(positions), 500000 ** (-torch.arange(half) / half)
            )
            self.register_buffer("cos", angles.cos())
            self.register_buffer("sin", angles.sin())
        else:
            self.positions = nn.Embedding(positions, hidden)
            self.head.weight = self.tokens.weight
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * size["layers"]))

    def forward(self, ids, targets):
        x = self.tokens(ids)
        if not self.llama:
            x = x + self.positions.weight[: ids.shape[1]]
        rotation = (self.cos, self.sin) if self.llama else None
        for block in self.blocks:
            x = block(x, rotation)
        return self.loss(x, targets)

    def loss(self, x, targets):
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    def compile_parts(self):
        """A block once for all of them, and the head with its loss: all layers as
        one graph take minutes."""
        for block in self.blocks:
            block.compile()
        self.loss = torch.compile(self.loss)


def seconds_of_steps(model, optimizer, batch, options, size, device):
    """With one of the attention back ends."""
    seconds = []
    for _ in range(WARM_UP + STEPS):
        shape = batch, options["sequence"] + 1
        tokens = torch.randint(size["vocabulary"], shape, device=device)
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast(device, torch.bfloat16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[WARM_UP:])


def main(options):
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    size = dict(SIZES[options["spec"]])
    size["layers"] = options.get("layers") or size["layers"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model(size, options["sequence"]).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    if options["mode"] == "compiled":
        model.compile_parts()
    batch = options["batch"]
    while True:
        try:
            found, refused = speeds(model, optimizer, batch, options, size, device)
            break
        except torch.cuda.OutOfMemoryError:
            if batch == 1:
                raise
        # Outside of the handler, which keeps tensors alive.
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        batch //= 2
    if not found:
        sys.exit(f"no attention back end runs: {refused}")
    name = min(found, key=found.get)
    speed = batch * options["sequence"] / found[name]
    print(json.dumps({"tokens_per_second": speed, "attention": name, "batch": batch,
                      "all": found, "refused": refused,
                      "torch": torch.__version__}))  # fmt: skip


def speeds(model, optimizer, batch, options, size, device):
    """({back end: seconds of a step}, {back end: why it does not run})"""
    found, refused = {}, {}
    for name in BACKENDS:
        if found and name == "MATH":
            break  # alone where nothing else runs
        torch._dynamo.reset()
        try:
            with sdpa_kernel(getattr(SDPBackend, name)):
                found[name] = seconds_of_steps(
                    model, optimizer, batch, options, size, device
                )
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            refused[name] = str(error)[:200]
    return found, refused


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
