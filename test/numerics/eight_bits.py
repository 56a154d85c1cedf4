# Part of Hocket, under the Apache License v2.0.
"""Linear layers of 8-bit operands for oracle.py."""

import torch
import torch.nn.functional as F


def quantized(x, kind):
    """x in 8 bits, as numbers again: scaled so that its largest magnitude is
    the largest that the kind has (current scaling, one scale a tensor)."""
    largest = torch.finfo(kind).max
    scale = x.abs().max() / largest
    scale = torch.where(scale < 2.0**-126, torch.ones_like(scale), scale)
    return (x / scale).clamp(-largest, largest).to(kind).to(x.dtype) * scale


class Fp8Linear(torch.autograd.Function):
    """A linear layer of 8-bit operands: e4m3, and e5m2 for gradients (Megatron's
    hybrid format); sums are in the precision of x."""

    @staticmethod
    def forward(ctx, x, weight):
        x = quantized(x, torch.float8_e4m3fn)
        weight = quantized(weight, torch.float8_e4m3fn)
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad = quantized(grad, torch.float8_e5m2)
        return grad @ weight, grad.flatten(0, -2).T @ x.flatten(0, -2)


def in_blocks(x, kind, blocks):
    """x in 8 bits, as numbers again, with a scale a block: the least power of
    two with which nothing is beyond the largest number of the kind. `blocks` are
    sizes of the last two dims; the last block of a dim has what is left."""
    height, width = blocks
    largest, (rows, columns) = torch.finfo(kind).max, x.shape[-2:]
    padded = F.pad(x, (0, -columns % width, 0, -rows % height))
    tiles = padded.unflatten(-1, (-1, width)).unflatten(-3, (-1, height))
    most = tiles.abs().amax((-3, -1), keepdim=True)
    fraction, exponent = torch.frexp(most / largest)
    exponent = torch.where(fraction == 0.5, exponent - 1, exponent).clamp(min=-126)
    scale = torch.ldexp(torch.ones_like(most), exponent)
    codes = (tiles / scale).to(kind).to(x.dtype)
    return (codes * scale).flatten(-4, -3).flatten(-2, -1)[..., :rows, :columns]


class BlockLinear(torch.autograd.Function):
    """The same with blocks of `side` along what each GEMM sums over; of tokens
    they lie in one sequence. `square`: of weights they have two sides."""

    @staticmethod
    def forward(ctx, x, weight, side, square):
        ctx.save_for_backward(x, weight)
        ctx.side, ctx.square = side, square
        e4m3 = torch.float8_e4m3fn
        weight = in_blocks(weight, e4m3, (side if square else 1, side))
        return in_blocks(x, e4m3, (1, side)) @ weight.T

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        side, e4m3, e5m2 = ctx.side, torch.float8_e4m3fn, torch.float8_e5m2
        weight = in_blocks(weight, e4m3, (side, side if ctx.square else 1))
        by_token = in_blocks(grad, e5m2, (side, 1)).flatten(0, -2)
        return (
            in_blocks(grad, e5m2, (1, side)) @ weight,
            by_token.T @ in_blocks(x, e4m3, (side, 1)).flatten(0, -2),
            None,
            None,
        )


def linear(x, weight, recipe):
    """x times the weight, with a scale a tensor or a block as the recipe says."""
    if recipe == "TENSORWISE":
        return Fp8Linear.apply(x, weight)
    square = recipe == "BLOCKWISE"
    return BlockLinear.apply(x, weight, 128 if square else 32, square)
