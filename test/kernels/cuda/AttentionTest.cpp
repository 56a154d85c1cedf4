//===- AttentionTest.cpp - Attention on the emulated GPU ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/AttentionTensors.h"
#include "test/kernels/cuda/EmulatedLibrary.h"

#include <array>
#include <span>

namespace hocket::kernels::test {
namespace {

/// The integers, floats and scalars of a call of either op.
LibraryCase caseOf(const AttentionShape &s, DType dtype, const char *op) {
  const AttentionPlace &at = s.place;
  LibraryCase c{op,
                {int64_t(dtype), s.batch, s.queries, s.heads, s.kvHeads,
                 s.headDim, s.causal, s.window, s.random.stream},
                {s.scale, s.dropout},
                {int64_t(s.random.seed), s.random.step, s.elementBase},
                {}};
  if (s.softcap > 0 || s.alibi)
    c.floats.push_back(s.softcap);
  if (s.alibi)
    c.floats.push_back(1);
  if (at.sequence == 0 && !s.positions && s.reach == 0)
    return c;
  c.integers.back() = s.keys;
  c.integers.insert(c.integers.end(),
                    {at.heads > 0 ? at.heads : s.heads, wholeSequence(s),
                     at.part, int64_t(0), int64_t(s.random.stream)});
  if (s.reach > 0)
    c.integers.insert(c.integers.end() - 1, {at.rounds, s.reach});
  else if (at.rounds > 1)
    c.integers.insert(c.integers.end() - 1, at.rounds);
  c.scalars.insert(c.scalars.end(), {at.firstQuery, at.firstKey,
                                     at.firstSequence, at.firstHead});
  return c;
}

/// Results start as NaN: nothing may be left unwritten.
void spoil(Tensors &t) {
  for (Array *array :
       {&t.o, &t.lse, &t.dq, &t.dk, &t.dv, &t.delta, &t.dBias, &t.biasParts})
    for (int64_t i = 0; i < array->size(); ++i)
      array->set(i, std::nan(""));
}

/// Both ops for one shape.
struct Subject {
  AttentionShape s;
  DType dtype;
  /// Where documents share its sequences; without the shape's pointer.
  std::vector<int32_t> positions = {};
  bool isJoint = false; ///< All gradients are one kernel's.

  AttentionShape shape() const {
    AttentionShape shape = s;
    shape.positions = positions.empty() ? nullptr : positions.data();
    return shape;
  }
  LibraryCase forward() const {
    return caseOf(shape(), dtype,
                  s.reach > 0            ? "attention_forward_biased"
                  : !positions.empty()   ? "attention_forward_documents"
                  : s.place.sequence > 0 ? "attention_forward_shard"
                                         : "attention_forward");
  }
  LibraryCase backward() const {
    return caseOf(shape(), dtype,
                  isJoint                ? "attention_backward_joint"
                  : s.reach > 0          ? "attention_backward_biased"
                  : !positions.empty()   ? "attention_backward_documents"
                  : s.place.sequence > 0 ? "attention_backward_shard"
                                         : "attention_backward");
  }
};

Subject documentsOf(const AttentionShape &s, DType dtype, int64_t longest) {
  return {s, dtype, documentPositions(s, longest)};
}

Subject paddedOf(const AttentionShape &s, DType dtype, int64_t least) {
  return {s, dtype, paddedKeys(s, least)};
}

void run(const Subject &subject, std::span<const CudaCall, 2> calls,
         EmulatedLibrary &library, Tensors &t, uint64_t seed, int major) {
  spoil(t);
  auto data = [](Array &array) { return array.view().data; };
  void *q = data(t.q), *k = data(t.k), *v = data(t.v), *o = data(t.o);
  void *lse = data(t.lse), *dO = data(t.dO), *dq = data(t.dq);
  void *dk = data(t.dk), *dv = data(t.dv), *delta = data(t.delta);
  std::vector<void *> forward = {q, k, v, o, lse};
  std::vector<void *> backward = {q, k, v, o, lse, dO, dq, dk, dv, delta};
  std::vector<int32_t> positions = subject.positions;
  if (subject.s.reach > 0) {
    void *bias = data(t.bias);
    forward = {o, lse, q, k, v, bias};
    backward = {dq, dk,  dv, data(t.dBias), delta, data(t.biasParts), q, k, v,
                o,  lse, dO, bias};
    if (!positions.empty()) {
      forward.push_back(positions.data());
      backward.push_back(positions.data());
    }
  } else if (!positions.empty()) {
    forward.insert(forward.begin() + 3, positions.data());
    backward.insert(backward.begin() + 6, positions.data());
  }
  EXPECT_EQ(library.run(subject.forward(), calls[0], forward, seed, major), 0u);
  EXPECT_EQ(library.run(subject.backward(), calls[1], backward, seed, major),
            0u);
}

void check(const Subject &subject, std::span<const CudaCall, 2> calls,
           EmulatedLibrary &library, int major) {
  AttentionShape s = subject.shape();
  DType dtype = subject.dtype;
  SCOPED_TRACE(nameOf(subject.forward()));
  Tensors wide(s, Tensors(s, dtype)), got(s, dtype), again(s, dtype);
  ASSERT_EQ(reference::attentionForward(wide.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(wide.backward(s)), nullptr);
  run(subject, calls, library, got, 1, major);
  // Probabilities are rounded to the element type before they are multiplied.
  double bound = dtype == DType::BF16  ? 8e-3
                 : dtype == DType::F16 ? 1e-3
                                       : 2e-6;
  expectClose(got.o, wide.o, bound, "o");
  for (int64_t i = 0; i < got.lse.size(); ++i)
    if (got.lse[i] != wide.lse[i]) // -infinity, where a query sees no key.
      ASSERT_NEAR(got.lse[i], wide.lse[i], 1e-4) << "lse " << i;
  expectClose(got.dq, wide.dq, 2 * bound, "dq");
  expectClose(got.dk, wide.dk, 2 * bound, "dk");
  expectClose(got.dv, wide.dv, 2 * bound, "dv");
  if (s.reach > 0)
    expectClose(got.dBias, wide.dBias, 2 * bound, "dbias");
  run(subject, calls, library, again, 2, major);
  EXPECT_TRUE(again.o.sameBits(got.o) && again.dq.sameBits(got.dq) &&
              again.dk.sameBits(got.dk) && again.dv.sameBits(got.dv) &&
              again.dBias.sameBits(got.dBias))
      << "depends on the order of threads";
}

/// Checks all of them, compiled together: on any GPU and on Hopper.
void check(const std::vector<Subject> &subjects, bool any = true) {
  std::vector<CudaCall> calls;
  for (const Subject &subject : subjects) {
    size_t more = subject.positions.empty() ? 0 : 1;
    bool isBiased = subject.s.reach > 0;
    calls.push_back(callOf(subject.forward(), (isBiased ? 6 : 5) + more));
    calls.push_back(callOf(subject.backward(), (isBiased ? 13 : 10) + more));
  }
  EmulatedLibrary library(calls);
  for (size_t i = 0; i < subjects.size() && library.isGood(); ++i) {
    auto both = std::span(calls).subspan(2 * i).first<2>();
    if (any)
      check(subjects[i], both, library, 8);
    if (!both[0].hopper.empty())
      check(subjects[i], both, library, 9);
  }
}

/// Sums of up to three pairs of tiles of queries are in shared memory; blocks
/// have several heads each.
TEST(CudaAttention, AllGradientsInOneKernel) {
  std::vector<Subject> subjects;
  auto add = [&](const AttentionShape &s, DType dtype) {
    subjects.push_back({s, dtype, {}, true});
  };
  add(shapeOf(1, 640, 1, 1, 64), DType::BF16);
  add(shapeOf(2, 300, 2, 2, 64), DType::BF16);
  add(shapeOf(3, 64, 1, 1, 64), DType::F16);
  add(capped(shapeOf(1, 130, 1, 1, 64), 2), DType::BF16);
  add(sloped(shapeOf(1, 129, 3, 3, 64)), DType::BF16);
  check(subjects, false);
}

TEST(CudaAttention, EveryHeadSize) {
  std::vector<Subject> subjects = {{shapeOf(1, 33, 1, 1, 16), DType::F16}};
  for (int64_t d : {64, 80, 96, 128})
    subjects.push_back({shapeOf(1, 70, 1, 1, d), DType::BF16});
  check(subjects);
}

TEST(CudaAttention, HeadsThatFragmentsDoNotFit) {
  std::vector<Subject> subjects = {{shapeOf(1, 35, 1, 1, 24), DType::BF16}};
  for (int64_t d : {1, 130, 512})
    subjects.push_back({shapeOf(1, 35, 1, 1, d), DType::F32});
  check(subjects);
}

TEST(CudaAttention, GroupsMasksAndDropout) {
  AttentionShape wholeBlocks = shapeOf(2, 72, 2, 1, 16, false, 0, 0.25f);
  wholeBlocks.elementBase = 8;
  check({{shapeOf(2, 90, 4, 2, 32), DType::BF16},
         {shapeOf(2, 70, 4, 2, 20), DType::F32},
         {shapeOf(1, 150, 2, 1, 16, true, 40), DType::F16},
         {shapeOf(1, 130, 1, 1, 16, false), DType::F16},
         {shapeOf(1, 200, 1, 1, 16, false, 30), DType::F16},
         {shapeOf(1, 200, 1, 1, 8, false, 30), DType::F32},
         {shapeOf(2, 70, 2, 1, 16, true, 0, 0.25f), DType::F16},
         {wholeBlocks, DType::F16},
         {shapeOf(2, 70, 2, 1, 6, true, 0, 0.25f), DType::F32}});
}

/// Several tiles of warpgroups, with every mask.
TEST(CudaAttention, Warpgroups) {
  AttentionShape shard = shapeOf(1, 512, 1, 1, 64, true, 0, 0.1f);
  shard.queries = shard.keys = 256;
  // The first of two devices has the first and the last quarter.
  shard.place = {0, 0, 128, 512, 3, 1, 2};
  shard.elementBase = 8; // rows of scores begin with a Philox block
  check({{shapeOf(1, 300, 2, 1, 64), DType::BF16},
         {shapeOf(1, 170, 1, 1, 128), DType::F16},
         {shapeOf(1, 270, 1, 1, 64, false, 50), DType::F16},
         {shard, DType::BF16}},
        /*any=*/false);
}

/// On tensor cores, of warps and of warpgroups, and without.
TEST(CudaAttention, SoftcapsBendScores) {
  AttentionShape shard = shapeOf(1, 512, 2, 1, 64, true, 0, 0.1f);
  shard.queries = shard.keys = 256;
  // The first of two devices has the first and the last quarter.
  shard.place = {0, 0, 128, 512, 3, 1, 2};
  check({{capped(shapeOf(2, 90, 4, 2, 32), 2), DType::BF16},
         {capped(shapeOf(1, 150, 2, 1, 16, true, 40, 0.25f), 2), DType::F16},
         {capped(shapeOf(2, 70, 2, 1, 20, true, 0, 0.25f), 2), DType::F32},
         {capped(shapeOf(1, 70, 2, 1, 20, false), 50), DType::F32},
         {capped(shapeOf(1, 300, 2, 1, 64), 50), DType::BF16},
         {capped(shapeOf(1, 170, 1, 1, 128, true, 100), 2), DType::F16},
         {capped(shard, 2), DType::BF16},
         documentsOf(capped(shapeOf(2, 130, 2, 1, 64), 2), DType::BF16, 90)});
}

/// Of heads that are no power of two, and of some of those.
TEST(CudaAttention, SlopesLowerScoresByTheirDistances) {
  AttentionShape shard = shapeOf(1, 512, 2, 1, 64);
  shard.queries = shard.keys = 256;
  // The first of two devices has the first and the last quarter.
  shard.place = {0, 0, 128, 512, 3, 1, 1};
  AttentionShape parts = shapeOf(1, 128, 2, 2, 16, true, 0, 0.1f);
  parts.queries = 64;
  // Tiles cross the borders of parts.
  parts.place = {64, 0, 16, 128, 6, 1, 2, 2};
  check({{sloped(shapeOf(2, 90, 6, 2, 32)), DType::BF16},
         {sloped(shapeOf(1, 150, 3, 1, 16, true, 40, 0.25f)), DType::F16},
         {sloped(shapeOf(2, 70, 6, 3, 20, true, 0, 0.25f)), DType::F32},
         {sloped(shapeOf(1, 300, 3, 1, 64)), DType::BF16},
         {sloped(shapeOf(1, 170, 1, 1, 128, true, 100)), DType::F16},
         {sloped(shard), DType::BF16},
         {sloped(parts), DType::F16},
         {sloped(parts), DType::F32},
         documentsOf(sloped(shapeOf(2, 130, 2, 1, 64)), DType::BF16, 90)});
}

/// From one side and from both, with distances that are too far, of heads of
/// every size and of parts whose borders tiles cross.
TEST(CudaAttention, BiasesAddToScoresByTheirDistances) {
  AttentionShape parts = shapeOf(1, 128, 2, 2, 16, true, 0, 0.1f);
  parts.queries = 64;
  parts.place = {64, 0, 16, 128, 6, 1, 2, 2};
  AttentionShape shard = shapeOf(2, 256, 2, 1, 64, false);
  shard.queries = 128;
  shard.place = {0, 0, 64, 256, 3, 1, 1};
  check(
      {{biased(shapeOf(2, 90, 4, 2, 32), 20), DType::BF16},
       {biased(shapeOf(1, 150, 2, 1, 16, true, 40, 0.25f), 64), DType::F16},
       {biased(shapeOf(2, 70, 4, 2, 20, false), 100), DType::F32},
       {biased(shapeOf(1, 70, 2, 1, 150, false, 0, 0.25f), 8), DType::F32},
       {biased(shard, 33), DType::BF16},
       {biased(parts, 40), DType::F32},
       documentsOf(biased(shapeOf(2, 130, 2, 1, 64), 16), DType::BF16, 90),
       paddedOf(biased(shapeOf(2, 70, 2, 1, 20, false), 16), DType::F32, 30)});
}

/// As the decoder's queries see what an encoder made.
TEST(CudaAttention, KeysOfAnotherSequence) {
  check({{across(shapeOf(2, 30, 4, 2, 32), 90), DType::BF16},
         {across(shapeOf(1, 150, 2, 1, 16, false, 0, 0.25f), 40), DType::F16},
         {across(shapeOf(2, 70, 4, 2, 20), 130), DType::F32},
         {across(shapeOf(1, 70, 2, 1, 64), 300), DType::BF16},
         {across(shapeOf(1, 170, 1, 1, 128), 60), DType::F16},
         paddedOf(across(shapeOf(2, 70, 2, 1, 64), 150), DType::BF16, 20),
         paddedOf(across(shapeOf(2, 70, 2, 1, 20), 40), DType::F32, 30)});
}

/// More tiles than a block of warpgroups has stages for: of keys and values,
/// and, with two heads for each of the keys, of queries.
TEST(CudaAttention, WarpgroupsUseTheirStagesAgain) {
  std::vector<Subject> subjects;
  for (auto [queries, keys, dim] :
       {std::array<int64_t, 3>{60, 830, 64}, {90, 600, 128}}) {
    AttentionShape last = shapeOf(1, keys, 1, 1, dim);
    last.queries = queries;
    last.place = {keys - queries, 0, 0, keys, 1, 0, 0};
    subjects.push_back({last, DType::BF16});
  }
  AttentionShape first = shapeOf(1, 140, 2, 1, 128, false);
  first.keys = 70;
  first.place = {0, 0, 0, 140, 2, 0, 0};
  subjects.push_back({first, DType::F16});
  check(subjects, /*any=*/false);
}

TEST(CudaAttention, ShardsAtTheirPositions) {
  AttentionShape s = shapeOf(1, 128, 2, 2, 16, true, 0, 0.1f);
  s.queries = 64;
  s.place = {64, 0, 0, 128, 5, 1, 2};
  std::vector<Subject> subjects = {{s, DType::F16}};
  // The first of two devices has the first and the last quarter.
  s.place.firstQuery = 0, s.place.part = 32;
  subjects.push_back({s, DType::F16});
  subjects.push_back({s, DType::F32});
  // The second of two, in two rounds.
  s.place.firstQuery = 64, s.place.part = 16, s.place.rounds = 2;
  subjects.push_back({s, DType::F16});
  subjects.push_back({s, DType::F32});
  check(subjects);
}

TEST(CudaAttention, DocumentsThatShareASequence) {
  AttentionShape shard = shapeOf(2, 256, 1, 1, 64, true, 0, 0.1f);
  shard.queries = 128;
  // The first of two devices has the first and the last quarter.
  shard.place = {0, 0, 64, 256, 3, 1, 2};
  // The second has two of eight parts in each of two rounds; all keys, or, of
  // parts as long as a tile, those of the first.
  AttentionShape gathered = shapeOf(1, 512, 1, 1, 64);
  gathered.queries = 256;
  gathered.place = {256, 0, 64, 512, 3, 1, 2, 2};
  AttentionShape ring = shapeOf(1, 512, 1, 1, 64);
  ring.place = {512, 0, 128, 1024, 3, 1, 2, 2};
  check(
      {documentsOf(gathered, DType::BF16, 300),
       documentsOf(ring, DType::BF16, 700),
       documentsOf(shapeOf(2, 150, 2, 1, 16), DType::F16, 70),
       documentsOf(shapeOf(1, 130, 1, 1, 32, true, 40, 0.2f), DType::BF16, 60),
       documentsOf(shapeOf(2, 70, 2, 1, 20), DType::F32, 30),
       documentsOf(shapeOf(2, 300, 2, 1, 64), DType::BF16, 200),
       documentsOf(shapeOf(1, 270, 1, 1, 128), DType::F16, 100),
       documentsOf(shard, DType::BF16, 90)});
}

TEST(CudaAttention, PaddingBehindASequence) {
  AttentionShape shard = shapeOf(2, 256, 1, 1, 64, false, 0, 0.1f);
  shard.queries = 128;
  // The first of two devices has the first and the last quarter.
  shard.place = {0, 0, 64, 256, 3, 1, 2};
  check({paddedOf(shapeOf(2, 150, 2, 1, 16, false), DType::F16, 70),
         paddedOf(shapeOf(2, 130, 1, 1, 32, false, 0, 0.2f), DType::BF16, 1),
         paddedOf(shapeOf(2, 70, 2, 1, 20, false), DType::F32, 30),
         paddedOf(shapeOf(2, 300, 2, 1, 64, false), DType::BF16, 128),
         paddedOf(shapeOf(1, 270, 1, 1, 128, false), DType::F16, 100),
         paddedOf(shard, DType::BF16, 90)});
}

} // namespace
} // namespace hocket::kernels::test
