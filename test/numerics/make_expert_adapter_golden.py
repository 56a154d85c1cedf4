#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden/expert_adapter.json and golden/shared_adapter.json:
python3 make_expert_adapter_golden.py

Every expert of the model "mixtral" has adapters of its own. Of the model "qwen2_moe" the
experts that all tokens have are adapted, and the dense layer. The oracle's weights are
W + alpha / rank B A in fp64, from the matrices that Hocket draws. PyTorch gives the losses
of some steps of AdamW, and what two steps of SGD make of each matrix: B is zero at first,
so that A moves in the second.
"""

import json

import oracle
import textproto
import torch
import training
from make_golden import backward, microbatches, tensors

RANK, ALPHA, STEPS, RATE = 3, 6, 10, 8.0
MODELS = {"expert_adapter": ("mixtral", "QUERY,EXPERT_GATE,EXPERT_UP,EXPERT_DOWN"),
          "shared_adapter": ("qwen2_moe", "GATE,UP,DOWN")}  # fmt: skip


class Adapted:
    """The oracle, of weights with what adapters add to them."""

    def __init__(self, config, base):
        self.model, self.base = oracle.Model(config), base

    def loss(self, adapters, tokens):
        weights = dict(self.base)
        for name, a in adapters.items():
            if name.endswith(".lora_A.weight"):
                stem = name.removesuffix(".lora_A.weight")
                low_rank = adapters[stem + ".lora_B.weight"] @ a
                weights[stem + ".weight"] = weights[stem + ".weight"] + ALPHA / RANK * low_rank
        loss = self.model.loss(weights, tokens)
        self.router_loss = self.model.router_loss
        return loss


def train(config, drawn, samples, steps, optimizer_of, clips):
    """The losses, and the adapters at the end."""
    every = tensors(drawn, torch.float64)
    adapters = {name: w for name, w in every.items() if ".lora_" in name}
    base = {name: w.detach() for name, w in every.items() if name not in adapters}
    model, optimizer = Adapted(config, base), optimizer_of(adapters.values())
    losses = []
    for step in range(steps):
        losses.append(backward(model, adapters, microbatches(samples, step)))
        if clips:
            torch.nn.utils.clip_grad_norm_(adapters.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return losses, adapters


def write(golden, name, targets):
    options = ("--set", f"training.lora.rank={RANK}", "--set", f"training.lora.alpha={ALPHA}",
               "--set", f"training.lora.targets={targets}")  # fmt: skip
    with training.Run(name) as run:
        drawn, _ = run.train(run.sgd, 0, "FP32", *options)
        samples = run.samples()
        config = oracle.Config(textproto.read(run.adamw))
    losses, _ = train(
        config, drawn, samples, STEPS,
        lambda weights: torch.optim.AdamW(
            weights, lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1),
        clips=True,
    )  # fmt: skip
    steps, moved = train(
        config, drawn, samples, 2, lambda weights: torch.optim.SGD(weights, lr=RATE), clips=False
    )
    changes = {}
    for name, weight in moved.items():
        before = torch.tensor(drawn[name][1], dtype=torch.float64).reshape(weight.shape)
        change = weight.detach() - before
        print(f"{name}: {change.norm():.2e} of {weight.norm():.2e}")
        changes[name] = [float(f"{x:.7g}") for x in change.flatten().tolist()]
    record = {"weights": training.fingerprint(drawn), "losses": losses, "sgd_losses": steps,
              "changes": changes}  # fmt: skip
    path = training.HERE / "golden" / f"{golden}.json"
    path.write_text(json.dumps(record) + "\n")
    print(f"{golden}: loss {losses[0]:.6f} to {losses[-1]:.6f}, of SGD {steps}")


def main():
    for golden, (name, targets) in MODELS.items():
        write(golden, name, targets)


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    main()
