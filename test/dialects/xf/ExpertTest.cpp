//===- ExpertTest.cpp - Routing and orders by hand ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference evaluation of what has no gradient (choices, orders, counts,
/// the bias) against numbers worked out by hand.
///
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
class ExpertTest : public testing::Test {
protected:
  /// The results of the one op of a function, by its arguments.
  SmallVector<ReferenceTensor>
  evaluate(const std::string &arguments, const std::string &op,
           const std::vector<std::vector<double>> &values,
           bool succeeds = true) {
    module = reference.parse("func.func @f(" + arguments + ") {\n" + op +
                             "\nreturn }");
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    SmallVector<ReferenceTensor> operands;
    for (auto [type, numbers] :
         llvm::zip_equal(function.getArgumentTypes(), values)) {
      operands.push_back(zerosOf(type));
      operands.back().values = numbers;
    }
    EvaluationContext context;
    SmallVector<ReferenceTensor> results;
    auto evaluated = cast<InterpretableOpInterface>(function.front().front());
    EXPECT_EQ(succeeded(evaluated.evaluate(context, operands, results)),
              succeeds);
    return results;
  }

  ReferenceContext reference;
  OwningOpRef<ModuleOp> module;
};

using Numbers = std::vector<double>;
} // namespace

TEST_F(ExpertTest, EqualScoresGoToTheLowerExpert) {
  auto results = evaluate(
      "%l: tensor<2x4xf64>",
      "%w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>,"
      " top_k = 2 : i64} : (tensor<2x4xf64>) -> (tensor<2x2xf64>, "
      "tensor<2x2xi32>)",
      {{0, 0, 0, 0, 1, 3, 3, 2}});
  EXPECT_EQ(results[1].values, (Numbers{0, 1, 1, 2}));
  EXPECT_DOUBLE_EQ(results[0][0], 0.25);
  EXPECT_DOUBLE_EQ(results[0][2], results[0][3]);
}

TEST_F(ExpertTest, TheBiasChoosesAndDoesNotWeigh) {
  auto results = evaluate(
      "%l: tensor<1x3xf64>, %b: tensor<3xf64>",
      "%w, %e = xf.router %l, %b {renormalise, scale = 3.0, scores = "
      "#xf.router_scores<sigmoid>, top_k = 2 : i64} : (tensor<1x3xf64>, "
      "tensor<3xf64>) -> (tensor<1x2xf64>, tensor<1x2xi32>)",
      {{0, 0, 0}, {0.1, 0, 0.2}});
  EXPECT_EQ(results[1].values, (Numbers{2, 0}));
  EXPECT_DOUBLE_EQ(results[0][0], 1.5);
  EXPECT_DOUBLE_EQ(results[0][1], 1.5);
}

TEST_F(ExpertTest, ABiasOfEachSequenceIsOfLogits) {
  auto results = evaluate(
      "%l: tensor<2x1x3xf64>, %b: tensor<2x3xf64>",
      "%w, %e = xf.router %l, %b {scale = 1.0, scores = "
      "#xf.router_scores<sigmoid>, top_k = 1 : i64} : (tensor<2x1x3xf64>, "
      "tensor<2x3xf64>) -> (tensor<2x1x1xf64>, tensor<2x1x1xi32>)",
      {{8, 9, 0, 8, 9, 0}, {0.5, 0, 0, 1.5, 0, 0}});
  EXPECT_EQ(results[1].values, (Numbers{1, 0}));
  EXPECT_DOUBLE_EQ(results[0][1], 1 / (1 + std::exp(-8)));
}

// Rows and columns of the scaled matrix have like sums, whatever is added to
// a row's logits.
TEST_F(ExpertTest, SinkhornGivesExpertsLikeLoads) {
  Numbers logits{3,   2.5, 1, 0.2, 2, 2.1, 1.5, 0, 900, 899.5, 899, 898,
                 0.1, 4,   0, 1,   0, 0,   0,   0, 0,   0,     0,   0};
  auto results = evaluate("%l: tensor<2x3x4xf64>",
                          "%b = xf.sinkhorn %l : (tensor<2x3x4xf64>) -> "
                          "tensor<2x4xf64>",
                          {logits});
  for (int sequence = 0; sequence < 2; ++sequence) {
    Numbers columns(4, 0.0);
    for (int t = 0; t < 3; ++t) {
      Numbers row(4);
      double most = -HUGE_VAL, sum = 0;
      for (int e = 0; e < 4; ++e) {
        row[e] =
            logits[(sequence * 3 + t) * 4 + e] + results[0][sequence * 4 + e];
        most = std::max(most, row[e]);
      }
      for (double &x : row)
        sum += x = std::exp(x - most);
      for (int e = 0; e < 4; ++e)
        columns[e] += row[e] / sum / 3;
    }
    for (double share : columns)
      EXPECT_NEAR(share, 0.25, 1e-4);
  }
}

// Groups {.5, .1}, {.4, .3}, {0, .6}: with two counted the second is best,
// though the greatest score is in the third.
TEST_F(ExpertTest, GroupsCountTheirBestExperts) {
  auto results = evaluate(
      "%l: tensor<1x6xf64>",
      "%w, %e = xf.router %l {groups = 3 : i64, scale = 1.0, scores = "
      "#xf.router_scores<sigmoid>, top_k = 2 : i64, topk_groups = 1 : i64} : "
      "(tensor<1x6xf64>) -> (tensor<1x2xf64>, tensor<1x2xi32>)",
      {{0.5, 0.1, 0.4, 0.3, 0, 0.6}});
  EXPECT_EQ(results[1].values, (Numbers{2, 3}));
}

TEST_F(ExpertTest, ACapacityDropsTheLastOfEachSequence) {
  auto results = evaluate("%e: tensor<2x3x2xi32>",
                          "%s = xf.expert_order %e {capacity = 2 : i64, "
                          "experts = 3 : i64} : (tensor<2x3x2xi32>) -> "
                          "tensor<2x3x2xi32>",
                          {{0, 1, 0, 2, 0, 1, 2, 1, 2, 0, 2, 1}});
  EXPECT_EQ(results[0].values, (Numbers{0, 2, 1, 4, -1, 3, 4, 2, 5, 0, -1, 3}));
}

TEST_F(ExpertTest, EveryRunOfSequencesIsOrderedByItself) {
  auto results = evaluate("%e: tensor<2x3x1xi32>",
                          "%s, %r = xf.expert_order %e {experts = 3 : i64} : "
                          "(tensor<2x3x1xi32>) -> (tensor<2x3x1xi32>, "
                          "tensor<2x3x2xi32>)",
                          {{2, 0, 2, 1, 1, 0}});
  EXPECT_EQ(results[0].values, (Numbers{1, 0, 2, 1, 2, 0}));
  EXPECT_EQ(results[1].values, (Numbers{0, 1, 1, 0, 1, 2, 0, 1, 1, 2, 3, 0}));
}

TEST_F(ExpertTest, EveryRunOfPositionsIsOrderedByItself) {
  auto results = evaluate("%e: tensor<2x4x1xi32>",
                          "%s, %r = xf.expert_order %e {experts = 3 : i64, "
                          "position_runs = 2 : i64} : (tensor<2x4x1xi32>) -> "
                          "(tensor<2x4x1xi32>, tensor<2x3x2xi32>)",
                          {{2, 0, 1, 1, 0, 2, 2, 0}});
  EXPECT_EQ(results[0].values, (Numbers{2, 0, 1, 2, 1, 3, 3, 0}));
  EXPECT_EQ(results[1].values, (Numbers{0, 2, 2, 0, 2, 2, 0, 1, 1, 2, 3, 1}));
}

TEST_F(ExpertTest, RowsOfARunOfPositionsStandTogether) {
  auto results = evaluate("%x: tensor<2x4x1xf64>, %s: tensor<2x4x1xi32>",
                          "%r = xf.dispatch %x, %s {position_runs = 2 : i64} : "
                          "(tensor<2x4x1xf64>, tensor<2x4x1xi32>) -> "
                          "tensor<2x4x1xf64>",
                          {{1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 1, 2, 1, 3, 3, 0}});
  EXPECT_EQ(results[0].values, (Numbers{2, 5, 1, 6, 8, 3, 4, 7}));
}

TEST_F(ExpertTest, WithoutACapacityRowsAreOrderedByExpert) {
  auto results = evaluate("%e: tensor<2x3x1xi32>",
                          "%s, %r = xf.expert_order %e {experts = 4 : i64} : "
                          "(tensor<2x3x1xi32>) -> (tensor<2x3x1xi32>, "
                          "tensor<1x4x2xi32>)",
                          {{2, 0, 2, 3, 2, 0}});
  EXPECT_EQ(results[0].values, (Numbers{2, 0, 3, 5, 4, 1}));
  EXPECT_EQ(results[1].values, (Numbers{0, 2, 2, 0, 2, 3, 5, 1}));
}

namespace {
/// Four runs in two groups of two, of four experts, three rows a run.
const Numbers exchangedRanges = {0, 2, 2, 0, 2, 1, 3, 0,  // run 0
                                 0, 0, 0, 1, 1, 0, 1, 2,  // run 1
                                 0, 1, 1, 1, 2, 1, 3, 0,  // run 2
                                 0, 0, 0, 0, 0, 0, 0, 3}; // run 3
/// By run, run of its group, and expert of its place.
const Numbers exchangedSegments = {0, 2, 2, 0, 2, 0, 2, 1,  // experts 0, 1
                                   0, 1, 1, 0, 1, 0, 1, 2,  // experts 2, 3
                                   0, 1, 1, 1, 2, 0, 2, 0,  // experts 0, 1
                                   0, 1, 1, 0, 1, 0, 1, 3}; // experts 2, 3
const Numbers rowsOfRuns = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const Numbers rowsOfExperts = {1, 2, 4, 0, 3, 5,  6,  0,
                               7, 8, 0, 0, 9, 10, 11, 12};
const char *const exchanged = "%x: tensor<4x3x1xf64>, %r: tensor<4x4x2xi32>, "
                              "%s: tensor<4x2x2x2xi32>";

std::string exchange(int room) {
  return "%y = xf.exchange_rows %x, %r, %s : (tensor<4x3x1xf64>, "
         "tensor<4x4x2xi32>, tensor<4x2x2x2xi32>) -> tensor<4x" +
         std::to_string(room) + "x1xf64>";
}
} // namespace

TEST_F(ExpertTest, SegmentsFollowEachOtherByRunThenByExpert) {
  auto whole = evaluate("%r: tensor<4x4x2xi32>",
                        "%s = xf.expert_segments %r : (tensor<4x4x2xi32>) -> "
                        "tensor<4x2x2x2xi32>",
                        {exchangedRanges});
  EXPECT_EQ(whole[0].values, exchangedSegments);
  // Of what its group has sent, a device has the same by itself.
  auto own = evaluate("%r: tensor<2x2x2xi32>",
                      "%s = xf.expert_segments %r : (tensor<2x2x2xi32>) -> "
                      "tensor<1x2x2x2xi32>",
                      {{2, 1, 3, 0, 1, 0, 1, 2}});
  EXPECT_EQ(own[0].values, (Numbers{0, 1, 1, 0, 1, 0, 1, 2}));
}

TEST_F(ExpertTest, RowsGoWhereTheirExpertsAreAndComeBack) {
  auto there = evaluate(exchanged, exchange(4),
                        {rowsOfRuns, exchangedRanges, exchangedSegments});
  EXPECT_EQ(there[0].values, rowsOfExperts);
  auto back = evaluate("%x: tensor<4x4x1xf64>, %r: tensor<4x4x2xi32>, "
                       "%s: tensor<4x2x2x2xi32>",
                       "%y = xf.return_rows %x, %r, %s : (tensor<4x4x1xf64>, "
                       "tensor<4x4x2xi32>, tensor<4x2x2x2xi32>) -> "
                       "tensor<4x3x1xf64>",
                       {rowsOfExperts, exchangedRanges, exchangedSegments});
  EXPECT_EQ(back[0].values, rowsOfRuns);
}

TEST_F(ExpertTest, RowsBeyondTheRoomAreAnError) {
  evaluate(exchanged, exchange(3),
           {rowsOfRuns, exchangedRanges, exchangedSegments},
           /*succeeds=*/false);
}

// Experts 0 and 1 double and triple; 2 and 3 are those of the other place.
TEST_F(ExpertTest, ExchangedRowsMeetTheExpertsOfTheirPlace) {
  auto results = evaluate(
      "%x: tensor<4x4x1xf64>, %w: tensor<4x1x1xf64>, %s: tensor<4x2x2x2xi32>",
      "%y = xf.grouped_linear %x, %w, %s : (tensor<4x4x1xf64>, "
      "tensor<4x1x1xf64>, tensor<4x2x2x2xi32>) -> tensor<4x4x1xf64>",
      {rowsOfExperts, {2, 3, 5, 7}, exchangedSegments});
  EXPECT_EQ(results[0].values, (Numbers{2, 4, 12, 0, 15, 35, 42, 0, //
                                        14, 24, 0, 0, 45, 70, 77, 84}));
}

TEST_F(ExpertTest, CountsEveryChoice) {
  auto results = evaluate(
      "%e: tensor<1x3x2xi32>",
      "%n = xf.expert_counts %e : (tensor<1x3x2xi32>) -> tensor<4xf64>",
      {{0, 2, 2, 1, 2, 0}});
  EXPECT_EQ(results[0].values, (Numbers{2, 1, 3, 0}));
}

TEST_F(ExpertTest, TheBiasMovesAgainstTheLoad) {
  const char *op = "%b1 = xf.balance_bias %b, %n, %s {rate = 0.5} : "
                   "(tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> "
                   "tensor<3xf64>";
  const char *arguments =
      "%b: tensor<3xf64>, %n: tensor<3xf64>, %s: tensor<f64>";
  auto moved = evaluate(arguments, op, {{1, 1, 1}, {4, 1, 7}, {0}});
  EXPECT_EQ(moved[0].values, (Numbers{1, 1.5, 0.5}));
  auto skipped = evaluate(arguments, op, {{1, 1, 1}, {4, 1, 7}, {1}});
  EXPECT_EQ(skipped[0].values, (Numbers{1, 1, 1}));
}
