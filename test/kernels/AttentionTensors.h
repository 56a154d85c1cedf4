//===- AttentionTensors.h - Attention's inputs and results ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_ATTENTIONTENSORS_H
#define HOCKET_TEST_KERNELS_ATTENTIONTENSORS_H

#include "kernels/reference/Attention.h"
#include "test/kernels/TestWorkers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hocket::kernels::test {

/// Inputs and results of one call, forward and backward.
struct Tensors {
  Array q, k, v, o, lse, dO, dq, dk, dv, delta;
  Array bias, dBias, biasParts; ///< Of no element where there is no bias.

  Tensors(const AttentionShape &s, DType dtype)
      : q(randomArray(dtype, queryCount(s), 1, 2)),
        k(randomArray(dtype, keyCount(s), 2, 2)),
        v(randomArray(dtype, keyCount(s), 3)), o(dtype, queryCount(s)),
        lse(statisticType(dtype), rowCount(s)),
        dO(randomArray(dtype, queryCount(s), 4)), dq(dtype, queryCount(s)),
        dk(dtype, keyCount(s)), dv(dtype, keyCount(s)),
        delta(statisticType(dtype), rowCount(s)),
        bias(randomArray(DType::F32, biasCount(s), 5, 2)),
        dBias(DType::F32, biasCount(s)),
        biasParts(DType::F32,
                  biasCount(s) * s.batch *
                      attentionBiasParts(s.queries, s.place.part, s.headDim)) {}

  /// The inputs of `other`, in double.
  Tensors(const AttentionShape &s, const Tensors &other)
      : Tensors(s, DType::F64) {
    q = other.q.wide(), k = other.k.wide(), v = other.v.wide();
    dO = other.dO.wide();
  }

  static int64_t rowCount(const AttentionShape &s) {
    return s.batch * s.heads * s.queries;
  }
  static int64_t queryCount(const AttentionShape &s) {
    return rowCount(s) * s.headDim;
  }
  static int64_t keyCount(const AttentionShape &s) {
    return s.batch * s.kvHeads * s.keys * s.headDim;
  }
  static int64_t biasCount(const AttentionShape &s) {
    return s.reach > 0 ? (2 * s.reach + 1) * s.heads : 0;
  }
  static DType statisticType(DType dtype) {
    return dtype == DType::F64 ? DType::F64 : DType::F32;
  }

  AttentionForwardArguments forward(const AttentionShape &s) {
    return {withBias(s), q.view(), k.view(), v.view(), o.view(), lse.view()};
  }
  AttentionBackwardArguments backward(const AttentionShape &s) {
    return {withBias(s),
            q.view(),
            k.view(),
            v.view(),
            o.view(),
            lse.view(),
            dO.view(),
            dq.view(),
            dk.view(),
            dv.view(),
            delta.view(),
            static_cast<float *>(dBias.view().data),
            static_cast<float *>(biasParts.view().data)};
  }

private:
  /// With the bias of these tensors, if it has one.
  AttentionShape withBias(AttentionShape s) {
    if (s.reach > 0)
      s.bias = static_cast<const float *>(bias.view().data);
    return s;
  }
};

inline AttentionShape shapeOf(int64_t b, int64_t sequence, int64_t n, int64_t g,
                              int64_t d, bool causal = true, int64_t window = 0,
                              float dropout = 0) {
  AttentionShape s;
  s.batch = b, s.queries = s.keys = sequence;
  s.heads = n, s.kvHeads = g, s.headDim = d;
  s.causal = causal, s.window = window, s.dropout = dropout;
  s.scale = 1 / std::sqrt(static_cast<float>(d));
  s.random = {0xfeedface12345678, 5, 9};
  s.elementBase = 3; // rows of scores begin in the midst of a Philox block
  return s;
}

/// The same with scores that stay within a softcap.
inline AttentionShape capped(AttentionShape s, float softcap) {
  s.softcap = softcap;
  return s;
}

/// The same with heads that have slopes.
inline AttentionShape sloped(AttentionShape s) {
  s.alibi = true;
  return s;
}

/// The same of `keys` keys that are of another sequence.
inline AttentionShape across(AttentionShape s, int64_t keys) {
  s.keys = keys, s.causal = false;
  s.place.sequence = std::max(s.queries, keys), s.place.heads = s.heads;
  return s;
}

/// The same with scores that get a number by their distance, up to `reach`.
inline AttentionShape biased(AttentionShape s, int64_t reach) {
  s.reach = reach;
  return s;
}

/// Where each document of sequence `b` begins: 0 first, lengths from 1 to
/// `longest`.
inline std::vector<int64_t> documentStarts(int64_t b, int64_t sequence,
                                           int64_t longest) {
  std::vector<int64_t> starts;
  auto seed = uint64_t(b) * 2654435761u + 12345;
  for (int64_t at = 0; at < sequence;) {
    starts.push_back(at);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    at += 1 + int64_t((seed >> 33) % uint64_t(longest));
  }
  return starts;
}

/// What AttentionShape::positions says of the queries of `s`, whose sequences
/// hold these documents.
inline std::vector<int32_t> documentPositions(const AttentionShape &s,
                                              int64_t longest) {
  std::vector<int32_t> positions;
  for (int64_t b = 0; b < s.batch; ++b) {
    std::vector<int64_t> starts = documentStarts(b, wholeSequence(s), longest);
    for (int64_t row = 0; row < s.queries; ++row) {
      int64_t at = positionOf(s, s.place.firstQuery, row);
      auto next = std::upper_bound(starts.begin(), starts.end(), at);
      positions.push_back(int32_t(at - *std::prev(next)));
    }
  }
  return positions;
}

/// The same without a causal mask: how many keys the queries of each sequence
/// see, of each sequence another number, `least` at least.
inline std::vector<int32_t> paddedKeys(const AttentionShape &s, int64_t least) {
  std::vector<int32_t> counts;
  for (int64_t b = 0; b < s.batch; ++b)
    counts.insert(counts.end(), size_t(s.queries),
                  int32_t(least + (wholeSequence(s) - least) * b /
                                      std::max<int64_t>(1, s.batch)));
  return counts;
}

inline void expectClose(const Array &got, const Array &expected, double bound,
                        const char *name) {
  EXPECT_LT(relativeError(got, expected), bound) << name;
}

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_ATTENTIONTENSORS_H
