//===- CostTest.cpp - Costs against numbers counted by hand ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
class CostTest : public testing::Test {
protected:
  OpCost costOf(llvm::StringRef text) {
    module = reference.parse(text);
    EXPECT_TRUE(module);
    OpCost cost;
    module->walk([&](CostOpInterface op) { cost += op.getCost(); });
    return cost;
  }

  ReferenceContext reference;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(CostTest, LinearCountsTwoPerMultiplyAdd) {
  OpCost cost = costOf(R"(
    func.func @f(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) {
      %y = xf.linear %x, %w, %b : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<3x5xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2 * 3 * 4 * 5 + 3 * 5);
  EXPECT_EQ(cost.bytesRead, 4 * (12 + 20 + 5));
  EXPECT_EQ(cost.bytesWritten, 4 * 15);
}

TEST_F(CostTest, GradientsOfLinearCostWhatItCosts) {
  OpCost cost = costOf(R"(
    func.func @f(%g: tensor<3x5xbf16>, %w: tensor<5x4xbf16>, %x: tensor<3x4xbf16>) {
      %a = xf.linear_input_gradient %g, %w : (tensor<3x5xbf16>, tensor<5x4xbf16>) -> tensor<3x4xbf16>
      %b = xf.linear_weight_gradient %g, %x : (tensor<3x5xbf16>, tensor<3x4xbf16>) -> tensor<5x4xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2 * (2 * 3 * 4 * 5));
  EXPECT_EQ(cost.bytesRead, 2 * (15 + 20) + 2 * (15 + 12));
  EXPECT_EQ(cost.bytesWritten, 2 * 12 + 4 * 20);
}

TEST_F(CostTest, ExpertsCostTheRowsOfTheirBuffer) {
  OpCost cost = costOf(R"(
    func.func @f(%r: tensor<3x2x4x5xf32>, %w: tensor<3x7x5xf32>) {
      %y = xf.grouped_linear %r, %w : (tensor<3x2x4x5xf32>, tensor<3x7x5xf32>) -> tensor<3x2x4x7xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2 * (3 * 2 * 4) * 5 * 7);
  EXPECT_EQ(cost.bytesRead, 4 * (3 * 2 * 4 * 5 + 3 * 7 * 5));
  EXPECT_EQ(cost.bytesWritten, 4 * 3 * 2 * 4 * 7);
}

/// What a buffer has room for is not what is multiplied.
TEST_F(CostTest, ExchangedRowsCostWhatIsExpected) {
  OpCost cost = costOf(R"(
    func.func @f(%r: tensor<4x9x5xf32>, %w: tensor<6x7x5xf32>, %s: tensor<4x2x3x2xi32>) {
      %y = xf.grouped_linear %r, %w, %s {expected_rows = 4 : i64} : (tensor<4x9x5xf32>, tensor<6x7x5xf32>, tensor<4x2x3x2xi32>) -> tensor<4x9x7xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2 * (4 * 4) * 5 * 7);
}

TEST_F(CostTest, CausalAttentionCountsVisiblePairs) {
  auto text = [](const std::string &attributes) {
    return "func.func @f(%q: tensor<2x5x4x3xf32>, %k: tensor<2x5x2x3xf32>) {"
           "%o:2 = xf.attention %q, %k, %k {" +
           attributes +
           ", scale = 1.0} : (tensor<2x5x4x3xf32>, tensor<2x5x2x3xf32>, "
           "tensor<2x5x2x3xf32>) -> (tensor<2x5x4x3xf32>, "
           "tensor<2x4x5xf32>) return }";
  };
  // Per pair, head and sequence: two dot products of 3 channels.
  constexpr double perPair = 2 * 4 * 2 * 2 * 3;
  EXPECT_EQ(costOf(text("stream = 0 : i32")).flops, 25 * perPair);
  EXPECT_EQ(costOf(text("causal")).flops, (1 + 2 + 3 + 4 + 5) * perPair);
  EXPECT_EQ(costOf(text("causal, window = 2 : i64")).flops,
            (1 + 2 + 2 + 2 + 2) * perPair);
  EXPECT_EQ(costOf(text("causal, window = 9 : i64")).flops, 15 * perPair);
}

TEST_F(CostTest, ViewsAreFreeAndLookupsReadRows) {
  EXPECT_EQ(costOf(R"(
    func.func @f(%x: tensor<4x6xf32>) {
      %y = xf.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
      return
    })")
                .bytesRead,
            0);
  OpCost cost = costOf(R"(
    func.func @f(%i: tensor<3xi32>, %t: tensor<1000x6xf32>) {
      %y = xf.embedding %i, %t : (tensor<3xi32>, tensor<1000x6xf32>) -> tensor<3x6xf32>
      return
    })");
  EXPECT_EQ(cost.bytesRead, 4 * 3 + 4 * 3 * 6);
}

TEST_F(CostTest, UpdateMovesFourTensorsInAndThreeOut) {
  OpCost cost = costOf(R"(
    func.func @f(%p: tensor<10xf32>, %s: tensor<f32>) {
      %a, %b, %c = xf.adamw %p, %p, %p, %p, %s, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
      return
    })");
  EXPECT_EQ(cost.flops, 160);
  EXPECT_EQ(cost.bytesRead, 4 * (4 * 10 + 5));
  EXPECT_EQ(cost.bytesWritten, 4 * 3 * 10);
}
