//===- Attention.h - Scaled dot-product attention ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention of `heads` query heads over `kvHeads` key/value heads (query head
/// h reads key/value head h / (heads / kvHeads)):
///   s[i, j] = scale * q[i] . k[j]     for the keys j that query i sees
///   p[i, j] = exp(s[i, j] - lse[i]),  lse[i] = log sum_j exp(s[i, j])
///   o[i]    = sum_j mask[i, j] * p[i, j] * v[j]
/// Query i sees keys j <= i where `causal`, and only i - window < j where
/// window > 0. A query that sees no key gives o = 0 and lse = -infinity.
/// mask is 1 without dropout; else 0 or 1 / (1 - p), by Philox (Philox.h) at
/// element elementBase + ((b * heads + h) * S + i) * S + j.
///
/// The gradient recomputes p from lse (Dao et al., "FlashAttention", 2022):
///   delta[i] = do[i] . o[i]
///   ds[i, j] = p[i, j] * (mask[i, j] * do[i] . v[j] - delta[i])
///   dq[i] = scale * sum_j ds[i, j] k[j],  dk[j] = scale * sum_i ds[i, j] q[i],
///   dv[j] = sum_i mask[i, j] * p[i, j] * do[i]
/// with dk and dv summed over the query heads of a group.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ATTENTION_H
#define HOCKET_KERNELS_REFERENCE_ATTENTION_H

#include "kernels/reference/Element.h"
#include "kernels/reference/Philox.h"

namespace hocket::kernels {

/// Sizes, mask and dropout, the same forward and backward.
struct AttentionShape {
  int64_t batch = 0, sequence = 0;
  int64_t heads = 0, kvHeads = 0; ///< kvHeads divides heads
  int64_t headDim = 0;            ///< cpu: at most 512
  bool causal = true;
  int64_t window = 0; ///< 0: none
  float scale = 1;
  float dropout = 0; ///< p, 0 <= p < 1
  RandomStream random;
  int64_t elementBase = 0;
};

struct AttentionForwardArguments {
  AttentionShape shape;
  ConstView q;    ///< [batch, sequence, heads, headDim]
  ConstView k, v; ///< [batch, sequence, kvHeads, headDim]
  View o;         ///< as q
  View lse;       ///< [batch, heads, sequence]; cpu: f32
};

struct AttentionBackwardArguments {
  AttentionShape shape;
  ConstView q, k, v, o, lse, dO; ///< as above; dO as o
  View dq, dk, dv;               ///< as q, k, v
  View delta; ///< [batch, heads, sequence] workspace; cpu: f32
};

/// The first key that query `i` sees, and one past the last.
[[gnu::always_inline]] inline int64_t firstKey(const AttentionShape &s,
                                               int64_t i) {
  return s.window > 0 && i - s.window + 1 > 0 ? i - s.window + 1 : 0;
}
[[gnu::always_inline]] inline int64_t lastKey(const AttentionShape &s,
                                              int64_t i) {
  return s.causal ? i + 1 : s.sequence;
}

namespace reference {
[[nodiscard]] KernelError
attentionForward(const AttentionForwardArguments &args);
[[nodiscard]] KernelError
attentionBackward(const AttentionBackwardArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ATTENTION_H
