//===- CachedStateTest.cpp - States of texts, evaluated -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tokens of two texts, taken in by one call beside each other and over the
/// calls one behind the other, give what the ops of training give for whole
/// sequences, in f64.
///
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
constexpr int64_t texts = 2, length = 5;

class CachedStateTest : public testing::Test {
protected:
  /// The results of the one op of a function with these operands.
  SmallVector<ReferenceTensor> evaluate(const std::string &arguments,
                                        const std::string &op,
                                        ArrayRef<ReferenceTensor> operands,
                                        bool succeeds = true) {
    module = reference.parse("func.func @f(" + arguments + ") {\n" + op +
                             "\nreturn }");
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    EvaluationContext context;
    SmallVector<ReferenceTensor> results;
    auto evaluated = cast<InterpretableOpInterface>(function.front().front());
    EXPECT_EQ(succeeded(evaluated.evaluate(context, operands, results)),
              succeeds);
    return results;
  }
  ReferenceTensor tensorOf(ArrayRef<int64_t> shape) {
    return zerosOf(
        RankedTensorType::get(shape, Float64Type::get(&reference.context)));
  }
  ReferenceTensor someOf(ArrayRef<int64_t> shape) {
    ReferenceTensor tensor = tensorOf(shape);
    numbers.fill(tensor);
    return tensor;
  }
  ReferenceTensor listOf(ArrayRef<double> values) {
    ReferenceTensor tensor = tensorOf({int64_t(values.size()), 1});
    llvm::copy(values, tensor.values.begin());
    return tensor;
  }

  ReferenceContext reference;
  OwningOpRef<ModuleOp> module;
  FixedNumbers numbers{7};
};

/// Four tokens of a call: two of the first text, padding, one of the second.
struct Call {
  std::vector<double> rows, positions;
};
/// Row 2 has the first text, row 0 the second; row 1 stays free.
const Call kCalls[] = {{{2, -1, 0, 2}, {0, 0, 0, 1}},
                       {{0, 2, 0, 0}, {1, 2, 2, 3}},
                       {{2, 0, 2, -1}, {3, 4, 4, 0}}};
int64_t textOf(double row) { return row == 2 ? 0 : 1; }

/// The rows of a whole tensor [texts, length, ...] that a call takes in.
void gather(const Call &call, const ReferenceTensor &from,
            ReferenceTensor &to) {
  int64_t width = from.size() / (texts * length);
  for (size_t t = 0; t < call.rows.size(); ++t)
    for (int64_t c = 0; call.rows[t] >= 0 && c < width; ++c)
      to[int64_t(t) * width + c] =
          from[(textOf(call.rows[t]) * length + int64_t(call.positions[t])) *
                   width +
               c];
}

void expectRows(const Call &call, const ReferenceTensor &got,
                const ReferenceTensor &whole) {
  int64_t width = whole.size() / (texts * length);
  for (size_t t = 0; t < call.rows.size(); ++t)
    for (int64_t c = 0; c < width; ++c) {
      double expected = 0;
      if (call.rows[t] >= 0)
        expected =
            whole[(textOf(call.rows[t]) * length + int64_t(call.positions[t])) *
                      width +
                  c];
      EXPECT_NEAR(got[int64_t(t) * width + c], expected, 1e-14);
    }
}
} // namespace

TEST_F(CachedStateTest, ConvolutionsAreThoseOfTraining) {
  ReferenceTensor x = someOf({texts, length, 3}), w = someOf({3, 4});
  ReferenceTensor bias = someOf({3});
  ReferenceTensor whole =
      evaluate("%x: tensor<2x5x3xf64>, %w: tensor<3x4xf64>, %b: tensor<3xf64>",
               "%y = xf.causal_conv %x, %w, %b : (tensor<2x5x3xf64>, "
               "tensor<3x4xf64>, tensor<3xf64>) -> tensor<2x5x3xf64>",
               {x, w, bias})[0];
  ReferenceTensor cache = someOf({3, 3, 3}); // of whatever was there before
  for (const Call &call : kCalls) {
    ReferenceTensor own = tensorOf({4, 1, 3});
    gather(call, x, own);
    auto results = evaluate(
        "%x: tensor<4x1x3xf64>, %w: tensor<3x4xf64>, %p: tensor<4x1xi32>, %r: "
        "tensor<4x1xi32>, %b: tensor<3xf64>, %c: tensor<3x3x3xf64>",
        "%y, %d = xf.cached_conv %x, %w, %p, %r, %b, %c : (tensor<4x1x3xf64>, "
        "tensor<3x4xf64>, tensor<4x1xi32>, tensor<4x1xi32>, tensor<3xf64>, "
        "tensor<3x3x3xf64>) -> (tensor<4x1x3xf64>, tensor<3x3x3xf64>)",
        {own, w, listOf(call.positions), listOf(call.rows), bias, cache});
    ASSERT_EQ(results.size(), 2u);
    expectRows(call, results[0], whole);
    cache = results[1];
  }
}

static const char *const kScanArguments =
    "%x: tensor<4x1x4x3xf64>, %d: tensor<4x1x4xf64>, %b: tensor<4x1x2x3xf64>, "
    "%c: tensor<4x1x2x3xf64>, %n: tensor<4xf64>, %m: tensor<4xf64>, %o: "
    "tensor<4xf64>, %p: tensor<4x1xi32>, %r: tensor<4x1xi32>, %h: "
    "tensor<3x4x3x3xf64>";
static const char *const kScanOp =
    "%y, %g = xf.cached_scan %x, %d, %b, %c, %n, %m, %o, %p, %r, %h {least = "
    "0.5, most = 0.9} : (tensor<4x1x4x3xf64>, tensor<4x1x4xf64>, "
    "tensor<4x1x2x3xf64>, tensor<4x1x2x3xf64>, tensor<4xf64>, tensor<4xf64>, "
    "tensor<4xf64>, tensor<4x1xi32>, tensor<4x1xi32>, tensor<3x4x3x3xf64>) -> "
    "(tensor<4x1x4x3xf64>, tensor<3x4x3x3xf64>)";

TEST_F(CachedStateTest, ScansAreThoseOfTraining) {
  ReferenceTensor x = someOf({texts, length, 4, 3});
  ReferenceTensor step = someOf({texts, length, 4});
  ReferenceTensor in = someOf({texts, length, 2, 3});
  ReferenceTensor out = someOf({texts, length, 2, 3});
  ReferenceTensor decay = someOf({4}), bias = someOf({4}), skip = someOf({4});
  ReferenceTensor whole = evaluate(
      "%x: tensor<2x5x4x3xf64>, %d: tensor<2x5x4xf64>, %b: "
      "tensor<2x5x2x3xf64>, %c: tensor<2x5x2x3xf64>, %n: tensor<4xf64>, %m: "
      "tensor<4xf64>, %o: tensor<4xf64>",
      "%y = xf.state_scan %x, %d, %b, %c, %n, %m, %o {least = 0.5, most = 0.9} "
      ": (tensor<2x5x4x3xf64>, tensor<2x5x4xf64>, tensor<2x5x2x3xf64>, "
      "tensor<2x5x2x3xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> "
      "tensor<2x5x4x3xf64>",
      {x, step, in, out, decay, bias, skip})[0];
  ReferenceTensor state = someOf({3, 4, 3, 3}), free = state;
  for (const Call &call : kCalls) {
    ReferenceTensor own = tensorOf({4, 1, 4, 3}), steps = tensorOf({4, 1, 4});
    ReferenceTensor ins = tensorOf({4, 1, 2, 3}), outs = ins;
    gather(call, x, own);
    gather(call, step, steps);
    gather(call, in, ins);
    gather(call, out, outs);
    auto results = evaluate(kScanArguments, kScanOp,
                            {own, steps, ins, outs, decay, bias, skip,
                             listOf(call.positions), listOf(call.rows), state});
    ASSERT_EQ(results.size(), 2u);
    expectRows(call, results[0], whole);
    state = results[1];
  }
  for (int64_t i = 36; i < 72; ++i) // Row 1, which nobody was in.
    EXPECT_EQ(state[i], free[i]);
}

TEST_F(CachedStateTest, TokensAreInOrderAndInARow) {
  auto fails = [&](const std::vector<double> &rows,
                   const std::vector<double> &positions) {
    evaluate(kScanArguments, kScanOp,
             {tensorOf({4, 1, 4, 3}), tensorOf({4, 1, 4}),
              tensorOf({4, 1, 2, 3}), tensorOf({4, 1, 2, 3}), tensorOf({4}),
              tensorOf({4}), tensorOf({4}), listOf(positions), listOf(rows),
              tensorOf({3, 4, 3, 3})},
             /*succeeds=*/false);
  };
  ScopedDiagnosticHandler quiet(&reference.context,
                                [](Diagnostic &) { return success(); });
  fails({3, -1, -1, -1}, {0, 0, 0, 0});
  fails({0, -1, -1, -1}, {-1, 0, 0, 0});
  fails({0, 0, -1, -1}, {1, 3, 0, 0});
}
