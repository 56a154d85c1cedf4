#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden/ from PyTorch: python3 make_golden.py [MODEL...]

Hocket gives the initial weights and the samples; PyTorch, in fp64, gives the
gradients of the first step and the losses of all. Of some models it also gives
them with operands of 8 bits and all else in fp64 (MODEL:RECIPE for these alone).
Needs PyTorch, which the tests that read golden/ do not. Run it again only where
a model, the corpus or the initialisers change.

It also derives how near Hocket must come in bf16, from the rounding that bf16
allows and from nothing that Hocket does. Rounding moves a number by at most the
unit roundoff of itself, and programs that round in other places, as those of
other plans and instruction sets do, are equally right. So the reference trains
RUNS times more, still in fp64, with every tensor that is kept in bf16, and its
gradient, moved at random by up to the unit roundoff (Monte Carlo arithmetic,
Parker, 1997). Two such runs are as far apart as two right programs, and the
greatest distance of any two is the band: of the first loss and of the losses of
all steps, relative to the reference's, and of every gradient, as the norm of
the difference. What spreads a rounding, as the choice of an expert or a code of
8 bits does, is part of it.
"""

import hashlib
import itertools
import json
import sys
from types import SimpleNamespace

import oracle
import safetensors
import textproto
import torch
import training

UNIT = 2.0**-8  # the unit roundoff of bf16: half the distance from 1 to the next
RUNS = 16


class Moved(torch.autograd.Function):
    """x and its gradient, each element moved by up to UNIT of itself."""

    @staticmethod
    def forward(ctx, x, generator):
        ctx.generator = generator
        return moved(x, generator)

    @staticmethod
    def backward(ctx, grad):
        return moved(grad, ctx.generator), None


def moved(x, generator):
    draws = torch.rand(x.shape, generator=generator, dtype=x.dtype)
    return x * (1 + UNIT * (2 * draws - 1))


def tensors(weights, dtype):
    return {
        name: torch.tensor(values, dtype=torch.float32)
        .reshape(shape)
        .to(dtype)
        .requires_grad_()
        for name, (shape, values) in weights.items()
    }


def microbatches(samples, step):
    """The token tensors of one step."""
    first = step * training.GLOBAL_BATCH
    batch = samples[first : first + training.GLOBAL_BATCH]
    if isinstance(batch[0], dict) and "encoder_tokens" in batch[0]:
        return span_microbatches(batch)
    if isinstance(batch[0], dict) and "pixels" in batch[0]:
        return image_microbatches(batch)
    if isinstance(batch[0], dict) and "neighbors" in batch[0]:
        return retrieval_microbatches(batch)
    if isinstance(batch[0], dict) and "learned" in batch[0]:
        return prefix_microbatches(batch)
    if isinstance(batch[0], dict):
        return masked_microbatches(batch)
    return torch.tensor(batch).split(2)


def retrieval_microbatches(batch):
    """Of next tokens, with what was retrieved for their chunks."""
    parts = [torch.tensor([row[name] for row in batch]).split(2) for name in ("tokens", "neighbors")]
    return [SimpleNamespace(tokens=t, neighbors=n) for t, n in zip(*parts, strict=True)]


def prefix_microbatches(batch):
    """Of next tokens behind a prefix, of which nothing is learned."""
    tokens = torch.tensor([row["tokens"] for row in batch]).split(2)
    prefixes = torch.tensor([row["learned"].index(1) for row in batch]).split(2)
    count = sum(sum(row["learned"]) for row in batch) / len(tokens)
    return [
        SimpleNamespace(tokens=rows, prefixes=lengths, count=count)
        for rows, lengths in zip(tokens, prefixes, strict=True)
    ]


def masked_microbatches(batch):
    """Of masked samples, padded with zeros, which nobody sees."""
    def padded(name, rest):
        rows = [row[name] + [rest] * (training.SEQUENCE - len(row[name])) for row in batch]
        return torch.tensor(rows).split(2)

    columns = {
        "tokens": padded("tokens", 0),
        "labels": padded("labels", -1),
        "types": padded("token_types", 0),
        "lengths": torch.tensor([len(row["tokens"]) for row in batch]).split(2),
        "swapped": torch.tensor([int(row.get("swapped", False)) for row in batch]).split(2),
    }
    labels = sum(label >= 0 for row in batch for label in row["labels"])
    count = labels / len(columns["tokens"])
    return [
        SimpleNamespace(**dict(zip(columns, parts, strict=True)), count=count)
        for parts in zip(*columns.values(), strict=True)
    ]


def span_microbatches(batch):
    """Of corrupted spans, which are as long as each other."""
    columns = {"encoder": "encoder_tokens", "tokens": "tokens", "labels": "labels"}
    parts = [torch.tensor([row[name] for row in batch]).split(2) for name in columns.values()]
    labels = sum(label >= 0 for row in batch for label in row["labels"])
    count = labels / len(parts[0])
    return [
        SimpleNamespace(**dict(zip(columns, part, strict=True)), count=count)
        for part in zip(*parts, strict=True)
    ]


def image_microbatches(batch):
    """Of samples with images: what is not learned is no label."""
    def labels(row):
        pairs = zip(row["tokens"][1:], row["learned"][1:], strict=True)
        return [token if learned else -1 for token, learned in pairs]

    columns = {
        "tokens": [row["tokens"][:-1] for row in batch],
        "labels": [labels(row) for row in batch],
        "image_rows": [row["image_rows"] for row in batch],
        "pixels": [row["pixels"] for row in batch],
    }
    dtypes = {"pixels": torch.float64}
    parts = [torch.tensor(rows, dtype=dtypes.get(name, torch.long)).split(2)
             for name, rows in columns.items()]  # fmt: skip
    count = sum(label >= 0 for row in columns["labels"] for label in row) / len(parts[0])
    return [
        SimpleNamespace(**dict(zip(columns, part, strict=True)), count=count)
        for part in zip(*parts, strict=True)
    ]


def backward(model, weights, batches):
    """Accumulates the gradient of the mean loss and of what routers add to it;
    returns that loss."""
    total = 0.0
    for tokens in batches:
        loss = model.loss(weights, tokens)
        ((loss + model.router_loss) / len(batches)).backward()
        total += loss.item() / len(batches)
    return total


def train(model, weights, samples):
    """The losses of every step, and the gradients of the first."""
    optimizer, losses, first = oracle.adamw(model.config, weights), [], None
    for step in range(training.STEPS):
        losses.append(backward(model, weights, microbatches(samples, step)))
        if first is None:
            first = {name: gradient_of(w) for name, w in weights.items()}
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        model.move_biases()
        optimizer.zero_grad()
    return losses, first


def gradient_of(weight):
    """Zeros of what nothing reads."""
    return torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()


def write_gradients(name, gradients):
    flat = {n: (g.shape, g.flatten().tolist()) for n, g in gradients.items()}
    safetensors.write(training.HERE / "golden" / f"{name}.safetensors", flat)


def sketches(gradients):
    """Of what golden/ holds in f32 alone."""
    return {n: training.sketch(n, g.flatten().tolist()) for n, g in gradients.items()}


def far_apart(runs, reference):
    """The greatest distance of any two of `runs`, each (losses, gradients)."""
    first, every, gradients = 0.0, 0.0, dict.fromkeys(reference[1], 0.0)
    for (a, da), (b, db) in itertools.combinations(runs, 2):
        gaps = [abs(x - y) / z for x, y, z in zip(a, b, reference[0], strict=True)]
        first, every = max(first, gaps[0]), max(every, *gaps)
        for name, far in gradients.items():
            gradients[name] = max(far, (da[name] - db[name]).norm().item())
    return {"loss": first, "losses": every, "gradients": gradients}


def bands_of(config, initial, samples, reference, fp8=""):
    runs = []
    for seed in range(RUNS):
        generator = torch.Generator().manual_seed(seed)

        def rounded(x, generator=generator):
            return Moved.apply(x, generator)

        model = oracle.Model(config, fp8=fp8, rounded=rounded)
        runs.append(train(model, tensors(initial, torch.float64), samples))
    bands = far_apart(runs, reference)
    print(f"  bf16 allows {bands['loss']:.1e} of the first loss, "
          f"{bands['losses']:.1e} of all")  # fmt: skip
    return bands


def make_fp8(name, recipe):
    """What make() does with operands of 8 bits, and what a test needs to repeat
    the first step."""
    with training.Run(name) as run:
        initial, samples = run.initial_weights(), run.samples()
        config = oracle.Config(textproto.read(run.adamw))
        spec = run.sgd.read_text()
    model = oracle.Model(config, fp8=recipe)
    reference = train(model, tensors(initial, torch.float64), samples)
    losses, gradients = reference
    print(f"{name}, {recipe}: loss {losses[0]:.6f} to {losses[-1]:.6f}")
    stem = training.fp8_stem(name, recipe)
    path = training.HERE / "golden" / f"{stem}.json"
    record = {
        "spec": spec,
        "samples": samples[: training.GLOBAL_BATCH],
        "losses": losses,
        "bands": bands_of(config, initial, samples, reference, recipe),
    }
    path.write_text(json.dumps(record) + "\n")
    write_gradients(stem, gradients)


def make(name):
    with training.Run(name) as run:
        initial, samples = run.initial_weights(), run.samples()
        config = oracle.Config(textproto.read(run.adamw))
    expected = oracle.parameter_shapes(config)
    assert {n: tuple(s) for n, (s, _) in initial.items()} == expected, (
        {n: tuple(s) for n, (s, _) in initial.items()},
        expected,
    )
    double, single = (
        train(oracle.Model(config), tensors(initial, dtype), samples)
        for dtype in (torch.float64, torch.float32)
    )
    losses, gradients = double
    single, _ = single
    distance = max(abs(a / b - 1) for a, b in zip(single, losses))
    print(f"{name}: loss {losses[0]:.6f} to {losses[-1]:.6f}; "
          f"PyTorch in fp32 stays within {distance:.1e}")  # fmt: skip
    record = {
        "weights": training.fingerprint(initial),
        "samples": hashlib.sha256(json.dumps(samples).encode()).hexdigest(),
        "losses": losses,
        "sketches": sketches(gradients),
        "bands": bands_of(config, initial, samples, double),
    }
    folder = training.HERE / "golden"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    write_gradients(name, gradients)


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    every = training.models() + [":".join(row) for row in training.FP8_MODELS]
    for model in sys.argv[1:] or every:
        name, *recipe = model.split(":")
        (make_fp8 if recipe else make)(name, *recipe)
