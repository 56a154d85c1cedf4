//===- StateSpace.h - State-space layers, plainly ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What Mamba-2 (arXiv 2405.21060) needs beside GEMMs: a convolution along the
/// sequence, channel by channel, and the recurrence, with their gradients, as
/// `xf.causal_conv` and `xf.state_scan` say. All sums are in double, and the
/// gradient of the recurrence keeps every state.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_STATESPACE_H
#define HOCKET_KERNELS_REFERENCE_STATESPACE_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

/// How far a convolution along the sequence reaches, how wide a head of a
/// state-space layer is, and how many numbers of state a channel of it has: at
/// most, of fast kernels.
inline constexpr int64_t kMostTaps = 8, kMostHeadDim = 256, kMostState = 256;

/// y[b, s, c] = bias[c] + sum_k w[c, k] x[b, s - (taps - 1) + k, c]
struct CausalConvArguments {
  int64_t batch, sequence, channels, taps;
  ConstView x, w, bias; ///< A bias may be absent.
  View y;
};

struct CausalConvGradientArguments {
  int64_t batch, sequence, channels, taps;
  ConstView dy, x, w;
  View dx;
  View dw, dbias; ///< f32
};

/// x [batch, sequence, heads, width], steps [batch, sequence, heads], maps
/// [batch, sequence, groups, state]; groups divide heads. A step, with its bias
/// and after softplus, is cut to [least, most].
struct ScanShape {
  int64_t batch, sequence, heads, width, groups, state;
  float least, most;
};

struct StateScanArguments {
  ScanShape shape;
  ConstView x, step, inMap, outMap;
  ConstView decay, stepBias, skip; ///< f32[heads]
  View y;
};

struct StateScanGradientArguments {
  ScanShape shape;
  ConstView dy, x, step, inMap, outMap;
  ConstView decay, stepBias, skip; ///< f32[heads]
  View dx, dstep, dinMap, doutMap;
  View ddecay, dstepBias, dskip; ///< f32[heads]
  float *workspace = nullptr;    ///< scanWorkspace(shape) numbers
};

/// Numbers of f32 that kernels of the recurrence's gradient need: of each head
/// its part of the gradients of both maps, three numbers a token, and three of
/// each sequence.
constexpr int64_t scanWorkspace(const ScanShape &shape) {
  int64_t sequences = shape.batch * shape.heads;
  return sequences * (shape.sequence * (2 * shape.state + 3) + 3);
}

namespace reference {
[[nodiscard]] KernelError causalConv(const CausalConvArguments &args);
[[nodiscard]] KernelError
causalConvGradient(const CausalConvGradientArguments &args);
[[nodiscard]] KernelError stateScan(const StateScanArguments &args);
[[nodiscard]] KernelError
stateScanGradient(const StateScanGradientArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_STATESPACE_H
