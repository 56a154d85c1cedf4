//===- FactorRuleTest.cpp - How ops may be sharded ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
/// One op, and its rule in the form of toString(FactorRule).
struct RuleCase {
  const char *operands, *op, *rule;
};

class FactorRuleTest : public testing::TestWithParam<RuleCase> {
protected:
  ReferenceContext reference;
};
} // namespace

/// Every dim's factors multiply to its size.
static void checkSizes(Operation *op, const FactorRule &rule) {
  ASSERT_EQ(rule.operands.size(), op->getNumOperands());
  ASSERT_EQ(rule.results.size(), op->getNumResults());
  auto check = [&](Type type, const TensorFactors &dims) {
    auto shaped = dyn_cast<ShapedType>(type);
    ASSERT_EQ(dims.size(), shaped ? shaped.getRank() : 0);
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      int64_t product = 1;
      for (int64_t factor : factors)
        product *= rule.factors[factor].size;
      EXPECT_EQ(product, shaped.getDimSize(dim));
    }
  };
  for (auto [operand, dims] : llvm::zip(op->getOperandTypes(), rule.operands))
    check(operand, dims);
  for (auto [result, dims] : llvm::zip(op->getResultTypes(), rule.results))
    check(result, dims);
}

TEST_P(FactorRuleTest, IsAsStated) {
  const RuleCase &c = GetParam();
  std::string text =
      std::string("func.func @f(") + c.operands + ") {\n\"" +
      std::string(c.op).insert(std::string(c.op).find('('), "\"") +
      "\nreturn }";
  auto module = reference.parse(text);
  ASSERT_TRUE(module) << text;
  auto function = *module->getOps<func::FuncOp>().begin();
  Operation *op = &function.front().front();
  FactorRule rule = cast<ShardableOpInterface>(op).getFactorRule();
  EXPECT_EQ(toString(rule), c.rule);
  checkSizes(op, rule);
}

static const RuleCase ruleCases[] = {
    {"%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>",
     "xf.linear(%x, %w, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : "
     "(tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> "
     "tensor<2x3x5xf32>",
     "([a, b, c], [d, c], [d]) -> ([a, b, d]) {a=2, b=3, c=4 reduced, d=5}"},
    {"%g: tensor<2x3x5xf32>, %x: tensor<2x3x4xf32>",
     "xf.linear_weight_gradient(%g, %x) : (tensor<2x3x5xf32>, "
     "tensor<2x3x4xf32>) -> tensor<5x4xf32>",
     "([a, b, c], [a, b, d]) -> ([c, d]) {a=2 reduced, b=3 reduced, c=5, d=4}"},
    {"%x: tensor<2x64x40xbf16>",
     "xf.quantize_blocks(%x) {blocks = array<i64: 1, 32, 1>} : "
     "(tensor<2x64x40xbf16>) -> (tensor<2x64x40xf8E4M3FN>, "
     "tensor<2x2x40xf32>)",
     "([a, bc, d]) -> ([a, bc, d], [a, b, d]) {a=2, b=2, c=32 whole, d=40}"},
    {"%q: tensor<64x40xf8E4M3FN>, %s: tensor<2x2xf32>",
     "xf.dequantize_blocks(%q, %s) {blocks = array<i64: 32, 32>} : "
     "(tensor<64x40xf8E4M3FN>, tensor<2x2xf32>) -> tensor<64x40xbf16>",
     "([ab, c], [a, d]) -> ([ab, c]) {a=2, b=32 whole, c=40 whole, d=2 "
     "whole}"},
    {"%i: tensor<2x3xi32>, %t: tensor<7x4xf32>",
     "xf.embedding(%i, %t) : (tensor<2x3xi32>, tensor<7x4xf32>) -> "
     "tensor<2x3x4xf32>",
     "([a, b], [c, d]) -> ([a, b, d]) {a=2, b=3, c=7 reduced, d=4}"},
    {"%q: tensor<2x5x4x3xf32>, %k: tensor<2x5x2x3xf32>",
     "xf.attention(%q, %k, %k) {causal, scale = 1.0, operandSegmentSizes = "
     "array<i32: 1, 1, 1, 0, 0, 0, 0>} : (tensor<2x5x4x3xf32>, "
     "tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>) -> (tensor<2x5x4x3xf32>, "
     "tensor<2x4x5xf32>)",
     "([a, b, cd, f], [a, e, c, f], [a, e, c, f]) -> ([a, b, cd, f], "
     "[a, cd, b]) {a=2, b=5, c=2, d=2, e=5 whole, f=3 whole}"},
    {"%x: tensor<2x5x6xf32>, %w: tensor<6x4xf32>, %b: tensor<6xf32>",
     "xf.causal_conv(%x, %w, %b) : (tensor<2x5x6xf32>, tensor<6x4xf32>, "
     "tensor<6xf32>) -> tensor<2x5x6xf32>",
     "([a, b, c], [c, d], [c]) -> ([a, b, c]) {a=2, b=5 whole, c=6, d=4 "
     "whole}"},
    {"%x: tensor<2x5x6xf32>, %w: tensor<6x4xf32>",
     "xf.causal_conv_gradient(%x, %x, %w) : (tensor<2x5x6xf32>, "
     "tensor<2x5x6xf32>, tensor<6x4xf32>) -> (tensor<2x5x6xf32>, "
     "tensor<6x4xf32>, tensor<6xf32>)",
     "([a, b, c], [a, b, c], [c, d]) -> ([a, b, c], [c, d], [c]) {a=2 reduced, "
     "b=5 whole, c=6, d=4 whole}"},
    {"%x: tensor<2x5x4x3xf32>, %d: tensor<2x5x4xf32>, %b: "
     "tensor<2x5x2x7xf32>, %n: tensor<4xf32>",
     "xf.state_scan(%x, %d, %b, %b, %n, %n, %n) : (tensor<2x5x4x3xf32>, "
     "tensor<2x5x4xf32>, tensor<2x5x2x7xf32>, tensor<2x5x2x7xf32>, "
     "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x5x4x3xf32>",
     "([a, b, cd, e], [a, b, cd], [a, b, c, f], [a, b, c, f], [cd], [cd], "
     "[cd]) -> ([a, b, cd, e]) {a=2, b=5 whole, c=2, d=2, e=3 whole, f=7 "
     "whole}"},
    {"%x: tensor<2x5x4x3xf32>, %d: tensor<2x5x4xf32>, %b: "
     "tensor<2x5x2x7xf32>, %n: tensor<4xf32>",
     "xf.state_scan_gradient(%x, %x, %d, %b, %b, %n, %n, %n) : "
     "(tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4xf32>, "
     "tensor<2x5x2x7xf32>, tensor<2x5x2x7xf32>, tensor<4xf32>, tensor<4xf32>, "
     "tensor<4xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x5x4xf32>, "
     "tensor<2x5x2x7xf32>, tensor<2x5x2x7xf32>, tensor<4xf32>, tensor<4xf32>, "
     "tensor<4xf32>)",
     "([a, b, cd, e], [a, b, cd, e], [a, b, cd], [a, b, c, f], [a, b, c, f], "
     "[cd], [cd], [cd]) -> ([a, b, cd, e], [a, b, cd], [a, b, c, f], "
     "[a, b, c, f], [cd], [cd], [cd]) {a=2 reduced, b=5 whole, c=2, d=2 "
     "reduced, e=3 whole, f=7 whole}"},
    {"%q: tensor<2x5x4x3xf32>, %k: tensor<2x8x4x3xf32>",
     "xf.attention(%q, %k, %k) {scale = 1.0, operandSegmentSizes = "
     "array<i32: 1, 1, 1, 0, 0, 0, 0>} : (tensor<2x5x4x3xf32>, "
     "tensor<2x8x4x3xf32>, tensor<2x8x4x3xf32>) -> (tensor<2x5x4x3xf32>, "
     "tensor<2x4x5xf32>)",
     "([a, b, cd, f], [a, e, c, f], [a, e, c, f]) -> ([a, b, cd, f], "
     "[a, cd, b]) {a=2, b=5, c=4, d=1, e=8 whole, f=3 whole}"},
    {"%q: tensor<2x5x4x3xf32>, %k: tensor<2x5x2x3xf32>, %t: tensor<7x4xf32>",
     "xf.attention(%q, %k, %k, %t) {scale = 1.0, operandSegmentSizes = "
     "array<i32: 1, 1, 1, 0, 1, 0, 0>} : (tensor<2x5x4x3xf32>, "
     "tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<7x4xf32>) -> "
     "(tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)",
     "([a, b, cd, f], [a, e, c, f], [a, e, c, f], [g, cd]) -> ([a, b, cd, f], "
     "[a, cd, b]) {a=2, b=5, c=2, d=2, e=5 whole, f=3 whole, g=7 whole}"},
    {"%x: tensor<3x1x6xf32>, %w: tensor<6x4xf32>, %p: tensor<3x1xi32>, %b: "
     "tensor<6xf32>, %c: tensor<3x3x6xf32>",
     "xf.cached_conv(%x, %w, %p, %p, %b, %c) : (tensor<3x1x6xf32>, "
     "tensor<6x4xf32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<6xf32>, "
     "tensor<3x3x6xf32>) -> (tensor<3x1x6xf32>, tensor<3x3x6xf32>)",
     "([a, b, c], [c, e], [a, b], [a, b], [c], [a, d, c]) -> ([a, b, c], "
     "[a, d, c]) {a=3, b=1 whole, c=6, d=3 whole, e=4 whole}"},
    {"%x: tensor<2x1x4x3xf32>, %d: tensor<2x1x4xf32>, %b: "
     "tensor<2x1x2x7xf32>, %n: tensor<4xf32>, %p: tensor<2x1xi32>, %h: "
     "tensor<2x4x3x7xf32>",
     "xf.cached_scan(%x, %d, %b, %b, %n, %n, %n, %p, %p, %h) : "
     "(tensor<2x1x4x3xf32>, tensor<2x1x4xf32>, tensor<2x1x2x7xf32>, "
     "tensor<2x1x2x7xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, "
     "tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x4x3x7xf32>) -> "
     "(tensor<2x1x4x3xf32>, tensor<2x4x3x7xf32>)",
     "([a, b, cd, e], [a, b, cd], [a, b, c, f], [a, b, c, f], [cd], [cd], "
     "[cd], [a, b], [a, b], [a, cd, e, f]) -> ([a, b, cd, e], [a, cd, e, f]) "
     "{a=2, b=1 whole, c=2, d=2, e=3 whole, f=7 whole}"},
    {"%q: tensor<2x5x4x3xf32>, %p: tensor<2x5xi32>",
     "xf.attention(%q, %q, %q, %p) {causal, scale = 1.0, operandSegmentSizes = "
     "array<i32: 1, 1, 1, 1, 0, 0, 0>} : (tensor<2x5x4x3xf32>, "
     "tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5xi32>) -> "
     "(tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)",
     "([a, b, cd, f], [a, e, c, f], [a, e, c, f], [a, b]) -> ([a, b, cd, f], "
     "[a, cd, b]) {a=2, b=5, c=4, d=1, e=5 whole, f=3 whole}"},
    {"%x: tensor<2x3x12xf32>",
     "xf.reshape(%x) : (tensor<2x3x12xf32>) -> tensor<2x3x4x3xf32>",
     "([a, b, cd]) -> ([a, b, c, d]) {a=2, b=3, c=4, d=3}"},
    {"%x: tensor<2x3x12xf32>",
     "xf.reshape(%x) : (tensor<2x3x12xf32>) -> tensor<6x12xf32>",
     "([a, b, c]) -> ([ab, c]) {a=2, b=3, c=12}"},
    {"%x: tensor<2x30xf32>",
     "xf.reshape(%x) : (tensor<2x30xf32>) -> tensor<4x3x5xf32>",
     "([a, b]) -> ([ac, d, e]) {a=2, b=30 whole, c=2 whole, d=3 whole, e=5 "
     "whole}"},
    {"%x: tensor<4x6xf32>",
     "xf.reshape(%x) : (tensor<4x6xf32>) -> tensor<3x8xf32>",
     "([a, b]) -> ([c, d]) {a=4 whole, b=6 whole, c=3 whole, d=8 whole}"},
    {"",
     "xf.rope_table() {inverse_frequencies = array<f64: 1.0, 0.5>} : () -> "
     "tensor<4x2x2xf32>",
     "() -> ([a, b, c]) {a=4, b=2 whole, c=2 whole}"},
    {"%x: tensor<2x3x4xf32>, %p: tensor<3x4xf32>",
     "xf.add(%x, %p) : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> "
     "tensor<2x3x4xf32>",
     "([a, b, c], [b, c]) -> ([a, b, c]) {a=2, b=3, c=4}"},
    {"%x: tensor<2x3x4xf32>, %w: tensor<4xf32>",
     "xf.norm(%x, %w) {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : "
     "(tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>",
     "([a, b, c], [c]) -> ([a, b, c]) {a=2, b=3, c=4 whole}"},
    {"%l: tensor<2x3x8xf32>, %y: tensor<2x3xi32>",
     "xf.cross_entropy(%l, %y) {valid_vocab = 8 : i64} : (tensor<2x3x8xf32>, "
     "tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)",
     "([a, b, c], [a, b]) -> ([], [a, b]) {a=2 reduced, b=3 reduced, "
     "c=8 whole}"},
    {"%a: tensor<2x3xf32>, %b: tensor<4xf32>",
     "xf.global_norm(%a, %b) : (tensor<2x3xf32>, tensor<4xf32>) -> "
     "(tensor<f32>, tensor<f32>)",
     "([a, b], [c]) -> ([], []) {a=2 reduced, b=3 reduced, c=4 reduced}"},
    {"%l: tensor<2x3x8xf32>, %b: tensor<8xf32>",
     "xf.router(%l, %b) {scale = 1.0, scores = #xf.router_scores<sigmoid>, "
     "top_k = 2 : i64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> "
     "(tensor<2x3x2xf32>, tensor<2x3x2xi32>)",
     "([a, b, c], [c]) -> ([a, b, d], [a, b, d]) {a=2, b=3, c=8 whole, "
     "d=2 whole}"},
    {"%l: tensor<2x3x8xf32>, %b: tensor<2x8xf32>",
     "xf.router(%l, %b) {scale = 1.0, scores = #xf.router_scores<sigmoid>, "
     "top_k = 2 : i64} : (tensor<2x3x8xf32>, tensor<2x8xf32>) -> "
     "(tensor<2x3x2xf32>, tensor<2x3x2xi32>)",
     "([a, b, c], [a, c]) -> ([a, b, d], [a, b, d]) {a=2, b=3, c=8 whole, "
     "d=2 whole}"},
    {"%x: tensor<6x3x1xf32>",
     "xf.gather_choices(%x) : (tensor<6x3x1xf32>) -> tensor<6x3x2xf32>",
     "([a, b, c]) -> ([a, b, d]) {a=6, b=3, c=1 whole, d=2 whole}"},
    {"%x: tensor<2x6x4x3xf32>, %r: tensor<2x6x1x5xf32>",
     "xf.join_heads(%x, %r) : (tensor<2x6x4x3xf32>, tensor<2x6x1x5xf32>) -> "
     "tensor<2x6x4x8xf32>",
     "([a, b, c, d], [a, b, e, f]) -> ([a, b, c, g]) {a=2, b=6, c=4, d=3 "
     "whole, e=1 whole, f=5 whole, g=8 whole}"},
    {"%x: tensor<2x6x4x3xf32>, %r: tensor<2x6x4x5xf32>",
     "xf.join_heads(%x, %r) : (tensor<2x6x4x3xf32>, tensor<2x6x4x5xf32>) -> "
     "tensor<2x6x4x8xf32>",
     "([a, b, c, d], [a, b, c, e]) -> ([a, b, c, f]) {a=2, b=6, c=4, d=3 "
     "whole, e=5 whole, f=8 whole}"},
    {"%x: tensor<2x6x4x3xf32>",
     "xf.part_heads(%x) {first = 1 : i64} : (tensor<2x6x4x3xf32>) -> "
     "tensor<2x6x4x2xf32>",
     "([a, b, c, d]) -> ([a, b, c, e]) {a=2, b=6, c=4, d=3 whole, e=2 "
     "whole}"},
    {"%x: tensor<2x6x4x3xf32>",
     "xf.sum_heads(%x) : (tensor<2x6x4x3xf32>) -> tensor<2x6x1x2xf32>",
     "([a, b, c, e]) -> ([a, b, d, f]) {a=2, b=6, c=4 reduced, d=1 whole, e=3 "
     "whole, f=2 whole}"},
    {"%x: tensor<2x6x4xf32>",
     "xf.split_chunks(%x) {shift = 1 : i64} : (tensor<2x6x4xf32>) -> "
     "tensor<6x2x4xf32>",
     "([a, c, b]) -> ([ad, e, b]) {a=2, b=4, c=6 whole, d=3 whole, e=2 "
     "whole}"},
    {"%x: tensor<2x3x4xf32>, %r: tensor<2x3xi32>, %s: tensor<4x5x4xf32>",
     "xf.place_rows(%x, %r, %s) : (tensor<2x3x4xf32>, tensor<2x3xi32>, "
     "tensor<4x5x4xf32>) -> tensor<2x3x4xf32>",
     "([a, b, c], [a, b], [ad, e, c]) -> ([a, b, c]) {a=2, b=3, c=4, d=2 "
     "whole, e=5 whole}"},
    {"%g: tensor<2x3x4xf32>, %r: tensor<2x3xi32>",
     "xf.placed_rows_gradient(%g, %r) : (tensor<2x3x4xf32>, tensor<2x3xi32>) "
     "-> tensor<4x5x4xf32>",
     "([a, b, c], [a, b]) -> ([ad, e, c]) {a=2, b=3 reduced, c=4, d=2 whole, "
     "e=5 whole}"},
    {"%l: tensor<2x3x8xf32>",
     "xf.sinkhorn(%l) : (tensor<2x3x8xf32>) -> tensor<2x8xf32>",
     "([a, b, c]) -> ([a, c]) {a=2, b=3 whole, c=8 whole}"},
    {"%g: tensor<2x3x2xf32>, %l: tensor<2x3x8xf32>, %e: tensor<2x3x2xi32>",
     "xf.router_gradient(%g, %l, %e) {scale = 1.0, scores = "
     "#xf.router_scores<softmax>} : (tensor<2x3x2xf32>, tensor<2x3x8xf32>, "
     "tensor<2x3x2xi32>) -> tensor<2x3x8xf32>",
     "([a, b, d], [a, b, c], [a, b, d]) -> ([a, b, c]) {a=2, b=3, c=8 whole, "
     "d=2 whole}"},
    {"%l: tensor<2x3x8xf32>",
     "xf.router_probabilities(%l) {scores = #xf.router_scores<softmax>} : "
     "(tensor<2x3x8xf32>) -> tensor<8xf32>",
     "([a, b, c]) -> ([c]) {a=2 reduced, b=3 reduced, c=8 whole}"},
    {"%l: tensor<2x3x8xf32>",
     "xf.router_probabilities(%l) {scores = #xf.router_scores<softmax>} : "
     "(tensor<2x3x8xf32>) -> tensor<2x8xf32>",
     "([a, b, c]) -> ([a, c]) {a=2, b=3 reduced, c=8 whole}"},
    {"%g: tensor<2x8xf32>, %l: tensor<2x3x8xf32>",
     "xf.router_probabilities_gradient(%g, %l) {scores = "
     "#xf.router_scores<softmax>} : (tensor<2x8xf32>, tensor<2x3x8xf32>) -> "
     "tensor<2x3x8xf32>",
     "([a, c], [a, b, c]) -> ([a, b, c]) {a=2, b=3, c=8 whole}"},
    {"%e: tensor<2x3x2xi32>",
     "xf.expert_counts(%e) : (tensor<2x3x2xi32>) -> tensor<2x8xf32>",
     "([a, b, c]) -> ([a, d]) {a=2, b=3 reduced, c=2 reduced, d=8 whole}"},
    {"%l: tensor<2x3x8xf32>",
     "xf.router_z_loss(%l) : (tensor<2x3x8xf32>) -> tensor<f32>",
     "([a, b, c]) -> ([]) {a=2 reduced, b=3 reduced, c=8 whole}"},
    {"%e: tensor<2x3x2xi32>",
     "xf.expert_counts(%e) : (tensor<2x3x2xi32>) -> tensor<8xf32>",
     "([a, b, c]) -> ([d]) {a=2 reduced, b=3 reduced, c=2 reduced, d=8 "
     "whole}"},
    {"%e: tensor<2x3x2xi32>",
     "xf.expert_order(%e) {capacity = 2 : i64, experts = 8 : i64} : "
     "(tensor<2x3x2xi32>) -> tensor<2x3x2xi32>",
     "([a, b, c]) -> ([a, b, c]) {a=2, b=3 whole, c=2 whole}"},
    {"%e: tensor<2x3x2xi32>",
     "xf.expert_order(%e) {experts = 8 : i64} : (tensor<2x3x2xi32>) -> "
     "(tensor<2x3x2xi32>, tensor<2x8x2xi32>)",
     "([ac, bd, e]) -> ([ac, bd, e], [ab, f, g]) {a=2, b=1, c=1 whole, d=3 "
     "whole, e=2 whole, f=8 whole, g=2 whole}"},
    // A device that has a run of positions orders its tokens alone.
    {"%e: tensor<4x6x2xi32>",
     "xf.expert_order(%e) {experts = 8 : i64, position_runs = 3 : i64} : "
     "(tensor<4x6x2xi32>) -> (tensor<4x6x2xi32>, tensor<6x8x2xi32>)",
     "([ac, bd, e]) -> ([ac, bd, e], [ab, f, g]) {a=2, b=3, c=2 whole, d=2 "
     "whole, e=2 whole, f=8 whole, g=2 whole}"},
    // Sequences stay split and experts whole: the next op wants experts split,
    // which is an all-to-all.
    {"%x: tensor<2x3x4xf32>, %s: tensor<2x3x2xi32>",
     "xf.dispatch(%x, %s) : (tensor<2x3x4xf32>, tensor<2x3x2xi32>) -> "
     "tensor<8x2x5x4xf32>",
     "([a, b, d], [a, b, c]) -> ([e, a, f, d]) {a=2, b=3 reduced, c=2 whole, "
     "d=4, e=8 whole, f=5 whole}"},
    {"%x: tensor<2x3x4xf32>, %s: tensor<2x3x2xi32>",
     "xf.dispatch(%x, %s) : (tensor<2x3x4xf32>, tensor<2x3x2xi32>) -> "
     "tensor<1x12x4xf32>",
     "([ab, cd, f], [ab, cd, e]) -> ([ac, g, f]) {a=1, b=2 reduced, c=1, d=3 "
     "reduced, e=2 whole, f=4, g=12 whole}"},
    {"%x: tensor<4x6x4xf32>, %s: tensor<4x6x2xi32>",
     "xf.dispatch(%x, %s) {position_runs = 3 : i64} : (tensor<4x6x4xf32>, "
     "tensor<4x6x2xi32>) -> tensor<6x8x4xf32>",
     "([ab, cd, f], [ab, cd, e]) -> ([ac, g, f]) {a=2, b=2 reduced, c=3, d=2 "
     "reduced, e=2 whole, f=4, g=8 whole}"},
    {"%r: tensor<8x2x5x4xf32>, %s: tensor<2x3x2xi32>, %w: tensor<2x3x2xf32>",
     "xf.combine(%r, %s, %w) : (tensor<8x2x5x4xf32>, tensor<2x3x2xi32>, "
     "tensor<2x3x2xf32>) -> tensor<2x3x4xf32>",
     "([e, a, f, d], [a, b, c], [a, b, c]) -> ([a, b, d]) {a=2, b=3, c=2 "
     "whole, d=4, e=8 whole, f=5 whole}"},
    {"%t: tensor<2x3x4xf32>, %r: tensor<2x6x4xf32>, %s: tensor<2x3x2xi32>",
     "xf.combine_weight_gradient(%t, %r, %s) : (tensor<2x3x4xf32>, "
     "tensor<2x6x4xf32>, tensor<2x3x2xi32>) -> tensor<2x3x2xf32>",
     "([ab, cd, f], [ac, g, f], [ab, cd, e]) -> ([ab, cd, e]) {a=2, b=1, c=1, "
     "d=3, e=2 whole, f=4 reduced, g=6 whole}"},
    {"%r: tensor<8x2x5x4xf32>, %w: tensor<8x6x4xf32>",
     "xf.grouped_linear(%r, %w) : (tensor<8x2x5x4xf32>, tensor<8x6x4xf32>) -> "
     "tensor<8x2x5x6xf32>",
     "([a, b, c, e], [a, d, e]) -> ([a, b, c, d]) {a=8, b=2, c=5, d=6, e=4 "
     "reduced}"},
    {"%r: tensor<2x6x4xf32>, %w: tensor<8x7x4xf32>, %n: tensor<2x8x2xi32>",
     "xf.grouped_linear(%r, %w, %n) : (tensor<2x6x4xf32>, tensor<8x7x4xf32>, "
     "tensor<2x8x2xi32>) -> tensor<2x6x7xf32>",
     "([b, c, e], [a, d, e], [b, a, f]) -> ([b, c, d]) {a=8 reduced, b=2, c=6 "
     "whole, d=7, e=4 reduced, f=2 whole}"},
    {"%g: tensor<8x2x5x6xf32>, %w: tensor<8x6x4xf32>",
     "xf.grouped_linear_input_gradient(%g, %w) : (tensor<8x2x5x6xf32>, "
     "tensor<8x6x4xf32>) -> tensor<8x2x5x4xf32>",
     "([a, b, c, d], [a, d, e]) -> ([a, b, c, e]) {a=8, b=2, c=5, d=6 "
     "reduced, e=4}"},
    {"%g: tensor<8x2x5x6xf32>, %r: tensor<8x2x5x4xf32>",
     "xf.grouped_linear_weight_gradient(%g, %r) : (tensor<8x2x5x6xf32>, "
     "tensor<8x2x5x4xf32>) -> tensor<8x6x4xf32>",
     "([a, b, c, d], [a, b, c, e]) -> ([a, d, e]) {a=8, b=2 reduced, c=5 "
     "reduced, d=6, e=4}"},
    {"%g: tensor<2x6x7xf32>, %r: tensor<2x6x4xf32>, %n: tensor<2x8x2xi32>",
     "xf.grouped_linear_weight_gradient(%g, %r, %n) : (tensor<2x6x7xf32>, "
     "tensor<2x6x4xf32>, tensor<2x8x2xi32>) -> tensor<8x7x4xf32>",
     "([b, c, d], [b, c, e], [b, a, f]) -> ([a, d, e]) {a=8, b=2 reduced, c=6 "
     "whole, d=7, e=4, f=2 whole}"},
    // Exchanged, the experts of a run are those of its place in a group.
    {"%r: tensor<4x6x4xf32>, %w: tensor<8x7x4xf32>, %n: tensor<4x2x4x2xi32>",
     "xf.grouped_linear(%r, %w, %n) : (tensor<4x6x4xf32>, tensor<8x7x4xf32>, "
     "tensor<4x2x4x2xi32>) -> tensor<4x6x7xf32>",
     "([ca, d, g], [ab, f, g], [ca, e, b, h]) -> ([ca, d, f]) {a=2, b=4 whole, "
     "c=2, d=6 whole, e=2 whole, f=7, g=4 reduced, h=2 whole}"},
    {"%g: tensor<4x6x7xf32>, %r: tensor<4x6x4xf32>, %n: tensor<4x2x4x2xi32>",
     "xf.grouped_linear_weight_gradient(%g, %r, %n) : (tensor<4x6x7xf32>, "
     "tensor<4x6x4xf32>, tensor<4x2x4x2xi32>) -> tensor<8x7x4xf32>",
     "([ca, d, f], [ca, d, g], [ca, e, b, h]) -> ([ab, f, g]) {a=2, b=4 whole, "
     "c=2 reduced, d=6 whole, e=2 whole, f=7, g=4, h=2 whole}"},
    {"%n: tensor<4x8x2xi32>",
     "xf.expert_segments(%n) : (tensor<4x8x2xi32>) -> tensor<4x2x4x2xi32>",
     "([ab, c, d]) -> ([ab, e, f, d]) {a=2, b=2 whole, c=8 whole, d=2 whole, "
     "e=2 whole, f=4 whole}"},
    {"%r: tensor<4x6x5xf32>, %n: tensor<4x8x2xi32>, %s: tensor<4x2x4x2xi32>",
     "xf.exchange_rows(%r, %n, %s) : (tensor<4x6x5xf32>, tensor<4x8x2xi32>, "
     "tensor<4x2x4x2xi32>) -> tensor<4x9x5xf32>",
     "([ab, e, c], [ab, f, d], [ab, g, h, d]) -> ([ab, i, c]) {a=2, b=2 whole, "
     "c=5, d=2 whole, e=6 whole, f=8 whole, g=2 whole, h=4 whole, i=9 whole}"},
    {"%r: tensor<4x9x5xf32>, %n: tensor<4x8x2xi32>, %s: tensor<4x2x4x2xi32>",
     "xf.return_rows(%r, %n, %s) : (tensor<4x9x5xf32>, tensor<4x8x2xi32>, "
     "tensor<4x2x4x2xi32>) -> tensor<4x6x5xf32>",
     "([ab, e, c], [ab, f, d], [ab, g, h, d]) -> ([ab, i, c]) {a=2, b=2 whole, "
     "c=5, d=2 whole, e=9 whole, f=8 whole, g=2 whole, h=4 whole, i=6 whole}"},
};

INSTANTIATE_TEST_SUITE_P(Ops, FactorRuleTest, testing::ValuesIn(ruleCases));
