# Part of Hocket, under the Apache License v2.0.
"""What an encoder of the oracle learns: masked tokens (Devlin et al., 2019) and
the order of two texts, or classes of texts. `model` is an oracle.Model."""

import torch.nn.functional as F


def loss(model, weights, batch):
    """Of `batch.tokens`, those whose label is not -1, over `batch.count`; and,
    with a head for that, whether the texts are swapped. Or, with classes, of the
    first tokens alone."""
    model.lengths = batch.lengths
    x = model.hidden_states(weights, batch.tokens, batch.types)
    if model.config.choices:  # One number a sequence, one label a question.
        told = told_by_first(model, x, weights, "class_head")
        labels = batch.labels[:: model.config.choices, 0]
        return summed(told.reshape(-1, model.config.choices), labels) / batch.count
    if model.config.classes:
        told = told_by_first(model, x, weights, "class_head")
        return summed(told, batch.labels[:, 0]) / batch.count
    total = summed(model.logits(x, weights), batch.labels.flatten()) / batch.count
    if model.config.sentence_head:
        swapped = told_by_first(model, x, weights, "sentence_head")
        total = total + F.cross_entropy(swapped, batch.swapped)
    return total


def summed(logits, labels):
    return F.cross_entropy(logits, labels, ignore_index=-1, reduction="sum")


def told_by_first(model, x, weights, head):
    """What the head of a sequence says of its first token."""
    pooled = model.rounded(model.linear(x[:, 0], weights, "pooler").tanh())
    return model.linear(pooled, weights, head)
