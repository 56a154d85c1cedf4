//===- CachedSequences.h - Sequences that a cache keeps ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sequences that calls of cached attention take in chunk by chunk, and what
/// all of them give together, for tests on CPUs and GPUs.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_CACHEDSEQUENCES_H
#define HOCKET_TEST_KERNELS_CACHEDSEQUENCES_H

#include "kernels/reference/CachedAttention.h"
#include "test/kernels/AttentionTensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hocket::kernels::test {

/// Sequences of one length, and a cache whose pages are in no order.
struct Cache {
  AttentionShape s;
  DType dtype;
  int64_t tablePages, pages;
  Array keys, values;
  std::vector<int32_t> table;

  Cache(const AttentionShape &s, DType dtype)
      : s(s), dtype(dtype), tablePages((s.keys + kCachePage - 1) / kCachePage),
        pages(s.batch * tablePages + 2), keys(dtype, entries()),
        values(dtype, entries()) {
    for (int64_t i = 0; i < s.batch * tablePages; ++i)
      table.push_back(int32_t((i * 7 + 3) % pages));
    // 7 and the number of pages have no common factor, so each is another.
    EXPECT_NE(pages % 7, 0);
  }
  int64_t entries() const { return pages * kCachePage * s.kvHeads * s.headDim; }
};

/// Tokens of one call, row by row of `sequences` as the chunk has them.
struct Chunk {
  std::vector<int32_t> rows, positions;
};

inline Array gather(const Chunk &chunk, const Array &from, int64_t sequence,
                    int64_t width) {
  Array result(from.dtype(), int64_t(chunk.rows.size()) * width);
  for (size_t t = 0; t < chunk.rows.size(); ++t)
    for (int64_t c = 0; c < width; ++c)
      if (chunk.rows[t] >= 0)
        store(
            result.view(), int64_t(t) * width + c,
            from[(chunk.rows[t] * sequence + chunk.positions[t]) * width + c]);
  return result;
}

inline CachedAttentionArguments argumentsOf(Cache &cache, const Chunk &chunk,
                                            Array &q, Array &k, Array &v,
                                            Array &o) {
  const AttentionShape &s = cache.s;
  CachedAttentionArguments args;
  args.tokens = int64_t(chunk.rows.size());
  args.heads = s.heads, args.kvHeads = s.kvHeads, args.headDim = s.headDim;
  args.window = s.window, args.scale = s.scale, args.softcap = s.softcap;
  args.alibi = s.alibi, args.firstHead = s.place.firstHead;
  args.wholeHeads = s.place.heads;
  args.rows = s.batch, args.tablePages = cache.tablePages;
  args.pages = cache.pages;
  args.q = q.view(), args.k = k.view(), args.v = v.view(), args.o = o.view();
  args.positions = chunk.positions.data(), args.tokenRows = chunk.rows.data();
  args.table = cache.table.data();
  args.keys = cache.keys.view(), args.values = cache.values.view();
  return args;
}

/// Chunks of the given sizes over and over, of one sequence after another in
/// turn, padding between them.
inline std::vector<Chunk> chunksOf(const AttentionShape &s,
                                   const std::vector<int64_t> &sizes) {
  std::vector<Chunk> chunks;
  std::vector<int64_t> next(size_t(s.batch), 0);
  for (size_t i = 0; *std::min_element(next.begin(), next.end()) < s.keys;
       ++i) {
    Chunk &chunk = chunks.emplace_back();
    for (int64_t row = s.batch - 1; row >= 0; --row) {
      int64_t count = std::min(sizes[(i + size_t(row)) % sizes.size()],
                               s.keys - next[size_t(row)]);
      for (int64_t j = 0; j < count; ++j) {
        chunk.rows.push_back(int32_t(row));
        chunk.positions.push_back(int32_t(next[size_t(row)]++));
      }
      chunk.rows.push_back(-1);
      chunk.positions.push_back(0);
    }
  }
  return chunks;
}

/// What all chunks give, one after another, as [batch, queries, heads, d].
template <typename Run>
Array fill(const AttentionShape &s, DType dtype, Tensors &t,
           const std::vector<int64_t> &sizes, Run run) {
  Cache cache(s, dtype);
  Array result(dtype, Tensors::queryCount(s));
  int64_t width = s.heads * s.headDim;
  for (const Chunk &chunk : chunksOf(s, sizes)) {
    Array q = gather(chunk, t.q, s.keys, width);
    Array k = gather(chunk, t.k, s.keys, s.kvHeads * s.headDim);
    Array v = gather(chunk, t.v, s.keys, s.kvHeads * s.headDim);
    Array o = randomArray(dtype, q.size(), 5); // overwritten, padding too
    CachedAttentionArguments args = argumentsOf(cache, chunk, q, k, v, o);
    if (s.reach > 0)
      args.bias = static_cast<const float *>(t.bias.view().data),
      args.reach = s.reach;
    EXPECT_EQ(run(args), nullptr);
    for (size_t at = 0; at < chunk.rows.size(); ++at)
      for (int64_t c = 0; c < width; ++c) {
        double value = o[int64_t(at) * width + c];
        if (chunk.rows[at] < 0)
          EXPECT_EQ(value, 0) << "padding";
        else
          store(result.view(),
                (chunk.rows[at] * s.keys + chunk.positions[at]) * width + c,
                value);
      }
  }
  return result;
}

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_CACHEDSEQUENCES_H
