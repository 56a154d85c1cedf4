# Part of Hocket, under the Apache License v2.0.
"""A tower that sees images, and what a language model sees of it (LLaVA, arXiv
2304.08485), for the oracle: CLIP's layers as its paper has them."""

import torch
import torch.nn.functional as F


def sizes(vision):
    """(patches of an image, elements of a patch, layers that are computed)."""
    side = vision["image_size"] // vision["patch_size"]
    last = vision.get("feature_layer", -2)
    computed = vision["layers"] + 1 + last if last < 0 else last
    return side * side, 3 * vision["patch_size"] ** 2, computed


def add_shapes(config, add):
    vision = config.vision
    width, ffn = vision["hidden"], vision.get("ffn", 4 * vision["hidden"])
    patches, elements, _ = sizes(vision)
    add("vision.patch_embedding", (width, elements))
    add("vision.class_embedding", (width,))
    add("vision.position_embedding", (patches + 1, width))
    add("vision.pre_norm", (width,), True)
    for i in range(vision["layers"]):
        layer = f"vision.layers.{i}."
        add(layer + "attention_norm", (width,), True)
        for part in "qkvo":
            add(f"{layer}attention.{part}", (width, width), True)
        add(layer + "mlp_norm", (width,), True)
        add(layer + "mlp.up", (ffn, width), True)
        add(layer + "mlp.down", (width, ffn), True)
    add("vision.post_norm", (width,), True)
    bias = vision.get("projector_bias", True)
    add("projector.up", (config.hidden, width), bias)
    add("projector.down", (config.hidden, config.hidden), bias)


def attend(model, weights, name, x, heads):
    def split(which):
        y = model.linear(x, weights, name + which)
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    q, k, v = split("q"), split("k"), split("v")
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    y = model.rounded((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    return model.linear(y, weights, name + "o")


def features(model, weights, pixels):
    """Of images [N, patches, elements]: [N, patches, hidden] of the language model,
    or with the class row before them."""
    vision = model.config.vision
    _, _, computed = sizes(vision)

    def norm(x, name):
        both = (weights[f"{name}.{part}"] for part in ("weight", "bias"))
        return model.rounded(F.layer_norm(x, x.shape[-1:], *both, vision.get("norm_eps", 1e-5)))

    def activate(x, field, usual):
        return model.rounded(model.activated(vision.get(field, usual), x))

    rounded = model.rounded(pixels.to(weights["vision.class_embedding.weight"].dtype))
    x = model.linear(rounded, weights, "vision.patch_embedding")
    first = model.rounded(weights["vision.class_embedding.weight"]).expand(len(x), 1, -1)
    x = torch.cat((first, x), 1)
    x = model.rounded(x + model.rounded(weights["vision.position_embedding.weight"]))
    x = norm(x, "vision.pre_norm")
    for i in range(computed):
        layer = f"vision.layers.{i}."
        y = norm(x, layer + "attention_norm")
        x = model.rounded(x + attend(model, weights, layer + "attention.", y, vision["heads"]))
        y = model.linear(norm(x, layer + "mlp_norm"), weights, layer + "mlp.up")
        y = model.linear(activate(y, "activation", "QUICK_GELU"), weights, layer + "mlp.down")
        x = model.rounded(x + y)
    if vision.get("select", "PATCHES") == "PATCHES":
        x = x[:, 1:]
    x = activate(model.linear(x, weights, "projector.up"), "projector_activation", "GELU")
    return model.linear(x, weights, "projector.down")


def loss(model, weights, batch):
    """Of the labels that are not -1, over `batch.count`."""
    patches, elements, _ = sizes(model.config.vision)
    rows = features(model, weights, batch.pixels.view(-1, patches, elements))
    rows = rows.view(len(batch.tokens), -1, rows.shape[-1])

    def place(x):
        at = batch.image_rows.clamp(min=0)[..., None].expand_as(x)
        return torch.where(batch.image_rows[..., None] < 0, x, rows.gather(1, at))

    logits = model.logits(model.hidden_states(weights, batch.tokens, place=place), weights)
    total = F.cross_entropy(logits, batch.labels.flatten(), ignore_index=-1, reduction="sum")
    return total / batch.count
