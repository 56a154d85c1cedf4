//===- CachedAttentionTest.cpp - Attention over kept keys -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A cache that is filled chunk by chunk, beside other sequences, gives each
/// token what the reference gives and, bit for bit, what attention over the
/// whole sequence gives.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CachedAttention.h"
#include "kernels/cpu/Attention.h"
#include "test/kernels/AttentionTensors.h"

#include <gtest/gtest.h>

namespace hocket::kernels::test {
namespace {

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

Array gather(const Chunk &chunk, const Array &from, int64_t sequence,
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

CachedAttentionArguments argumentsOf(Cache &cache, const Chunk &chunk, Array &q,
                                     Array &k, Array &v, Array &o) {
  const AttentionShape &s = cache.s;
  CachedAttentionArguments args;
  args.tokens = int64_t(chunk.rows.size());
  args.heads = s.heads, args.kvHeads = s.kvHeads, args.headDim = s.headDim;
  args.window = s.window, args.scale = s.scale;
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
std::vector<Chunk> chunksOf(const AttentionShape &s,
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
    EXPECT_EQ(run(argumentsOf(cache, chunk, q, k, v, o)), nullptr);
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

void check(const AttentionShape &s, DType dtype) {
  SCOPED_TRACE(std::to_string(s.keys) + "x" + std::to_string(s.heads) + "/" +
               std::to_string(s.kvHeads) + "x" + std::to_string(s.headDim) +
               " window " + std::to_string(s.window) + " " + nameOf(dtype));
  Tensors wide(s, Tensors(s, dtype));
  ASSERT_EQ(reference::attentionForward(wide.forward(s)), nullptr);
  Array slow = fill(s, DType::F64, wide, {5, 1}, [](const auto &args) {
    return reference::cachedAttention(args);
  });
  expectClose(slow, wide.o, 1e-12, "the reference");
  for (Isa isa : machineIsas())
    for (int count : {1, 3}) {
      TestWorkers workers(count, isa);
      Tensors whole(s, dtype);
      ASSERT_EQ(attentionForward(whole.forward(s), workers), nullptr);
      for (const std::vector<int64_t> &sizes :
           {std::vector<int64_t>{1}, {7, 1, 64}, {130, 3}, {s.keys}}) {
        Array got = fill(s, dtype, whole, sizes, [&](const auto &args) {
          return cachedAttention(args, workers);
        });
        EXPECT_TRUE(got.sameBits(whole.o))
            << nameOf(isa) << ", chunks of " << sizes.front();
      }
    }
}

TEST(CachedAttention, IsThatOfWholeSequences) {
  for (int64_t sequence : {1, 63, 64, 65, 200})
    check(shapeOf(2, sequence, 2, 1, 16), DType::F32);
  for (int64_t d : {1, 24, 40, 64, 136})
    check(shapeOf(2, 70, 2, 2, d), DType::F32);
}

TEST(CachedAttention, GroupsWindowsAndTypes) {
  check(shapeOf(3, 90, 6, 2, 16), DType::F32);
  for (int64_t window : {1, 30, 64, 100})
    check(shapeOf(2, 150, 2, 1, 16, true, window), DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    check(shapeOf(2, 140, 4, 2, 32), dtype);
}

TEST(CachedAttention, ChecksWhatTheHostSays) {
  AttentionShape s = shapeOf(2, 70, 2, 1, 8);
  TestWorkers workers(1);
  Cache cache(s, DType::F32);
  auto fault = [&](const Chunk &chunk) -> std::string {
    auto tokens = int64_t(chunk.rows.size());
    Array q(DType::F32, tokens * 16), k(DType::F32, tokens * 8);
    Array v(DType::F32, tokens * 8), o(DType::F32, tokens * 16);
    CachedAttentionArguments args = argumentsOf(cache, chunk, q, k, v, o);
    KernelError error = cachedAttention(args, workers);
    KernelError other = reference::cachedAttention(args);
    EXPECT_EQ(error == nullptr, other == nullptr);
    return error ? error : "";
  };
  EXPECT_EQ(fault({{0, 1, -1}, {0, 127, -5}}), "");
  EXPECT_EQ(fault({{2}, {0}}), "cached_attention: a token's row is not in the "
                               "table");
  EXPECT_EQ(fault({{-2}, {0}}), "cached_attention: a token's row is not in the "
                                "table");
  for (int position : {-1, 128})
    EXPECT_EQ(fault({{0}, {position}}),
              "cached_attention: a token's position is not in its row");
  for (int page : {-1, int(cache.pages)}) {
    cache.table[0] = page;
    EXPECT_EQ(fault({{0}, {100}}),
              "cached_attention: a page is not in the cache");
    EXPECT_EQ(fault({{1}, {100}}), "");
  }
}

} // namespace
} // namespace hocket::kernels::test
