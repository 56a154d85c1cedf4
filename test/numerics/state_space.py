# Part of Hocket, under the Apache License v2.0.
"""State-space layers (Mamba-2) for oracle.py, as one matrix a head."""

import math
from types import SimpleNamespace

import torch.nn.functional as F


def sizes_of(config):
    """Of state-space layers, with what the specification leaves out."""
    s = config.state_space
    head_dim = s.get("head_dim", 64)
    heads = s.get("heads", 2 * config.hidden // head_dim)
    return SimpleNamespace(
        heads=heads,
        head_dim=head_dim,
        state=s.get("state_size", 128),
        groups=s.get("groups", 1),
        width=s.get("conv_width", 4),
        conv_bias=s.get("conv_bias", True),
        bias=s.get("bias", False),
        norm_groups=s.get("norm_groups", 1),
        least=s.get("step_least", 0.0),
        most=s.get("step_most", math.inf),
        inner=heads * head_dim,
    )


def add_shapes(config, add, shapes, name):
    s, hidden = sizes_of(config), config.hidden
    maps = s.groups * s.state
    widths = {"z": s.inner, "x": s.inner, "b": maps, "c": maps, "dt": s.heads}
    for part, width in widths.items():
        add(name + part, (width, hidden), s.bias)
    for part in ("x", "b", "c"):
        add(name + "conv_" + part, (widths[part], s.width), s.conv_bias)
    for part in ("decay", "step_bias", "skip"):
        shapes[name + part] = (s.heads,)
    add(name + "gated_norm", (s.inner,))
    add(name + "out", (hidden, s.inner), s.bias)


def mix(model, x, weights, name):
    """Mamba-2 in its quadratic form (arXiv 2405.21060, equation 13): the scan
    is a matrix that multiplies the inputs."""
    s = sizes_of(model.config)
    batch, sequence, _ = x.shape

    def convolved(part, parts):
        y = model.linear(x, weights, name + part).transpose(1, 2)
        weight = model.rounded(weights[f"{name}conv_{part}.weight"])
        bias = weights.get(f"{name}conv_{part}.bias")
        y = F.pad(y, (s.width - 1, 0))
        y = model.rounded(F.conv1d(y, weight[:, None], bias, groups=len(weight)))
        y = model.rounded(F.silu(y)).transpose(1, 2)
        return y.reshape(batch, sequence, parts, -1).transpose(1, 2)

    gate = model.linear(x, weights, name + "z")
    inputs = convolved("x", s.heads)
    repeat = s.heads // s.groups
    maps = (convolved(part, s.groups).repeat_interleave(repeat, 1) for part in "bc")
    into, out = maps
    step = model.linear(x, weights, name + "dt") + weights[name + "step_bias"]
    step = F.softplus(step).clamp(s.least, s.most).transpose(1, 2)
    total = (-weights[name + "decay"].exp()[:, None] * step).cumsum(-1)
    kept = total[..., :, None] - total[..., None, :]
    kept = kept.masked_fill(model.distance < 0, -math.inf).exp()
    scan = (out @ into.transpose(-1, -2)) * kept * step[..., None, :]
    y = scan @ inputs + weights[name + "skip"][:, None, None] * inputs
    y = model.rounded(y.transpose(1, 2).reshape(batch, sequence, -1))
    y = model.rounded(y * F.silu(gate)).unflatten(-1, (s.norm_groups, -1))
    y = F.rms_norm(y, y.shape[-1:], None, model.config.eps).flatten(-2)
    y = model.rounded(y * weights[name + "gated_norm.weight"])
    return model.linear(y, weights, name + "out")
