//===- Gemms.cpp - GEMMs --------------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A linear layer and its two gradients as GEMMs of row-major matrices.
/// Leading dims count as rows, so that no view is needed.
///
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"
#include "passes/kern/RegionBuilder.h"

using namespace mlir;

namespace hocket::kern {

namespace {
/// `result[m, n] = op(a)[m, k] op(b)[k, n] (+ bias)`.
struct Gemm {
  StringRef label;
  Value a, b, bias;
  int64_t m, n, k;
  bool transposeA, transposeB;
  ValueRange scales; ///< of a and b, or none
};
} // namespace

static Values buildGemm(OpBuilder &builder, Operation *op, const Gemm &gemm) {
  Value scaleA, scaleB;
  if (!gemm.scales.empty())
    scaleA = gemm.scales[0], scaleB = gemm.scales[1];
  auto created = builder.create<GemmOp>(
      op->getLoc(), op->getResult(0).getType(), /*auxiliary=*/Type(), gemm.a,
      gemm.b, gemm.bias, /*residual=*/Value(), /*preactivation=*/Value(),
      scaleA, scaleB, gemm.m, gemm.n, gemm.k, gemm.transposeA, gemm.transposeB,
      Epilogue::None, /*bias_gradient=*/false, llvm::APFloat(1.0f), gemm.label);
  return {created.getResult()};
}

Values lower(OpBuilder &builder, xf::LinearOp op) {
  Space input = spaceOf(op.getInput().getType());
  int64_t out = spaceOf(op.getWeight().getType()).rows;
  return buildGemm(builder, op,
                   {"linear", op.getInput(), op.getWeight(), op.getBias(),
                    input.rows, out, input.cols, false, true, op.getScales()});
}

Values lower(OpBuilder &builder, xf::LinearInputGradientOp op) {
  Space grad = spaceOf(op.getGrad().getType());
  int64_t in = spaceOf(op.getWeight().getType()).cols;
  return buildGemm(builder, op,
                   {"linear_input_gradient", op.getGrad(), op.getWeight(),
                    Value(), grad.rows, in, grad.cols, false, false,
                    op.getScales()});
}

Values lower(OpBuilder &builder, xf::LinearWeightGradientOp op) {
  Space grad = spaceOf(op.getGrad().getType());
  Space input = spaceOf(op.getInput().getType());
  return buildGemm(builder, op,
                   {"linear_weight_gradient", op.getGrad(), op.getInput(),
                    Value(), grad.cols, input.cols, grad.rows, true, false,
                    op.getScales()});
}

} // namespace hocket::kern
