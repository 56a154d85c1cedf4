# Part of Hocket, under the Apache License v2.0.
"""How attention knows positions, for the oracle: rotary ones, slopes, and buckets of
distances."""

import math

import torch


def inverse_frequencies(rope, head_dim):
    """Of each pair of the rotated part (arXiv 2104.09864), in fp64."""
    rotated = int(head_dim * rope.get("rotary_percent", 1.0))
    exponent = torch.arange(0, rotated, 2, dtype=torch.float64) / rotated
    theta = rope.get("theta", 10000)
    frequencies = theta**-exponent
    scaling = rope.get("scaling", {})
    if "linear" in scaling:
        return frequencies / scaling["linear"].get("factor", 1)
    if "yarn" in scaling:
        return yarn_frequencies(frequencies, scaling["yarn"], theta, rotated)
    if "llama3" not in scaling:
        return frequencies
    s = scaling["llama3"]
    factor, old = s.get("factor", 8), s.get("original_max_positions", 8192)
    low, high = s.get("low_freq_factor", 1), s.get("high_freq_factor", 4)
    wavelength = 2 * math.pi / frequencies
    smooth = ((old / wavelength - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * frequencies / factor + smooth * frequencies


def yarn_frequencies(frequencies, yarn, theta, dim):
    """arXiv 2309.00071, with the rounded bounds of its authors' code."""

    def pair(turns):
        length = yarn["original_max_positions"] / (turns * 2 * math.pi)
        return dim * math.log(length) / (2 * math.log(theta))

    low = max(math.floor(pair(yarn.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair(yarn.get("beta_slow", 1))), dim - 1)
    at = torch.arange(dim // 2, dtype=torch.float64)
    ramp = ((at - low) / ((high - low) or 0.001)).clamp(0, 1)
    return frequencies * (1 - ramp + ramp / yarn.get("factor", 1))


def rope_factor(rope):
    """What YaRN multiplies queries and keys by."""
    yarn = rope.get("scaling", {}).get("yarn")
    if yarn is None:
        return 1.0
    return yarn.get("attention_factor", 0.1 * math.log(yarn.get("factor", 1)) + 1)


def rotate(x, table):
    """Rotates the halves of the leading part of x [B, n, S, d]."""
    cos, sin = table
    half = cos.shape[-1]
    x1, x2, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin, rest), -1)


def alibi_slopes(heads):
    """Of each head, as the authors of arXiv 2108.12409 compute them."""
    power = 2 ** math.floor(math.log2(heads))
    first = 2.0 ** (-(2.0 ** -(math.log2(power) - 3)))
    slopes = [first ** (i + 1) for i in range(power)]
    if power < heads:
        slopes += alibi_slopes(2 * power)[0::2][: heads - power]
    return slopes


def relative_buckets(distance, both, buckets=32, most=128):
    """Of keys so far behind their queries, as T5 deals distances out to buckets
    (arXiv 1910.10683): half of a direction's have one distance, the others grow
    with its logarithm."""
    if both:
        buckets //= 2
    first = torch.where(distance > 0, buckets, 0) if both else 0
    far = distance.abs() if both else (-distance).clamp(min=0)
    exact = buckets // 2
    share = torch.log(far.clamp(min=1) / exact) / math.log(most / exact)
    more = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    return first + torch.where(far < exact, far, more)
