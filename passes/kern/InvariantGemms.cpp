//===- InvariantGemms.cpp - GEMMs that sum the same way for any rows ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives the GEMMs of forward passes to Hocket's own kernel for GPUs, which has
/// one tile and one order of sums over k: as the linear layer of one expert
/// (kernels/cuda/GroupedLinear.cuh, HopperGemm.cuh).
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/ElementTypes.h"
#include "passes/kern/Passes.h"
#include "passes/kern/RegionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace hocket {
#define GEN_PASS_DEF_KERNINVARIANTGEMMS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// Whether it is a linear layer: x [m, k] times the transpose of w [n, k].
bool isLinearLayer(GemmOp gemm) {
  return !gemm.getTransposeA() && gemm.getTransposeB();
}

/// Whether it does no more than add a bias, in one element type.
bool isPlain(GemmOp gemm) {
  Type element = getElementTypeOrSelf(gemm.getResult());
  return getElementTypeOrSelf(gemm.getA()) == element &&
         getElementTypeOrSelf(gemm.getB()) == element && !gemm.getScaleA() &&
         !gemm.getResidual() && !gemm.getPreactivation() &&
         !gemm.getBiasGradient() && gemm.getEpilogue() == Epilogue::None &&
         gemm.getAlpha().isExactlyValue(1.0);
}

Value addBias(OpBuilder &builder, GemmOp gemm, Value value) {
  RegionShape shape{"add_bias",
                    spaceOf(value.getType()),
                    {{value, Access::Full}, {gemm.getBias(), Access::Col}},
                    {{value.getType(), Access::Full}},
                    {}};
  auto rows = buildRows(builder, gemm.getLoc(), shape,
                        [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                          return {in[0] + in[1]};
                        });
  return rows.getOutputs().front();
}

void replace(GemmOp gemm) {
  OpBuilder builder(gemm);
  auto integer = [](uint64_t size) { return static_cast<int64_t>(size); };
  int64_t dtype = kernelTypeNumber(getElementTypeOrSelf(gemm.getResult()));
  auto linear = builder.create<LibraryOp>(
      gemm.getLoc(), gemm.getResult().getType(), "grouped_linear",
      ValueRange{gemm.getA(), gemm.getB()}, /*instance=*/Value(),
      /*scalars=*/ValueRange(),
      ArrayRef<int64_t>{dtype, integer(gemm.getM()), integer(gemm.getN()),
                        integer(gemm.getK()), /*experts=*/1, /*runs=*/1,
                        /*segments=*/1, integer(gemm.getM())},
      ArrayRef<double>(), /*random=*/false, /*results_first=*/true,
      /*stream=*/0, /*elements=*/0, /*workspaces=*/0,
      /*in_place=*/DenseI64ArrayAttr(), gemm.getLabel());
  Value value = linear.getOutputs().front();
  if (gemm.getBias())
    value = addBias(builder, gemm, value);
  gemm.getResult().replaceAllUsesWith(value);
  gemm.erase();
}

struct KernInvariantGemms
    : hocket::impl::KernInvariantGemmsBase<KernInvariantGemms> {
  void runOnOperation() override {
    SmallVector<GemmOp> gemms;
    getOperation().walk([&](GemmOp gemm) {
      if (isLinearLayer(gemm))
        gemms.push_back(gemm);
    });
    for (GemmOp gemm : gemms) {
      if (!isPlain(gemm)) {
        gemm.emitError("no kernel of fixed tiles computes this GEMM: its "
                       "operands and its result have one element type of 16 "
                       "or 32 bits, and it has no scales");
        return signalPassFailure();
      }
      replace(gemm);
      ++replaced;
    }
  }
};

} // namespace
