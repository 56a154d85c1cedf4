//===- FitF8Gemms.cpp - 8-bit operands as a GPU's library wants them ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stores 8-bit operands so that cuBLASLt multiplies them, or widens those that
/// it does not: kernels/cuda/F8Gemms.h says which. What that takes are ops
/// of this level, so that it is fused, planned and checked as all others are.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/ElementTypes.h"
#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

#include <utility>

namespace hocket {
#define GEN_PASS_DEF_KERNFITF8GEMMS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// What the library asks of m, n and k (kernels/cuda/F8Gemms.h).
constexpr uint64_t fittingMultiple = 16;

/// How it takes factors to be stored.
enum class F8Layouts { None, InnerFastest, Any };

Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor); }

/// Whether m, n and k are what the library asks for.
bool hasFittingSizes(GemmOp gemm) {
  for (uint64_t size : {gemm.getM(), gemm.getN(), gemm.getK()})
    if (size % fittingMultiple != 0)
      return false;
  return true;
}

/// The GEMMs of one block.
class F8Gemms {
public:
  F8Gemms(Block &block, F8Layouts layouts)
      : block(block), layouts(layouts), builder(block.getParent()) {}

  void run() {
    for (auto gemm : llvm::make_early_inc_range(block.getOps<GemmOp>())) {
      if (!isF8(gemm.getA()))
        continue;
      builder.setInsertionPoint(gemm);
      if (layouts == F8Layouts::None || !hasFittingSizes(gemm)) {
        widen(gemm);
        continue;
      }
      if (layouts == F8Layouts::InnerFastest)
        store(gemm);
      if (gemm.getBias() && elementOf(gemm.getResult()).isF32())
        addBiasBehind(gemm);
    }
  }

  unsigned transposed = 0, widened = 0;

private:
  /// Lets both factors' inner dimension run fastest.
  void store(GemmOp gemm) {
    int64_t m = gemm.getM(), n = gemm.getN(), k = gemm.getK();
    if (gemm.getTransposeA()) {
      gemm.getAMutable().assign(transpose(gemm.getLoc(), gemm.getA(), k, m));
      gemm.setTransposeA(false);
    }
    if (!gemm.getTransposeB()) {
      gemm.getBMutable().assign(transpose(gemm.getLoc(), gemm.getB(), k, n));
      gemm.setTransposeB(true);
    }
  }

  /// [columns, rows] of [rows, columns]; one for all GEMMs of the block.
  Value transpose(Location loc, Value matrix, int64_t rows, int64_t columns) {
    matrix = sourceOf(matrix);
    Value &known = transposes[{matrix, rows}];
    if (known)
      return known;
    int64_t dtype = kernelTypeNumber(elementOf(matrix));
    auto copy = builder.create<LibraryOp>(
        loc, RankedTensorType::get({columns, rows}, elementOf(matrix)),
        "transpose", matrix, /*instance=*/Value(), /*scalars=*/ValueRange(),
        ArrayRef<int64_t>{dtype, rows, columns}, ArrayRef<double>(),
        /*random=*/false, /*results_first=*/false,
        /*stream=*/0, /*elements=*/0, /*workspaces=*/0,
        /*in_place=*/DenseI64ArrayAttr(), "transpose");
    ++transposed;
    return known = copy.getOutputs().front();
  }

  /// The same numbers in bf16, which has them all.
  Value wide(Location loc, Value matrix) {
    matrix = sourceOf(matrix);
    Value &known = wides[matrix];
    if (known)
      return known;
    auto type = cast<RankedTensorType>(matrix.getType());
    RegionShape shape{"widen",
                      spaceOf(type),
                      {{matrix, Access::Full}},
                      {{type.clone(builder.getBF16Type()), Access::Full}},
                      {}};
    auto rows = buildRows(
        builder, loc, shape,
        [](ArrayRef<Scalar> in) -> SmallVector<Scalar> { return {in[0]}; });
    return known = rows.getOutputs().front();
  }

  /// Multiplies in bf16, then by the scales: the products of numbers and their
  /// sums are those of 8 bits.
  void widen(GemmOp gemm) {
    Value result = multiply(gemm, wide(gemm.getLoc(), gemm.getA()),
                            wide(gemm.getLoc(), gemm.getB()));
    Following following{gemm, result, {}, gemm.getBias()};
    for (Value scale : {gemm.getScaleA(), gemm.getScaleB()})
      if (scale)
        following.scales.push_back(scale);
    replace(following);
    ++widened;
  }

  /// The library has a bias of bf16 where the result is f32.
  void addBiasBehind(GemmOp gemm) {
    auto result = cast<GemmOp>(builder.clone(*gemm));
    result.getBiasMutable().clear();
    replace({gemm, result.getResult(), {}, gemm.getBias()});
  }

  /// `alpha op(a) op(b)` in f32.
  Value multiply(GemmOp gemm, Value a, Value b) {
    auto type = cast<RankedTensorType>(gemm.getResult().getType());
    auto result = builder.create<GemmOp>(
        gemm.getLoc(), type.clone(builder.getF32Type()), /*auxiliary=*/Type(),
        a, b, /*bias=*/Value(), /*residual=*/Value(), /*preactivation=*/Value(),
        /*scale_a=*/Value(), /*scale_b=*/Value(), gemm.getM(), gemm.getN(),
        gemm.getK(), gemm.getTransposeA(), gemm.getTransposeB(), Epilogue::None,
        /*bias_gradient=*/false, gemm.getAlpha(), gemm.getLabel());
    return result.getResult();
  }

  /// What becomes of a GEMM that stood for `gemm`.
  struct Following {
    GemmOp gemm;
    Value result;
    SmallVector<Value, 2> scales;
    Value bias;
  };

  /// Puts `scales * result + bias` in the place of the product.
  void replace(const Following &following) {
    GemmOp gemm = following.gemm;
    RegionShape shape{
        "scale",
        {static_cast<int64_t>(gemm.getM()), static_cast<int64_t>(gemm.getN())},
        {{following.result, Access::Full}},
        {{gemm.getResult().getType(), Access::Full}},
        {}};
    for (Value scale : following.scales)
      shape.operands.push_back({scale, Access::Scalar});
    if (following.bias)
      shape.operands.push_back({following.bias, Access::Col});
    auto rows = buildRows(builder, gemm.getLoc(), shape,
                          [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                            Scalar y = in[0];
                            for (size_t i = 0; i < following.scales.size(); ++i)
                              y = y * in[1 + i];
                            return {following.bias ? y + in.back() : y};
                          });
    gemm.getResult().replaceAllUsesWith(rows.getOutputs().front());
    gemm.erase();
  }

  Block &block;
  F8Layouts layouts;
  OpBuilder builder;
  /// By matrix and its rows.
  DenseMap<std::pair<Value, int64_t>, Value> transposes;
  DenseMap<Value, Value> wides;
};

struct KernFitF8Gemms : hocket::impl::KernFitF8GemmsBase<KernFitF8Gemms> {
  using KernFitF8GemmsBase::KernFitF8GemmsBase;

  void runOnOperation() override {
    std::optional<F8Layouts> allowed =
        llvm::StringSwitch<std::optional<F8Layouts>>(layouts)
            .Case("none", F8Layouts::None)
            .Case("inner-fastest", F8Layouts::InnerFastest)
            .Case("any", F8Layouts::Any)
            .Default(std::nullopt);
    if (!allowed) {
      getOperation().emitError(
          "layouts must be `none`, `inner-fastest` or `any`, it is `")
          << layouts << "`";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody()) {
        F8Gemms results(block, *allowed);
        results.run();
        transposed += results.transposed;
        widened += results.widened;
      }
  }
};

} // namespace
