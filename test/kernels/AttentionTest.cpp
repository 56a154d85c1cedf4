//===- AttentionTest.cpp - Attention against the reference ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/Library.h"
#include "test/kernels/AttentionTensors.h"

#include <gtest/gtest.h>
#include <utility>

namespace hocket::kernels::test {
namespace {

Tensors runOnCpu(const AttentionShape &s, DType dtype, Workers &workers) {
  Tensors t(s, dtype);
  EXPECT_EQ(attentionForward(t.forward(s), workers), nullptr);
  EXPECT_EQ(attentionBackward(t.backward(s), workers), nullptr);
  return t;
}

void check(const AttentionShape &s, DType dtype) {
  SCOPED_TRACE(std::to_string(s.batch) + "x" + std::to_string(s.queries) + "x" +
               std::to_string(s.heads) + "/" + std::to_string(s.kvHeads) + "x" +
               std::to_string(s.headDim) + (s.causal ? " causal" : "") +
               " window " + std::to_string(s.window) + " dropout " +
               std::to_string(s.dropout) + " softcap " +
               std::to_string(s.softcap) + " " + nameOf(dtype));
  Tensors wide(s, Tensors(s, dtype));
  ASSERT_EQ(reference::attentionForward(wide.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(wide.backward(s)), nullptr);
  // bf16: delta comes from the rounded output.
  double bound = tolerance(dtype),
         gradient = dtype == DType::F32 ? 5e-6 : 4 * bound;
  for (Isa isa : machineIsas()) {
    SCOPED_TRACE(std::string(nameOf(isa)));
    TestWorkers one(1, isa);
    Tensors got = runOnCpu(s, dtype, one);
    expectClose(got.o, wide.o, bound, "o");
    for (int64_t i = 0; i < got.lse.size(); ++i)
      ASSERT_NEAR(got.lse[i], wide.lse[i], 1e-5) << "lse " << i;
    expectClose(got.dq, wide.dq, gradient, "dq");
    expectClose(got.dk, wide.dk, gradient, "dk");
    expectClose(got.dv, wide.dv, gradient, "dv");
    if (s.reach > 0)
      expectClose(got.dBias, wide.dBias, gradient, "dbias");
    // Many workers, few heads: the split form of the gradient.
    for (int count : {2, 3, 9}) {
      TestWorkers several(count, isa);
      Tensors again = runOnCpu(s, dtype, several);
      EXPECT_TRUE(again.o.sameBits(got.o)) << count << " workers";
      EXPECT_TRUE(again.lse.sameBits(got.lse)) << count << " workers";
      EXPECT_TRUE(again.dq.sameBits(got.dq)) << count << " workers";
      EXPECT_TRUE(again.dk.sameBits(got.dk)) << count << " workers";
      EXPECT_TRUE(again.dv.sameBits(got.dv)) << count << " workers";
      EXPECT_TRUE(again.dBias.sameBits(got.dBias)) << count << " workers";
    }
  }
}

TEST(Attention, CausalOfManySizes) {
  for (int64_t sequence : {1, 2, 63, 64, 65, 130, 200})
    check(shapeOf(1, sequence, 2, 2, 16), DType::F32);
  for (int64_t d : {1, 6, 8, 20, 24, 40, 47, 64, 80, 128, 136})
    check(shapeOf(1, 70, 2, 1, d), DType::F32);
}

TEST(Attention, SeveralChunksOfQueriesAndKeys) {
  check(shapeOf(1, 600, 1, 1, 8), DType::F32);
  check(shapeOf(1, 530, 2, 1, 16, false), DType::F32);
}

TEST(Attention, WidestHead) { check(shapeOf(1, 140, 1, 1, 512), DType::F32); }

TEST(Attention, GroupsOfHeadsAndBatches) {
  check(shapeOf(2, 75, 6, 2, 16), DType::F32);
  check(shapeOf(3, 33, 4, 1, 32), DType::F32);
}

TEST(Attention, WindowsAndNoMask) {
  for (int64_t window : {1, 5, 64, 100, 1000})
    for (bool causal : {true, false})
      check(shapeOf(1, 150, 2, 1, 16, causal, window), DType::F32);
  check(shapeOf(2, 90, 2, 2, 16, false), DType::F32);
}

TEST(Attention, DropoutHasTheMaskOfTheReference) {
  check(shapeOf(2, 70, 4, 2, 16, true, 0, 0.25f), DType::F32);
  check(shapeOf(1, 131, 2, 2, 24, false, 40, 0.5f), DType::F32);
}

TEST(Attention, HalfPrecision) {
  for (DType dtype : {DType::BF16, DType::F16}) {
    check(shapeOf(2, 100, 4, 2, 64), dtype);
    check(shapeOf(1, 77, 2, 1, 24, true, 30, 0.1f), dtype);
  }
}

/// As `check`, with documents of up to `longest` positions.
void checkDocuments(AttentionShape s, int64_t longest, DType dtype) {
  SCOPED_TRACE("documents of up to " + std::to_string(longest));
  std::vector<int32_t> positions = documentPositions(s, longest);
  s.positions = positions.data();
  check(s, dtype);
}

TEST(Attention, DocumentsThatShareASequence) {
  for (int64_t longest : {3, 10, 64, 100, 1000})
    checkDocuments(shapeOf(2, 200, 4, 2, 16), longest, DType::F32);
  checkDocuments(shapeOf(1, 600, 2, 1, 8), 300, DType::F32);
  checkDocuments(shapeOf(2, 150, 2, 1, 24, true, 30, 0.2f), 70, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    checkDocuments(shapeOf(2, 130, 2, 2, 64), 90, dtype);
}

/// From a bound that bends most scores to one that bends none much.
TEST(Attention, SoftcapsBendScores) {
  for (float softcap : {0.5f, 2.0f, 50.0f})
    check(capped(shapeOf(1, 150, 2, 1, 16), softcap), DType::F32);
  check(capped(shapeOf(2, 131, 4, 2, 24, true, 40, 0.3f), 2), DType::F32);
  check(capped(shapeOf(1, 600, 1, 1, 8, false), 2), DType::F32);
  checkDocuments(capped(shapeOf(2, 150, 2, 1, 16), 2), 70, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    check(capped(shapeOf(2, 100, 4, 2, 64), 2), dtype);
}

TEST(Attention, SlopesLowerScoresByTheirDistances) {
  for (int64_t heads : {1, 2, 6}) // 6: no power of two.
    check(sloped(shapeOf(1, 150, heads, heads, 16)), DType::F32);
  check(sloped(shapeOf(2, 131, 6, 2, 24, true, 40, 0.3f)), DType::F32);
  checkDocuments(sloped(shapeOf(2, 150, 2, 1, 16)), 70, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    check(sloped(shapeOf(2, 100, 4, 2, 64)), dtype);
}

/// Distances up to fewer than a tile has, to more, and to more than there are;
/// seen from one side and from both.
TEST(Attention, BiasesAddToScoresByTheirDistances) {
  for (int64_t reach : {1, 5, 64, 100, 300})
    for (bool causal : {true, false})
      check(biased(shapeOf(2, 150, 4, 2, 16, causal), reach), DType::F32);
  check(biased(shapeOf(2, 131, 6, 2, 24, true, 40, 0.3f), 20), DType::F32);
  check(biased(shapeOf(1, 600, 1, 1, 8, false), 128), DType::F32);
  check(biased(shapeOf(1, 300, 1, 1, 300), 8), DType::F32);
  checkDocuments(biased(shapeOf(2, 150, 2, 1, 16), 32), 70, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    check(biased(shapeOf(2, 100, 4, 2, 64, false), 32), dtype);
}

/// As the decoder's queries see what an encoder made, with and without padding.
TEST(Attention, KeysOfAnotherSequence) {
  for (auto [queries, keys] :
       {std::pair{1, 150}, {70, 150}, {150, 70}, {64, 1}})
    check(across(shapeOf(2, queries, 4, 2, 16), keys), DType::F32);
  check(across(shapeOf(1, 40, 2, 1, 24, false, 0, 0.3f), 600), DType::F32);
  check(across(shapeOf(1, 600, 1, 1, 8), 30), DType::F32);
  AttentionShape padded = across(shapeOf(3, 50, 2, 1, 16), 150);
  std::vector<int32_t> counts = paddedKeys(padded, 20);
  padded.positions = counts.data();
  check(padded, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    check(across(shapeOf(2, 60, 4, 2, 64), 100), dtype);
}

/// The second of two ranks, whose queries and keys are in two rounds of parts.
TEST(Attention, BiasesGoByPosition) {
  AttentionShape s = biased(shapeOf(2, 128, 4, 2, 16), 40);
  s.queries = 64;
  s.place = {64, 0, 16, 128, 6, 1, 2, 2};
  check(s, DType::F32);
  s.causal = false;
  check(s, DType::F32);
}

/// Of 12 heads the first 8 have those of 8, the others every second of 16.
TEST(Attention, SlopesAreThoseOfThePaper) {
  for (int64_t h = 0; h < 8; ++h)
    EXPECT_DOUBLE_EQ(alibiSlope(h, 8), std::pow(0.5, double(h + 1)));
  for (int64_t h = 0; h < 12; ++h)
    EXPECT_DOUBLE_EQ(alibiSlope(h, 12),
                     h < 8 ? alibiSlope(h, 8) : alibiSlope(2 * (h - 8), 16));
}

/// As `check`, where `least` keys of the first sequence are no padding, and
/// more of the others.
void checkPadding(AttentionShape s, int64_t least, DType dtype) {
  SCOPED_TRACE("padding behind " + std::to_string(least));
  std::vector<int32_t> counts = paddedKeys(s, least);
  s.positions = counts.data();
  check(s, dtype);
}

TEST(Attention, PaddingIsSeenByNoQuery) {
  for (int64_t least : {1, 3, 63, 64, 65, 128, 199, 200})
    checkPadding(shapeOf(2, 200, 4, 2, 16, false), least, DType::F32);
  checkPadding(shapeOf(1, 600, 2, 1, 8, false), 300, DType::F32);
  checkPadding(shapeOf(3, 150, 2, 1, 24, false, 0, 0.2f), 70, DType::F32);
  for (DType dtype : {DType::BF16, DType::F16})
    checkPadding(shapeOf(2, 130, 2, 2, 64, false), 90, dtype);
}

/// Sequences by themselves, as long as they are, against all of them padded.
TEST(Attention, PaddingChangesNothing) {
  AttentionShape s = shapeOf(2, 100, 2, 1, 8, false);
  std::vector<int32_t> counts = paddedKeys(s, 30);
  s.positions = counts.data();
  Tensors all(s, DType::F64);
  int64_t q = s.heads * s.headDim, k = s.kvHeads * s.headDim;
  for (int64_t b = 0; b < s.batch; ++b) // Nothing is asked of padding.
    for (int64_t i = counts[size_t(b * s.queries)]; i < s.queries; ++i)
      for (int64_t c = 0; c < q; ++c)
        all.dO.set((b * s.queries + i) * q + c, 0);
  ASSERT_EQ(reference::attentionForward(all.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(all.backward(s)), nullptr);
  for (int64_t b = 0; b < s.batch; ++b) {
    AttentionShape one =
        shapeOf(1, counts[size_t(b * s.queries)], 2, 1, 8, false);
    auto cut = [&](const Array &whole, int64_t width) {
      Array rows(DType::F64, one.keys * width);
      for (int64_t i = 0; i < rows.size(); ++i)
        rows.set(i, whole[b * s.keys * width + i]);
      return rows;
    };
    Tensors t(one, DType::F64);
    t.q = cut(all.q, q), t.dO = cut(all.dO, q);
    t.k = cut(all.k, k), t.v = cut(all.v, k);
    ASSERT_EQ(reference::attentionForward(t.forward(one)), nullptr);
    ASSERT_EQ(reference::attentionBackward(t.backward(one)), nullptr);
    expectClose(cut(all.o, q), t.o, 1e-12, "o");
    expectClose(cut(all.dq, q), t.dq, 1e-12, "dq");
    expectClose(cut(all.dk, k), t.dk, 1e-12, "dk");
    expectClose(cut(all.dv, k), t.dv, 1e-12, "dv");
  }
}

/// The rows of dim 1 of [B, S, n, d] that a shard holds.
Array rowsOf(const Array &whole, DType dtype, int64_t batch, int64_t width,
             const std::vector<int64_t> &rows) {
  int64_t sequence = whole.size() / (batch * width), at = 0;
  Array shard(dtype, batch * int64_t(rows.size()) * width);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t row : rows)
      for (int64_t c = 0; c < width; ++c)
        shard.set(at++, whole[(b * sequence + row) * width + c]);
  return shard;
}

/// Positions in the order of the shards of `ranks`, of each round a part from
/// its beginning and one from its end, or as they come (part = 0).
std::vector<int64_t> storedOrder(const AttentionShape &s, int64_t ranks) {
  std::vector<int64_t> order;
  int64_t part = s.place.part, round = s.keys / s.place.rounds;
  auto add = [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      order.push_back(first + i);
  };
  if (part == 0)
    add(0, s.keys);
  for (int64_t rank = 0; rank < ranks && part > 0; ++rank)
    for (int64_t first = 0; first < s.keys; first += round) {
      add(first + rank * part, part);
      add(first + round - (rank + 1) * part, part);
    }
  return order;
}

/// Device `rank` of `ranks` has its share of the queries and all keys, in the
/// order of ranks: results are rows of the whole's, and gradients by keys add
/// up to the whole's.
void checkShards(AttentionShape s, int64_t ranks, int64_t longest = 0) {
  std::vector<int32_t> positions, own;
  auto positionsFor = [&](const AttentionShape &of) {
    return s.causal ? documentPositions(of, longest) : paddedKeys(of, longest);
  };
  if (longest > 0) {
    positions = positionsFor(s);
    s.positions = positions.data();
  }
  Tensors whole(s, DType::F64);
  ASSERT_EQ(reference::attentionForward(whole.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(whole.backward(s)), nullptr);
  TestWorkers workers(2);
  AttentionShape shard = s;
  // Others have further heads, but those change slopes.
  shard.place.sequence = s.keys, shard.place.heads = s.heads + !s.alibi;
  int64_t half = s.keys / (2 * ranks); // of a shard
  for (auto [part, rounds] :
       {std::pair<int64_t, int64_t>{0, 1}, {half, 1}, {half / 2, 2}}) {
    s.place.part = shard.place.part = part;
    s.place.rounds = shard.place.rounds = rounds;
    std::vector<int64_t> order = storedOrder(s, ranks);
    shard.queries = s.keys / ranks;
    std::vector<double> dk(whole.dk.size()), dv(whole.dv.size());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " part " +
                   std::to_string(part) + " rounds " + std::to_string(rounds));
      shard.place.firstQuery = rank * shard.queries;
      std::vector<int64_t> rows(order.begin() + shard.place.firstQuery,
                                order.begin() + shard.place.firstQuery +
                                    shard.queries);
      if (longest > 0) {
        own = positionsFor(shard);
        shard.positions = own.data();
      }
      Tensors t(shard, DType::F32);
      int64_t q = s.heads * s.headDim, k = s.kvHeads * s.headDim;
      t.q = rowsOf(whole.q, DType::F32, s.batch, q, rows);
      t.dO = rowsOf(whole.dO, DType::F32, s.batch, q, rows);
      t.k = rowsOf(whole.k, DType::F32, s.batch, k, order);
      t.v = rowsOf(whole.v, DType::F32, s.batch, k, order);
      ASSERT_EQ(attentionForward(t.forward(shard), workers), nullptr);
      ASSERT_EQ(attentionBackward(t.backward(shard), workers), nullptr);
      expectClose(t.o, rowsOf(whole.o, DType::F64, s.batch, q, rows), 5e-6,
                  "o");
      expectClose(t.dq, rowsOf(whole.dq, DType::F64, s.batch, q, rows), 5e-6,
                  "dq");
      Tensors wide(shard, t);
      ASSERT_EQ(reference::attentionForward(wide.forward(shard)), nullptr);
      ASSERT_EQ(reference::attentionBackward(wide.backward(shard)), nullptr);
      expectClose(t.dk, wide.dk, 5e-6, "dk");
      for (int64_t b = 0, at = 0; b < s.batch; ++b)
        for (int64_t row : order)
          for (int64_t c = 0; c < k; ++c, ++at) {
            dk[(b * s.keys + row) * k + c] += t.dk[at];
            dv[(b * s.keys + row) * k + c] += t.dv[at];
          }
    }
    for (size_t i = 0; i < dk.size(); ++i) {
      ASSERT_NEAR(dk[i], whole.dk[int64_t(i)], 1e-5) << i;
      ASSERT_NEAR(dv[i], whole.dv[int64_t(i)], 1e-5) << i;
    }
  }
}

TEST(Attention, ShardsOfTheQueriesSeeWhatTheirPositionsSee) {
  checkShards(shapeOf(2, 24, 4, 2, 8), 2);
  checkShards(shapeOf(1, 600, 2, 1, 16), 3);
  checkShards(shapeOf(1, 264, 2, 2, 8, true, 70), 2);
  checkShards(capped(shapeOf(1, 264, 2, 1, 8, true, 70), 2), 2);
  checkShards(sloped(shapeOf(1, 264, 3, 1, 8, true, 70)), 2);
}

TEST(Attention, ShardsOfDocuments) {
  checkShards(shapeOf(2, 24, 4, 2, 8), 2, 9);
  checkShards(shapeOf(1, 600, 2, 1, 16), 3, 250);
}

TEST(Attention, ShardsOfPaddedSequences) {
  checkShards(shapeOf(2, 24, 4, 2, 8, false), 2, 9);
  checkShards(shapeOf(1, 600, 2, 1, 16, false), 3, 250);
}

/// Each document by itself, with the reference, against all at once.
TEST(Attention, DocumentsSeeThemselvesAlone) {
  AttentionShape s = shapeOf(2, 150, 4, 2, 8);
  constexpr int64_t longest = 60;
  std::vector<int32_t> positions = documentPositions(s, longest);
  s.positions = positions.data();
  Tensors all(s, DType::F64);
  ASSERT_EQ(reference::attentionForward(all.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(all.backward(s)), nullptr);
  int64_t q = s.heads * s.headDim, k = s.kvHeads * s.headDim;
  std::vector<int64_t> starts = documentStarts(1, s.keys, longest);
  starts.push_back(s.keys);
  ASSERT_GT(starts.size(), 3u);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    AttentionShape one = shapeOf(1, starts[i + 1] - starts[i], 4, 2, 8);
    auto cut = [&](const Array &whole, int64_t width) {
      std::vector<int64_t> rows; // of the second sequence
      for (int64_t row = starts[i]; row < starts[i + 1]; ++row)
        rows.push_back(s.keys + row);
      return rowsOf(whole, DType::F64, 1, width, rows);
    };
    Tensors t(one, DType::F64);
    t.q = cut(all.q, q), t.dO = cut(all.dO, q);
    t.k = cut(all.k, k), t.v = cut(all.v, k);
    ASSERT_EQ(reference::attentionForward(t.forward(one)), nullptr);
    ASSERT_EQ(reference::attentionBackward(t.backward(one)), nullptr);
    expectClose(cut(all.o, q), t.o, 1e-12, "o");
    expectClose(cut(all.dq, q), t.dq, 1e-12, "dq");
    expectClose(cut(all.dk, k), t.dk, 1e-12, "dk");
    expectClose(cut(all.dv, k), t.dv, 1e-12, "dv");
  }
}

/// All queries, and the keys from `first` on that fill `s.keys`.
Tensors partOfKeys(const AttentionShape &s, const Tensors &whole, int64_t first,
                   int64_t keys) {
  Tensors part(s, DType::F32);
  std::vector<int64_t> rows(static_cast<size_t>(s.keys));
  for (int64_t i = 0; i < s.keys; ++i)
    rows[static_cast<size_t>(i)] = first + i;
  int64_t width = s.kvHeads * s.headDim;
  part.q = rowsOf(whole.q, DType::F32, 1, whole.q.size(), {0});
  part.dO = rowsOf(whole.dO, DType::F32, 1, whole.dO.size(), {0});
  part.k = rowsOf(whole.k, DType::F32, s.batch, width, rows);
  part.v = rowsOf(whole.v, DType::F32, s.batch, width, rows);
  EXPECT_EQ(whole.k.size(), s.batch * keys * width);
  return part;
}

/// The keys come in two halves; early queries, and with a window late ones, see
/// none of one half.
TEST(Attention, PartsOfTheKeysAddUpToAll) {
  TestWorkers workers(2);
  for (int64_t window : {0, 9}) {
    AttentionShape s =
        capped(shapeOf(2, 48, 4, 2, 8, true, window), window > 0 ? 2 : 0);
    s.alibi = window == 0;
    AttentionShape half = s;
    half.keys = 24, half.place.sequence = 48;
    Tensors whole(s, DType::F64);
    ASSERT_EQ(reference::attentionForward(whole.forward(s)), nullptr);
    ASSERT_EQ(reference::attentionBackward(whole.backward(s)), nullptr);
    std::vector<Tensors> parts;
    for (int64_t first : {0, 24}) {
      half.place.firstKey = first;
      parts.push_back(partOfKeys(half, whole, first, s.keys));
      ASSERT_EQ(attentionForward(parts.back().forward(half), workers), nullptr);
    }
    Tensors &a = parts[0], &b = parts[1];
    std::vector<void *> buffers = {a.o.view().data, a.lse.view().data,
                                   b.o.view().data, b.lse.view().data,
                                   a.o.view().data, a.lse.view().data};
    std::vector<int64_t> sizes = {s.batch, s.queries, s.heads, s.headDim};
    LibraryCall call{buffers, sizes, {}, {}};
    ASSERT_EQ(runLibraryOp(*findLibraryOp("merge_attention"), call, workers),
              nullptr);
    expectClose(a.o, whole.o, 5e-6, "o");
    for (int64_t i = 0; i < a.lse.size(); ++i)
      ASSERT_NEAR(a.lse[i], whole.lse[i], 1e-5) << "lse " << i;
    std::vector<double> dq(static_cast<size_t>(whole.dq.size()));
    for (int64_t first : {0, 24}) {
      Tensors &part = parts[first > 0];
      half.place.firstKey = first;
      part.o = rowsOf(whole.o, DType::F32, 1, whole.o.size(), {0});
      part.lse = rowsOf(whole.lse, DType::F32, 1, whole.lse.size(), {0});
      ASSERT_EQ(attentionBackward(part.backward(half), workers), nullptr);
      for (int64_t i = 0; i < part.dq.size(); ++i)
        dq[static_cast<size_t>(i)] += part.dq[i];
      std::vector<int64_t> rows;
      for (int64_t i = 0; i < 24; ++i)
        rows.push_back(first + i);
      expectClose(part.dk, rowsOf(whole.dk, DType::F64, 2, 16, rows), 5e-6,
                  "dk");
    }
    for (size_t i = 0; i < dq.size(); ++i)
      ASSERT_NEAR(dq[i], whole.dq[int64_t(i)], 1e-5) << i;
  }
}

/// Dropout by global element: one head of one sequence, and half of its
/// queries, have the masks that they have in the whole.
TEST(Attention, ShardsHaveTheMasksOfTheWhole) {
  AttentionShape s = shapeOf(2, 32, 4, 4, 8, true, 0, 0.4f);
  Tensors whole(s, DType::F64);
  ASSERT_EQ(reference::attentionForward(whole.forward(s)), nullptr);
  AttentionShape shard = s;
  shard.batch = 1, shard.heads = shard.kvHeads = 1, shard.queries = 16;
  shard.place = {16, 0, 0, 32, 4, 1, 2};
  Tensors t(shard, DType::F32);
  auto at = [&](int64_t row, int64_t c) {
    return ((32 + row) * 4 + 2) * 8 + c;
  };
  for (int64_t row = 0; row < 32; ++row)
    for (int64_t c = 0; c < 8; ++c) {
      t.k.set(row * 8 + c, whole.k[at(row, c)]);
      t.v.set(row * 8 + c, whole.v[at(row, c)]);
      if (row >= 16)
        t.q.set((row - 16) * 8 + c, whole.q[at(row, c)]);
    }
  TestWorkers workers(1);
  ASSERT_EQ(attentionForward(t.forward(shard), workers), nullptr);
  for (int64_t row = 16; row < 32; ++row)
    for (int64_t c = 0; c < 8; ++c)
      ASSERT_NEAR(t.o[(row - 16) * 8 + c], whole.o[at(row, c)], 1e-5);
}

/// A scalar function of the inputs: the sum of o * dO.
double objective(const AttentionShape &s, Tensors &t) {
  EXPECT_EQ(reference::attentionForward(t.forward(s)), nullptr);
  double sum = 0;
  for (int64_t i = 0; i < t.o.size(); ++i)
    sum += t.o[i] * t.dO[i];
  return sum;
}

void compareWithDifferences(const AttentionShape &s, Tensors &t, Array &input,
                            const Array &gradient) {
  constexpr double step = 1e-5;
  for (int64_t i = 0; i < input.size(); i += 3) {
    double x = input[i];
    input.set(i, x + step);
    double above = objective(s, t);
    input.set(i, x - step);
    double below = objective(s, t);
    input.set(i, x);
    ASSERT_NEAR(gradient[i], (above - below) / (2 * step), 1e-7) << i;
  }
}

TEST(Attention, ReferenceGradientIsTheDerivative) {
  for (float dropout : {0.0f, 0.3f}) {
    AttentionShape s =
        capped(shapeOf(2, 7, 4, 2, 8, true, 4, dropout), 5 * dropout);
    s.alibi = dropout == 0;
    Tensors t(s, DType::F64);
    objective(s, t);
    ASSERT_EQ(reference::attentionBackward(t.backward(s)), nullptr);
    Array dq = t.dq.wide(), dk = t.dk.wide(), dv = t.dv.wide();
    compareWithDifferences(s, t, t.q, dq);
    compareWithDifferences(s, t, t.k, dk);
    compareWithDifferences(s, t, t.v, dv);
  }
}

TEST(Attention, RefusesWhatItCannotDo) {
  TestWorkers workers(1);
  AttentionShape s = shapeOf(1, 4, 3, 2, 8);
  Tensors t(s, DType::F32);
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: the key/value heads do not divide the heads");
  s = shapeOf(1, 4, 2, 2, 513);
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: a head is not 1 to 512 wide");
  s = shapeOf(1, 4, 2, 2, 8, true, 0, 1);
  EXPECT_STREQ(attentionBackward(t.backward(s), workers),
               "attention: dropout is not in [0, 1)");
  s = capped(shapeOf(1, 4, 2, 2, 8), -1);
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: the softcap is negative");
  s = shapeOf(1, 4, 2, 2, 8);
  s.place.firstKey = -1;
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: a shard starts outside of the whole");
  s.place.firstKey = 0, s.place.part = 3;
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: a sequence is no even number of parts in every "
               "round");
  s.place.part = 1, s.place.rounds = 3;
  EXPECT_STREQ(attentionForward(t.forward(s), workers),
               "attention: a sequence is no even number of parts in every "
               "round");
}

} // namespace
} // namespace hocket::kernels::test
