# Part of Hocket, under the Apache License v2.0.
"""GPT-2 in PyTorch, as fast as PyTorch makes it on a CPU.

    gpt2.py BATCH SEQUENCE fp32|bf16 eager|compiled STEPS

Fused AdamW, PyTorch's own fused attention, autocast for bf16; one line of JSON
with the seconds of every step and the peak of resident memory.
"""

import json
import math
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, HIDDEN, POSITIONS, VOCABULARY = 12, 12, 768, 1024, 50304


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.down = nn.Linear(4 * HIDDEN, HIDDEN)

    def attention(self, x):
        batch, sequence, _ = x.shape
        heads = self.qkv(x).view(batch, sequence, 3, HEADS, HIDDEN // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, sequence, HIDDEN))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(hidden)


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(POSITIONS, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                into_residual = name.endswith(("out.weight", "down.weight"))
                depth = math.sqrt(2 * LAYERS) if into_residual else 1
                nn.init.normal_(parameter, std=0.02 / depth)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def make_optimizer(model):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() != 2]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), fused=True)


def main(batch, sequence, precision, mode, steps):
    torch.manual_seed(0)
    batch, sequence, steps = int(batch), int(sequence), int(steps)
    model = GPT2()
    optimizer = make_optimizer(model)
    run = torch.compile(model) if mode == "compiled" else model
    seconds, loss = [], None
    for _ in range(steps):
        tokens = torch.randint(50257, (batch, sequence + 1))
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, precision == "bf16"):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result = {"torch": torch.__version__, "seconds": seconds, "peak_bytes": peak}
    print(json.dumps(result | {"loss": loss.item()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
