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
///             (with softcap > 0: softcap * tanh(that / softcap);
///             with alibi: that - alibiSlope(h) * (i - j), Alibi.h;
///             with a bias: that + bias[clamp(j - i), h])
///   p[i, j] = exp(s[i, j] - lse[i]),  lse[i] = log sum_j exp(s[i, j])
///   o[i]    = sum_j mask[i, j] * p[i, j] * v[j]
/// Query i sees keys j <= i where `causal`, and only i - window < j where
/// window > 0. AttentionShape::positions says more: where documents share a
/// sequence a query sees no key before its own, and where padding ends it none
/// of that. A query that sees no key gives o = 0 and lse = -infinity.
/// mask is 1 without dropout; else 0 or 1 / (1 - p), by Philox (Philox.h) at
/// element elementBase + ((b * heads + h) * S + i) * S + j.
///
/// Queries and keys may be shards of longer sequences, and of more heads and
/// sequences, which other devices compute: i, j, b and h above count in the
/// whole (AttentionPlace). Of such a shard o and lse are those of its keys
/// alone (Liu et al., "Ring Attention", arXiv 2310.01889, puts them together).
///
/// The gradient recomputes p from lse (Dao et al., "FlashAttention", 2022):
///   delta[i] = do[i] . o[i]
///   ds[i, j] = p[i, j] * (mask[i, j] * do[i] . v[j] - delta[i])
///              (with softcap > 0: times 1 - (s[i, j] / softcap)^2)
///   dq[i] = scale * sum_j ds[i, j] k[j],  dk[j] = scale * sum_i ds[i, j] q[i],
///   dv[j] = sum_i mask[i, j] * p[i, j] * do[i]
/// with dk and dv summed over the query heads of a group, and
///   dbias[d, h] = sum of ds[i, j] where clamp(j - i) is d, over all sequences
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ATTENTION_H
#define HOCKET_KERNELS_REFERENCE_ATTENTION_H

#include "kernels/reference/Alibi.h"
#include "kernels/reference/Element.h"
#include "kernels/reference/Philox.h"
#include "kernels/reference/Positions.h"

namespace hocket::kernels {

/// Where the rows, heads and sequences of a call are in the whole.
///
/// Row r of a shard that starts at `first` has the position of what is stored
/// at first + r (Positions.h); with parts, `first` is a multiple of `part`.
struct AttentionPlace {
  int64_t firstQuery = 0, firstKey = 0;
  int64_t part = 0;
  int64_t sequence = 0; ///< whole; 0: `keys`
  int64_t heads = 0;    ///< whole; 0: those of the call
  int64_t firstSequence = 0, firstHead = 0;
  int64_t rounds = 1; ///< that parts are dealt out in
};

/// Sizes, mask and dropout, the same forward and backward.
struct AttentionShape {
  int64_t batch = 0;
  int64_t queries = 0, keys = 0;  ///< of a sequence
  int64_t heads = 0, kvHeads = 0; ///< kvHeads divides heads
  int64_t headDim = 0;            ///< cpu: at most 512
  bool causal = true;
  int64_t window = 0; ///< 0: none
  float scale = 1;
  float softcap = 0;  ///< 0: none
  bool alibi = false; ///< not with a softcap
  float dropout = 0;  ///< p, 0 <= p < 1
  RandomStream random;
  int64_t elementBase = 0;
  AttentionPlace place;
  /// [batch, queries], not negative. Where `causal`: how far each query is
  /// behind the first position of its document; later queries begin no earlier.
  /// Else: how many keys of the sequence it sees, the first ones; later queries
  /// see no fewer. Null: nothing but the sequence bounds what a query sees.
  const int32_t *positions = nullptr;
  /// [2 reach + 1, heads]: what the scores of each head are more by where the
  /// key is so far behind the query, from -reach to reach and no farther. Not
  /// with a softcap or alibi. Null: none.
  const float *bias = nullptr;
  int64_t reach = 0;
};

struct AttentionForwardArguments {
  AttentionShape shape;
  ConstView q;    ///< [batch, queries, heads, headDim]
  ConstView k, v; ///< [batch, keys, kvHeads, headDim]
  View o;         ///< as q
  View lse;       ///< [batch, heads, queries]; cpu: f32
  /// Not null: k and v are [pages, kCachePage, kvHeads, headDim], the keys
  /// from i * kCachePage on stand in page pages[i], batch is 1, and lse is not
  /// written (CachedAttention.h); cpu alone.
  const int32_t *pages = nullptr;
};

struct AttentionBackwardArguments {
  AttentionShape shape;
  ConstView q, k, v, o, lse, dO; ///< as above; dO as o
  View dq, dk, dv;               ///< as q, k, v
  View delta; ///< [batch, heads, queries] workspace; cpu: f32
  /// With a bias: its gradient, and a workspace of as many for each sequence
  /// and each of attentionBiasParts() of its queries, [.., heads, 2 reach + 1].
  float *dBias = nullptr, *biasParts = nullptr;
};

/// Into how many parts the queries of a sequence are cut at most, of each of
/// which the gradient of a bias is found by itself, so that sums have one order
/// however the work is dealt out.
inline constexpr int64_t attentionBiasParts(int64_t queries, int64_t part,
                                            int64_t headDim) {
  int64_t rows = headDim <= 64 ? 64 : headDim <= 128 ? 32 : 16;
  int64_t each = part > 0 ? part : queries > 0 ? queries : 1;
  return (queries + each - 1) / each * ((each + rows - 1) / rows);
}

[[gnu::always_inline]] inline int64_t wholeSequence(const AttentionShape &s) {
  return s.place.sequence > 0 ? s.place.sequence : s.keys;
}

/// The position of row `row` of a shard that starts at `first`.
[[gnu::always_inline]] inline int64_t positionOf(const AttentionShape &s,
                                                 int64_t first, int64_t row) {
  return storedPosition(first + row, s.place.part, s.place.rounds,
                        wholeSequence(s));
}

/// The first position that query `row` of sequence `b`, at position `i`, sees.
[[gnu::always_inline]] inline int64_t
firstKey(const AttentionShape &s, int64_t b, int64_t row, int64_t i) {
  int64_t first = 0;
  if (s.window > 0 && i - s.window + 1 > 0)
    first = i - s.window + 1;
  if (s.positions && s.causal && i - s.positions[b * s.queries + row] > first)
    first = i - s.positions[b * s.queries + row];
  return first;
}
/// One past the last that the same query sees.
[[gnu::always_inline]] inline int64_t
lastKey(const AttentionShape &s, int64_t b, int64_t row, int64_t i) {
  if (s.causal)
    return i + 1;
  return s.positions ? s.positions[b * s.queries + row] : wholeSequence(s);
}

/// The score of a query and a key whose product with the scale is `x`.
inline double cappedScore(double softcap, double x) {
  return softcap > 0 ? softcap * std::tanh(x / softcap) : x;
}

/// Where in a column of the bias a key is that is `behind` the query.
[[gnu::always_inline]] inline int64_t biasRow(const AttentionShape &s,
                                              int64_t behind) {
  if (behind < -s.reach)
    return 0;
  return (behind > s.reach ? s.reach : behind) + s.reach;
}

/// The slope of head `h` of a call.
inline double slopeOf(const AttentionShape &s, int64_t h) {
  int64_t heads = s.place.heads > 0 ? s.place.heads : s.heads;
  return alibiSlope(s.place.firstHead + h, heads);
}

/// The random number of a query and a key, by their positions.
[[gnu::always_inline]] inline int64_t randomElement(const AttentionShape &s,
                                                    int64_t b, int64_t h,
                                                    int64_t i, int64_t j) {
  const AttentionPlace &at = s.place;
  // Unsigned: numbers wrap rather than overflow.
  uint64_t heads = at.heads > 0 ? at.heads : s.heads;
  uint64_t sequence = wholeSequence(s);
  uint64_t row = uint64_t(at.firstSequence + b) * heads + at.firstHead + h;
  return int64_t(s.elementBase + (row * sequence + i) * sequence + j);
}

namespace reference {
[[nodiscard]] KernelError
attentionForward(const AttentionForwardArguments &args);
[[nodiscard]] KernelError
attentionBackward(const AttentionBackwardArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ATTENTION_H
