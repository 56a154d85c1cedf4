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
#include "test/kernels/CachedSequences.h"

namespace hocket::kernels::test {
namespace {

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

TEST(CachedAttention, SoftcapsBendScores) {
  check(capped(shapeOf(2, 150, 2, 1, 16, true, 100), 2), DType::F32);
  check(capped(shapeOf(2, 70, 4, 2, 32), 50), DType::BF16);
}

TEST(CachedAttention, SlopesLowerScoresByTheirDistances) {
  check(sloped(shapeOf(2, 150, 6, 2, 16, true, 100)), DType::F32);
  AttentionShape shard = sloped(shapeOf(2, 70, 4, 2, 32));
  shard.place.firstHead = 4, shard.place.heads = 12;
  check(shard, DType::BF16);
}

TEST(CachedAttention, ScoresGetANumberByDistance) {
  check(biased(shapeOf(2, 150, 6, 2, 16), 40), DType::F32);
  check(biased(shapeOf(2, 70, 4, 2, 32), 128), DType::BF16);
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
  cache.s.place.firstHead = 1;
  EXPECT_EQ(fault({{0}, {0}}), "cached_attention: a shard of heads starts "
                               "outside of the whole");
  cache.s.place.firstHead = 0;
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
