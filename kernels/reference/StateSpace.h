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

/// Which text each of several tokens belongs to. Token t is at positions[t] of
/// the text in row tokenRows[t] of a cache; -1 is padding. Tokens of a row
/// stand in the order of their positions, each one behind the last. Where a
/// cache stands, the host knows: a text begins at position 0 with a state of
/// zeros, and else goes on from the position behind the last one that was kept.
struct StatePlaces {
  int64_t rows;                         ///< of the cache
  const int32_t *positions, *tokenRows; ///< [tokens]
};

/// Null, or what is wrong with what the host says of `tokens` tokens.
[[nodiscard]] KernelError checkStatePlaces(const StatePlaces &places,
                                           int64_t tokens);

/// The convolution of tokens that are alone in their row. The input of the
/// position p of a text is kept in entry p % (taps - 1) of its row, so that the
/// cache has those of the last taps - 1 positions.
struct CachedConvArguments {
  CausalConvArguments conv; ///< of `batch` sequences of one token; taps >= 2
  StatePlaces places;
  View cache; ///< [rows, taps - 1, channels]
};

/// The recurrence of tokens that are alone in their row.
struct CachedScanArguments {
  StateScanArguments scan; ///< of one sequence that has all the tokens
  StatePlaces places;
  View state; ///< f32[rows, heads, width, state]
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
[[nodiscard]] KernelError cachedConv(const CachedConvArguments &args);
[[nodiscard]] KernelError cachedScan(const CachedScanArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_STATESPACE_H
