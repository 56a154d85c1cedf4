//===- FuseGemmEpilogue.cpp - Gives a product what follows it -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Joins regions that only add a bias, apply a nonlinearity, add a residual or
/// change the element type with the product before them.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/OpOrder.h"
#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"
#include "passes/kern/SameCode.h"
#include "passes/kern/TidyBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hocket {
#define GEN_PASS_DEF_KERNFUSEGEMMEPILOGUE
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// What a region adds to the product before it.
struct Following {
  Value bias, residual;
  kern::Epilogue activation = kern::Epilogue::None;
  bool keepsInput = false; ///< the product itself is still read elsewhere
};

SmallVector<Scalar> sum(ArrayRef<Scalar> in) { return {in[0] + in[1]}; }
SmallVector<Scalar> identity(ArrayRef<Scalar> in) { return {in[0]}; }

/// The product whose result is operand `i`, element by element.
GemmOp productOf(RowsOp rows, unsigned i) {
  if (rows.getInputAccess(i) != Access::Full)
    return {};
  auto gemm = sourceOf(rows.getInputs()[i]).getDefiningOp<GemmOp>();
  if (!gemm || sourceOf(rows.getInputs()[i]) != gemm.getResult())
    return {};
  return gemm;
}

/// Whether nothing but `rows` reads the product.
bool isOnlyRead(GemmOp gemm, RowsOp rows) {
  SmallVector<Value> values{gemm.getResult()};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<ViewOp>(user))
        values.push_back(user->getResult(0));
      else if (user != rows)
        return false;
    }
  return true;
}

/// The nonlinearity that `rows` is, if it is one.
std::optional<kern::Epilogue> activationOf(RowsOp rows) {
  for (auto kind :
       {kern::Epilogue::Gelu, kern::Epilogue::GeluTanh, kern::Epilogue::Silu,
        kern::Epilogue::Relu, kern::Epilogue::ReluSquared})
    if (computes(rows, 1, [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
          return {activation(kind, in[0])};
        }))
      return kind;
  return std::nullopt;
}

/// What `rows` does to operand `i`, the product.
std::optional<Following> matchEpilogue(RowsOp rows, unsigned i, GemmOp gemm) {
  bool only = isOnlyRead(gemm, rows);
  bool plain =
      gemm.getEpilogue() == kern::Epilogue::None && !gemm.getResidual();
  Following epilogue;
  if (rows.getInputs().size() == 1) {
    if (computes(rows, 1, identity))
      return only ? std::optional(epilogue) : std::nullopt;
    std::optional<kern::Epilogue> kind = activationOf(rows);
    if (!kind || !plain)
      return std::nullopt;
    epilogue.activation = *kind;
    epilogue.keepsInput = !only;
    return epilogue;
  }
  if (!only || gemm.getResidual() || !computes(rows, 2, sum))
    return std::nullopt;
  Value other = rows.getInputs()[1 - i];
  Access access = rows.getInputAccess(1 - i);
  if (access == Access::Full)
    epilogue.residual = sourceOf(other);
  else if (access == Access::Col && plain && !gemm.getBias() &&
           rows.getCols() == gemm.getN())
    epilogue.bias = other;
  else
    return std::nullopt;
  return epilogue;
}

/// Whether cuBLASLt computes `gemm` with `epilogue` as one product of results
/// of type `result`.
bool isOneOfCublasLt(GemmOp gemm, const Following &epilogue, Type result) {
  auto elementOf = [](auto typed) { return getElementTypeOrSelf(typed); };
  bool activates = epilogue.activation != kern::Epilogue::None ||
                   gemm.getEpilogue() != kern::Epilogue::None;
  for (auto kind : {epilogue.activation, gemm.getEpilogue()})
    if (kind != kern::Epilogue::None && kind != kern::Epilogue::GeluTanh)
      return false;
  Type type = elementOf(result);
  bool narrow = elementOf(gemm.getA()).getIntOrFloatBitWidth() == 8;
  if (narrow ? !type.isF32() && !type.isBF16() && !type.isF16()
             : type != elementOf(gemm.getA()) && !type.isF32())
    return false;
  // Nothing says which nonlinearities it has behind 8-bit factors.
  if (narrow && activates)
    return false;
  Value bias = epilogue.bias ? epilogue.bias : gemm.getBias();
  Value residual = epilogue.residual ? epilogue.residual : gemm.getResidual();
  for (Value added : {bias, residual})
    if (added && elementOf(added) != type)
      return false;
  // It has a bias of bf16 there.
  if (narrow && bias && type.isF32())
    return false;
  bool keeps = epilogue.keepsInput || gemm.getAuxiliary();
  Value kept = gemm.getAuxiliary() ? gemm.getAuxiliary() : gemm.getResult();
  if (keeps && (elementOf(kept) != type || gemm.getN() % 8 != 0))
    return false;
  return !activates || !residual;
}

std::string joinedLabel(GemmOp gemm, RowsOp rows) {
  if (gemm.getLabel().empty())
    return rows.getLabel().str();
  return (gemm.getLabel() + "+" + rows.getLabel()).str();
}

struct KernFuseGemmEpilogue
    : hocket::impl::KernFuseGemmEpilogueBase<KernFuseGemmEpilogue> {
  using KernFuseGemmEpilogueBase::KernFuseGemmEpilogueBase;

  void runOnOperation() override {
    if (!library.empty() && library != "cublaslt") {
      getOperation().emitError("library must be `cublaslt` or empty, it is `")
          << library << "`";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody()) {
        for (auto rows : llvm::make_early_inc_range(block.getOps<RowsOp>()))
          for (unsigned i = 0; i < rows.getInputs().size(); ++i)
            if (fuseWith(rows, i))
              break;
        tidyBlock(block);
      }
  }

private:
  /// Gives `rows` to the product that its operand `i` is; erases it then.
  bool fuseWith(RowsOp rows, unsigned i) {
    GemmOp gemm = productOf(rows, i);
    if (!gemm || gemm->getBlock() != rows->getBlock())
      return false;
    std::optional<Following> epilogue = matchEpilogue(rows, i, gemm);
    if (!epilogue ||
        (library == "cublaslt" &&
         !isOneOfCublasLt(gemm, *epilogue, rows.getOutputs()[0].getType())))
      return false;
    SmallVector<Value> operands(gemm->getOperands());
    for (Value added : {epilogue->bias, epilogue->residual})
      if (added)
        operands.push_back(added);
    Placement placement = placeTogether(gemm, rows, operands);
    if (!placement)
      return false;
    replace(gemm, rows, *epilogue, placement);
    ++fused;
    return true;
  }

  static void replace(GemmOp gemm, RowsOp rows, const Following &epilogue,
                      const Placement &placement) {
    OpBuilder builder(gemm.getContext());
    builder.setInsertionPointAfter(placement.after);
    Type auxiliary;
    if (epilogue.keepsInput)
      auxiliary = gemm.getResult().getType();
    else if (gemm.getAuxiliary())
      auxiliary = gemm.getAuxiliary().getType();
    bool activates = epilogue.activation != kern::Epilogue::None;
    auto result = builder.create<GemmOp>(
        builder.getFusedLoc({gemm.getLoc(), rows.getLoc()}),
        rows.getOutputs()[0].getType(), auxiliary, gemm.getA(), gemm.getB(),
        epilogue.bias ? epilogue.bias : gemm.getBias(),
        epilogue.residual ? epilogue.residual : gemm.getResidual(),
        gemm.getScaleA(), gemm.getScaleB(), gemm.getM(), gemm.getN(),
        gemm.getK(), gemm.getTransposeA(), gemm.getTransposeB(),
        activates ? epilogue.activation : gemm.getEpilogue(), gemm.getAlpha(),
        joinedLabel(gemm, rows));
    moveBehind(result, placement);
    rows.getOutputs()[0].replaceAllUsesWith(result.getResult());
    rows.erase();
    if (epilogue.keepsInput)
      gemm.getResult().replaceAllUsesWith(result.getAuxiliary());
    else if (gemm.getAuxiliary())
      gemm.getAuxiliary().replaceAllUsesWith(result.getAuxiliary());
    // What is left of the product are views that nothing reads.
    SmallVector<Operation *> dead{gemm};
    for (size_t i = 0; i < dead.size(); ++i)
      llvm::append_range(dead, dead[i]->getUsers());
    for (Operation *op : llvm::reverse(dead))
      op->erase();
  }
};

} // namespace
