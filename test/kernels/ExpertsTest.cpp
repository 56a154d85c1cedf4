//===- ExpertsTest.cpp - Mixtures of experts against the reference --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Experts.h"
#include "kernels/cpu/Router.h"
#include "test/kernels/AllWorkers.h"

#include <gtest/gtest.h>

#include <functional>

namespace hocket::kernels::test {
namespace {

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

RouterShape someRouter(bool sigmoid) {
  RouterShape shape;
  shape.tokens = 77, shape.experts = 12, shape.topK = 3;
  shape.groups = 4, shape.topkGroups = 2;
  shape.sigmoid = sigmoid, shape.renormalise = true, shape.scale = 2.5;
  return shape;
}

TEST(Router, ChoosesAsTheReferenceWithAnyWorkers) {
  for (bool sigmoid : {false, true}) {
    RouterShape shape = someRouter(sigmoid);
    Array logits = randomArray(DType::F32, shape.tokens * shape.experts, 1, 3);
    Array bias = randomArray(DType::F32, shape.experts, 2, 0.1);
    int64_t choices = shape.tokens * shape.topK;
    Array weights(DType::F32, choices), expected(DType::F32, choices);
    Array chosen(DType::I32, choices), expectedChosen(DType::I32, choices);
    RouterArguments args{shape, logits.as<float>(), bias.as<float>(),
                         expected.as<float>(), expectedChosen.as<int32_t>()};
    ASSERT_EQ(reference::router(args), nullptr);
    TestWorkers workers(3);
    args.weights = weights.as<float>();
    args.chosen = chosen.as<int32_t>();
    ASSERT_EQ(router(args, workers), nullptr);
    EXPECT_TRUE(weights.sameBits(expected));
    EXPECT_TRUE(chosen.sameBits(expectedChosen));
    for (int64_t t = 0; t < shape.tokens; ++t) {
      double sum = 0;
      for (int64_t j = 0; j < shape.topK; ++j)
        sum += weights[t * shape.topK + j];
      EXPECT_NEAR(sum, shape.scale, 1e-5);
    }
  }
}

TEST(Router, StaysInRangeWhateverTheLogitsAre) {
  RouterShape shape = someRouter(false);
  shape.tokens = 3;
  Array logits(DType::F32, shape.tokens * shape.experts);
  for (int64_t i = 0; i < logits.size(); ++i)
    logits.set(i, i < shape.experts ? NAN : i % 2 ? INFINITY : -INFINITY);
  Array bias(DType::F32, shape.experts);
  bias.set(0, INFINITY);
  bias.set(1, -INFINITY);
  Array weights(DType::F32, 9), chosen(DType::I32, 9);
  RouterArguments args{shape, logits.as<float>(), bias.as<float>(),
                       weights.as<float>(), chosen.as<int32_t>()};
  ASSERT_EQ(reference::router(args), nullptr);
  EXPECT_EQ(checkExperts(chosen.as<int32_t>(), 9, shape.experts), nullptr);
}

TEST(Router, SumsOverTokensInAFixedOrder) {
  RouterShape shape = someRouter(true);
  Array logits = randomArray(DType::F32, shape.tokens * shape.experts, 1, 3);
  Array expected(DType::F32, shape.experts), loss(DType::F32, 1);
  RouterProbabilitiesArguments args{shape, logits.as<float>(),
                                    expected.as<float>()};
  ASSERT_EQ(reference::routerProbabilities(args), nullptr);
  Array parts(DType::F64, kRouterParts * shape.experts);
  forAllWorkers([&](Workers &workers) {
    Array sums(DType::F32, shape.experts);
    args.sums = sums.as<float>();
    EXPECT_EQ(routerProbabilities(args, parts.as<double>(), workers), nullptr);
    EXPECT_LT(relativeError(sums, expected), 1e-6);
    return sums;
  });
  RouterZLossArguments z{shape, logits.as<float>(), loss.as<float>()};
  ASSERT_EQ(reference::routerZLoss(z), nullptr);
  forAllWorkers([&](Workers &workers) {
    Array sum(DType::F32, 1);
    z.loss = sum.as<float>();
    EXPECT_EQ(routerZLoss(z, parts.as<double>(), workers), nullptr);
    EXPECT_LT(relativeError(sum, loss), 1e-6);
    return sum;
  });
}

/// Of each sequence, as if it were all there is.
TEST(Router, SumsOverEachSequence) {
  for (bool sigmoid : {false, true}) {
    RouterShape one = someRouter(sigmoid), all = one;
    all.sequences = 3, all.tokens = 3 * one.tokens;
    Array logits = randomArray(DType::F32, all.tokens * all.experts, 1, 3);
    Array grad = randomArray(DType::F32, 3 * all.experts, 2);
    Array sums(DType::F32, 3 * all.experts), dlogits(DType::F32, logits.size());
    Array parts(DType::F64, 3 * kRouterParts * all.experts);
    TestWorkers workers(2);
    ASSERT_EQ(routerProbabilities({all, logits.as<float>(), sums.as<float>()},
                                  parts.as<double>(), workers),
              nullptr);
    ASSERT_EQ(
        routerProbabilitiesGradient(
            {all, grad.as<float>(), logits.as<float>(), dlogits.as<float>()},
            workers),
        nullptr);
    for (int64_t s = 0; s < 3; ++s) {
      int64_t from = s * one.tokens * one.experts;
      Array own(DType::F32, one.experts);
      Array ownGradient(DType::F32, one.tokens * one.experts);
      ASSERT_EQ(reference::routerProbabilities(
                    {one, logits.as<float>() + from, own.as<float>()}),
                nullptr);
      ASSERT_EQ(reference::routerProbabilitiesGradient(
                    {one, grad.as<float>() + s * one.experts,
                     logits.as<float>() + from, ownGradient.as<float>()}),
                nullptr);
      for (int64_t e = 0; e < one.experts; ++e)
        EXPECT_NEAR(sums[s * one.experts + e], own[e], 1e-6 * one.tokens);
      for (int64_t i = 0; i < ownGradient.size(); ++i)
        EXPECT_NEAR(dlogits[from + i], ownGradient[i], 1e-6);
    }
  }
}

/// Compares a gradient by logits with central differences of `objective`.
void checkGradient(const RouterShape &shape, Array &logits,
                   const Array &gradient,
                   const std::function<double()> &objective) {
  for (int64_t i = 0; i < shape.experts * 2; ++i) {
    double value = logits[i], h = 1.0 / 128;
    logits.set(i, value + h);
    double up = objective();
    logits.set(i, value - h);
    double slope = (up - objective()) / (2 * h);
    logits.set(i, value);
    EXPECT_NEAR(gradient[i], slope, 2e-3) << i;
  }
}

TEST(Router, GradientsAreThoseOfWhatIsComputed) {
  for (bool sigmoid : {false, true}) {
    RouterShape shape = someRouter(sigmoid);
    shape.tokens = 2;
    Array logits = randomArray(DType::F32, shape.tokens * shape.experts, 5, 2);
    Array grad = randomArray(DType::F32, 6, 6);
    Array sumsGrad = randomArray(DType::F32, shape.experts, 7);
    Array weights(DType::F32, 6), chosen(DType::I32, 6);
    Array sums(DType::F32, shape.experts), dlogits(DType::F32, logits.size());
    TestWorkers workers(2);
    RouterArguments forward{shape, logits.as<float>(), nullptr,
                            weights.as<float>(), chosen.as<int32_t>()};
    auto weighted = [&] {
      EXPECT_EQ(reference::router(forward), nullptr);
      double sum = 0;
      for (int64_t i = 0; i < 6; ++i)
        sum += grad[i] * weights[i];
      return sum;
    };
    weighted();
    RouterGradientArguments args{shape, grad.as<float>(), logits.as<float>(),
                                 chosen.as<int32_t>(), dlogits.as<float>()};
    ASSERT_EQ(routerGradient(args, workers), nullptr);
    checkGradient(shape, logits, dlogits, weighted);

    RouterProbabilitiesGradientArguments probabilities{
        shape, sumsGrad.as<float>(), logits.as<float>(), dlogits.as<float>()};
    ASSERT_EQ(routerProbabilitiesGradient(probabilities, workers), nullptr);
    RouterProbabilitiesArguments sumArgs{shape, logits.as<float>(),
                                         sums.as<float>()};
    checkGradient(shape, logits, dlogits, [&] {
      EXPECT_EQ(reference::routerProbabilities(sumArgs), nullptr);
      double sum = 0;
      for (int64_t e = 0; e < shape.experts; ++e)
        sum += sumsGrad[e] * sums[e];
      return sum;
    });
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Tokens with their slots, with a capacity or without.
struct Layout {
  SlotShape shape;
  int64_t width = 37;
  Array slots{DType::I32, 0}, ranges{DType::I32, 0}, weights{DType::F32, 0};

  explicit Layout(int64_t capacity) {
    shape = {4, 19, 2, 5, capacity, capacity ? 1 : 2, 0};
    shape.rows =
        capacity ? shape.experts * shape.batch * capacity : shape.slots();
    Array chosen(DType::I32, shape.slots());
    for (int64_t i = 0; i < shape.slots(); ++i)
      chosen.set(i, randomWord({9, 0, 0}, uint64_t(i)) % 4); // expert 4: none
    slots = Array(DType::I32, shape.slots());
    ranges = Array(DType::I32, 2 * shape.runs * shape.experts);
    weights = randomArray(DType::F32, shape.slots(), 3);
    ExpertOrderArguments args{shape, chosen.as<int32_t>(), slots.as<int32_t>(),
                              ranges.as<int32_t>()};
    EXPECT_EQ(reference::expertOrder(args), nullptr);
  }
};

TEST(Experts, DispatchCopiesAndCombineAdds) {
  for (int64_t capacity : {0, 4})
    for (DType dtype : kTypes)
      for (bool weighted : {false, true}) {
        Layout layout(capacity);
        const SlotShape &shape = layout.shape;
        int64_t tokens = shape.tokens() * layout.width;
        int64_t rows = shape.rows * layout.width;
        Array x = randomArray(dtype, tokens, 1),
              r = randomArray(dtype, rows, 2);
        const float *weights = weighted ? layout.weights.as<float>() : nullptr;
        Array sent(dtype, rows), back(dtype, tokens);
        DispatchArguments to{shape,    layout.width,
                             x.view(), layout.slots.as<int32_t>(),
                             weights,  sent.view()};
        CombineArguments from{shape,    layout.width,
                              r.view(), layout.slots.as<int32_t>(),
                              weights,  back.view()};
        ASSERT_EQ(reference::dispatch(to), nullptr);
        ASSERT_EQ(reference::combine(from), nullptr);
        forAllWorkers([&](Workers &workers) {
          Array out = randomArray(dtype, rows, 8); // to be overwritten
          to.rows = out.view();
          EXPECT_EQ(dispatch(to, workers), nullptr);
          EXPECT_LT(relativeError(out, sent), tolerance(dtype));
          return out;
        });
        forAllWorkers([&](Workers &workers) {
          Array out(dtype, tokens);
          from.tokens = out.view();
          EXPECT_EQ(combine(from, workers), nullptr);
          EXPECT_LT(relativeError(out, back), tolerance(dtype));
          return out;
        });
      }
}

TEST(Experts, ACapacityDropsSome) {
  Layout layout(4);
  int dropped = 0;
  for (int64_t i = 0; i < layout.shape.slots(); ++i)
    dropped += layout.slots[i] < 0;
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, layout.shape.slots());
}

TEST(Experts, WeightsOfACombinationHaveTheirGradient) {
  for (int64_t capacity : {0, 4})
    for (DType dtype : kTypes) {
      Layout layout(capacity);
      const SlotShape &shape = layout.shape;
      Array x = randomArray(dtype, shape.tokens() * layout.width, 1);
      Array rows = randomArray(dtype, shape.rows * layout.width, 2);
      Array expected(DType::F32, shape.slots());
      CombineWeightGradientArguments args{shape,
                                          layout.width,
                                          x.view(),
                                          rows.view(),
                                          layout.slots.as<int32_t>(),
                                          expected.as<float>()};
      ASSERT_EQ(reference::combineWeightGradient(args), nullptr);
      forAllWorkers([&](Workers &workers) {
        Array out(DType::F32, shape.slots());
        args.dweights = out.as<float>();
        EXPECT_EQ(combineWeightGradient(args, workers), nullptr);
        EXPECT_LT(relativeError(out, expected), 1e-5);
        return out;
      });
    }
}

TEST(Experts, WrongSlotsAndRangesAreRefused) {
  Layout layout(0);
  int64_t rowsOfRun = layout.shape.rows / layout.shape.runs;
  layout.slots.set(3, double(rowsOfRun));
  EXPECT_NE(checkSlots(layout.shape, layout.slots.as<int32_t>()), nullptr);
  layout.slots.set(3, -2);
  EXPECT_NE(checkSlots(layout.shape, layout.slots.as<int32_t>()), nullptr);
  int32_t chosen[] = {0, 5};
  EXPECT_NE(checkExperts(chosen, 2, 5), nullptr);
  int32_t overlap[] = {0, 4, 3, 2}, before[] = {-1, 4, 4, 2},
          negative[] = {0, 4, 4, -1}, good[] = {0, 4, 5, 5};
  EXPECT_NE(checkRanges({10, 1, 1, 2, 1, 2, overlap}), nullptr);
  EXPECT_NE(checkRanges({10, 1, 1, 2, 1, 2, before}), nullptr);
  EXPECT_NE(checkRanges({10, 1, 1, 2, 1, 2, negative}), nullptr);
  EXPECT_EQ(checkRanges({10, 1, 1, 2, 1, 2, good}), nullptr);
}

/// Ranges say what was chosen, which may be more than there is room for.
TEST(Experts, WhatIsBeyondTheRowsOfARunIsNone) {
  int32_t ranges[] = {0, 4, 4, 7, 11, 3, 0, 5, 5, 0, 5, INT32_MAX};
  GroupShape shape{16, 1, 1, 3, 2, 3, ranges};
  ASSERT_EQ(checkRanges(shape), nullptr);
  const int64_t firsts[] = {0, 4, 8, 8, 13, 13}, counts[] = {4, 4, 0, 5, 0, 3};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(shape.first(i / 3, i % 3), firsts[i]);
    EXPECT_EQ(shape.count(i / 3, i % 3), counts[i]);
  }
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// Where rows of experts lie.
enum class Rows { Even, Runs, Segments };
constexpr Rows kRows[] = {Rows::Even, Rows::Runs, Rows::Segments};

/// As many of each, two runs with an empty expert and with rows of none, or the
/// segments of two sources in one run, with rows behind the last.
GroupShape groupOf(Rows rows) {
  static const int32_t runs[] = {2, 17, 19, 0, 21, 40, 0, 0, 0, 33, 33, 20};
  static const int32_t segments[] = {0,  17, 17, 0,  17, 40,
                                     57, 0,  57, 33, 90, 20};
  switch (rows) {
  case Rows::Even:
    return {132, 45, 38, 3, 1, 3, nullptr};
  case Rows::Runs:
    return {132, 45, 38, 3, 2, 3, runs};
  case Rows::Segments:
    return {132, 45, 38, 3, 1, 6, segments};
  }
  return {};
}

/// The rows that each expert has, in its order.
std::vector<std::vector<int64_t>> rowsOfExperts(const GroupShape &shape) {
  std::vector<std::vector<int64_t>> rows(shape.experts);
  for (int64_t run = 0; run < shape.runs; ++run)
    for (int64_t s = 0; s < shape.segments; ++s)
      for (int64_t i = 0; i < shape.count(run, s); ++i)
        rows[s % shape.experts].push_back(shape.first(run, s) + i);
  return rows;
}

/// Segments hold what runs do, so each row's result is that of its row there.
TEST(Experts, SegmentsAreWhatRunsAre) {
  GroupShape runs = groupOf(Rows::Runs), segments = groupOf(Rows::Segments);
  auto from = rowsOfExperts(runs), to = rowsOfExperts(segments);
  Array x = randomArray(DType::F32, runs.rows * runs.in, 1);
  Array w = randomArray(DType::F32, runs.experts * runs.out * runs.in, 2);
  Array moved(DType::F32, x.size());
  for (size_t e = 0; e < from.size(); ++e) {
    ASSERT_EQ(from[e].size(), to[e].size());
    for (size_t i = 0; i < from[e].size(); ++i)
      for (int64_t c = 0; c < runs.in; ++c)
        moved.set(to[e][i] * runs.in + c, x[from[e][i] * runs.in + c]);
  }
  Array y(DType::F32, runs.rows * runs.out), z(DType::F32, y.size());
  ASSERT_EQ(reference::groupedLinear({runs, x.view(), w.view(), y.view()}),
            nullptr);
  ASSERT_EQ(
      reference::groupedLinear({segments, moved.view(), w.view(), z.view()}),
      nullptr);
  for (size_t e = 0; e < from.size(); ++e)
    for (size_t i = 0; i < from[e].size(); ++i)
      for (int64_t c = 0; c < runs.out; ++c)
        EXPECT_EQ(y[from[e][i] * runs.out + c], z[to[e][i] * runs.out + c]);
}

TEST(Experts, SegmentsArePackedInTheirOrder) {
  const int32_t ranges[] = {5, 3, 8, 0, 8, 4, 0, 2};
  int32_t packed[8];
  ASSERT_EQ(reference::packSegments({4, ranges, packed}), nullptr);
  const int32_t expected[] = {0, 3, 3, 0, 3, 4, 7, 2};
  EXPECT_TRUE(std::equal(packed, packed + 8, expected));
  const int32_t negative[] = {0, -1}, many[] = {0, INT32_MAX, 0, 1};
  EXPECT_NE(reference::packSegments({1, negative, packed}), nullptr);
  EXPECT_NE(reference::packSegments({2, many, packed}), nullptr);
}

TEST(Experts, EveryExpertMultipliesItsRows) {
  for (Rows rows : kRows)
    for (DType dtype : kTypes) {
      GroupShape shape = groupOf(rows);
      Array x = randomArray(dtype, shape.rows * shape.in, 1);
      Array w = randomArray(dtype, shape.experts * shape.out * shape.in, 2);
      Array dy = randomArray(dtype, shape.rows * shape.out, 3);
      Array y(dtype, dy.size()), dx(dtype, x.size());
      GroupedLinearArguments forward{shape, x.view(), w.view(), y.view()};
      GroupedInputGradientArguments backward{shape, dy.view(), w.view(),
                                             dx.view()};
      ASSERT_EQ(reference::groupedLinear(forward), nullptr);
      ASSERT_EQ(reference::groupedLinearInputGradient(backward), nullptr);
      forAllWorkers([&](Workers &workers) {
        Array out = randomArray(dtype, dy.size(), 8); // to be overwritten
        forward.y = out.view();
        EXPECT_EQ(groupedLinear(forward, workers), nullptr);
        EXPECT_LT(relativeError(out, y), tolerance(dtype));
        return out;
      });
      forAllWorkers([&](Workers &workers) {
        Array out = randomArray(dtype, x.size(), 8);
        backward.dx = out.view();
        EXPECT_EQ(groupedLinearInputGradient(backward, workers), nullptr);
        EXPECT_LT(relativeError(out, dx), tolerance(dtype));
        return out;
      });
    }
}

TEST(Experts, WeightGradientsSumTheirRows) {
  for (Rows rows : kRows)
    for (bool accumulate : {false, true})
      for (DType dtype : kTypes) {
        GroupShape shape = groupOf(rows);
        int64_t weights = shape.experts * shape.out * shape.in;
        Array x = randomArray(dtype, shape.rows * shape.in, 1);
        Array dy = randomArray(dtype, shape.rows * shape.out, 3);
        Array expected = randomArray(DType::F32, weights, 4);
        GroupedWeightGradientArguments args{shape, dy.view(), x.view(),
                                            expected.view(), accumulate};
        ASSERT_EQ(reference::groupedLinearWeightGradient(args), nullptr);
        forAllWorkers([&](Workers &workers) {
          Array out = randomArray(DType::F32, weights, 4);
          args.dweight = out.view();
          EXPECT_EQ(groupedLinearWeightGradient(args, workers), nullptr);
          EXPECT_LT(relativeError(out, expected), 1e-5);
          return out;
        });
      }
}

} // namespace
} // namespace hocket::kernels::test
