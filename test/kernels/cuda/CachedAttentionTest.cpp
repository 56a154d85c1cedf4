//===- CachedAttentionTest.cpp - Kept keys on the emulated GPU ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A cache that is filled chunk by chunk, beside other sequences and by the
/// kernels of many tokens and of few, gives each token, bit for bit, what the
/// kernel of training gives it.
///
//===----------------------------------------------------------------------===//

#include "test/kernels/CachedSequences.h"
#include "test/kernels/cuda/EmulatedLibrary.h"

namespace hocket::kernels::test {
namespace {

struct Subject {
  AttentionShape s;
  DType dtype;
};

/// `floats`, and what more they say of scores.
std::vector<double> withScores(std::vector<double> floats, float softcap,
                               bool alibi) {
  if (softcap > 0 || alibi)
    floats.push_back(softcap);
  if (alibi)
    floats.push_back(1);
  return floats;
}

LibraryCase wholeSequences(const Subject &subject) {
  const AttentionShape &s = subject.s;
  LibraryCase c = {"attention_forward",
                   {int64_t(subject.dtype), s.batch, s.queries, s.heads,
                    s.kvHeads, s.headDim, 1, s.window, 0},
                   withScores({s.scale, 0}, s.softcap, s.alibi),
                   {0, 0, 0},
                   {}};
  if (s.place.heads > 0) {
    c.op = "attention_forward_shard";
    c.integers.insert(c.integers.end() - 1,
                      {s.keys, s.place.heads, s.keys, 0, 0});
    c.scalars = {0, 0, 0, 0, 0, 0, s.place.firstHead};
  }
  return c;
}

/// `few`: of a table that has as many rows as there are tokens, if need be more
/// than are used.
LibraryCase chunkOf(const CachedAttentionArguments &args, bool few) {
  LibraryCase c = {"cached_attention",
                   {int64_t(args.q.dtype), args.tokens, args.heads,
                    args.kvHeads, args.headDim, args.window,
                    few ? args.tokens : args.rows, args.tablePages, args.pages},
                   withScores({args.scale}, args.softcap, args.alibi),
                   {},
                   {}};
  if (args.wholeHeads > 0) {
    c.op = "cached_attention_shard";
    c.integers.push_back(args.wholeHeads);
    c.scalars = {args.firstHead};
  }
  return c;
}

/// Both kinds of call, with a number of tokens that is of the kind.
LibraryCase chunkOf(const Subject &subject, bool few) {
  Cache cache(subject.s, subject.dtype);
  Chunk chunk;
  chunk.rows.resize(size_t(subject.s.batch) * (few ? 2 : 3));
  Array none(subject.dtype, 0);
  return chunkOf(argumentsOf(cache, chunk, none, none, none, none), few);
}

constexpr size_t kBuffers = 11;

KernelError runChunk(const CachedAttentionArguments &args, bool few,
                     EmulatedLibrary &library) {
  LibraryCase c = chunkOf(args, few);
  std::vector<int32_t> table(args.table,
                             args.table + args.rows * args.tablePages);
  table.resize(size_t(c.integers[6] * args.tablePages), -1);
  auto pointer = [](auto *data) {
    return const_cast<void *>(static_cast<const void *>(data));
  };
  void *keys = args.keys.data, *values = args.values.data;
  uint32_t fault = library.run(c, callOf(c, kBuffers),
                               {pointer(args.q.data), pointer(args.k.data),
                                pointer(args.v.data), pointer(args.positions),
                                pointer(args.tokenRows), table.data(), keys,
                                values, args.o.data, keys, values},
                               uint64_t(args.tokens));
  return faultText(fault);
}

void check(const Subject &subject, EmulatedLibrary &library) {
  const auto &[s, dtype] = subject;
  LibraryCase whole = wholeSequences(subject);
  SCOPED_TRACE(nameOf(whole));
  Tensors t(s, dtype);
  auto data = [](Array &array) { return array.view().data; };
  EXPECT_EQ(
      library.run(whole, callOf(whole, 5),
                  {data(t.q), data(t.k), data(t.v), data(t.o), data(t.lse)}, 1),
      0u);
  struct Way {
    bool few;
    std::vector<int64_t> sizes;
  };
  // With padding behind it, a token of each row makes two.
  for (const auto &[few, sizes] : {Way{true, {1}},
                                   {false, {2, 5}},
                                   {false, {7, 1, 64}},
                                   {false, {s.keys}}}) {
    Array got = fill(s, dtype, t, sizes, [&, few = few](const auto &args) {
      return runChunk(args, few, library);
    });
    EXPECT_TRUE(got.sameBits(t.o))
        << (few ? "few" : "many") << " tokens, chunks of " << sizes.front();
  }
}

void check(const std::vector<Subject> &subjects) {
  std::vector<CudaCall> calls;
  for (const Subject &subject : subjects) {
    calls.push_back(callOf(wholeSequences(subject), 5));
    for (bool few : {false, true})
      calls.push_back(callOf(chunkOf(subject, few), kBuffers));
  }
  EmulatedLibrary library(calls);
  for (const Subject &subject : subjects)
    if (library.isGood())
      check(subject, library);
}

TEST(CudaCachedAttention, IsThatOfTraining) {
  check({{shapeOf(1, 70, 3, 1, 16), DType::BF16},
         {shapeOf(2, 66, 2, 2, 32), DType::F16},
         {shapeOf(1, 70, 18, 1, 16), DType::BF16},
         {shapeOf(1, 150, 2, 1, 16, true, 40), DType::F16}});
}

TEST(CudaCachedAttention, IsThatOfTrainingWithoutTensorCores) {
  check({{shapeOf(2, 66, 2, 1, 16), DType::F32},
         {shapeOf(1, 66, 17, 1, 6, true, 30), DType::F32},
         {shapeOf(1, 65, 1, 1, 130), DType::BF16}});
}

TEST(CudaCachedAttention, SoftcapsBendScores) {
  check({{capped(shapeOf(2, 70, 4, 2, 16, true, 50), 2), DType::BF16},
         {capped(shapeOf(1, 66, 3, 1, 20), 2), DType::F32}});
}

TEST(CudaCachedAttention, SlopesLowerScoresByTheirDistances) {
  AttentionShape shard = sloped(shapeOf(1, 66, 6, 2, 20));
  shard.place.firstHead = 6, shard.place.heads = 12;
  AttentionShape fragments = sloped(shapeOf(1, 70, 4, 2, 16));
  fragments.place.firstHead = 2, fragments.place.heads = 6;
  check({{sloped(shapeOf(2, 70, 6, 2, 16, true, 50)), DType::BF16},
         {fragments, DType::F16},
         {shard, DType::F32}});
}

/// More pages than are on their way at a time.
TEST(CudaCachedAttention, UsesItsStagesAgain) {
  check({{shapeOf(1, 64 * 10 + 5, 1, 1, 16, true, 600), DType::BF16}});
}

} // namespace
} // namespace hocket::kernels::test
