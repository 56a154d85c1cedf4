//===- FuseGemmEpilogue.cpp - Gives a GEMM what follows it ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Joins regions that only add a bias, apply a nonlinearity or its derivative,
/// add a residual or change the element type with the GEMM before them, and
/// sums of a bias gradient with the GEMM of the weight's.
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

#include <optional>

namespace hocket {
#define GEN_PASS_DEF_KERNFUSEGEMMEPILOGUE
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// What a region adds to the GEMM before it.
struct Following {
  Value bias, residual;
  Value preactivation; ///< where `activation` is not itself but its derivative
  kern::Epilogue activation = kern::Epilogue::None;
  bool keepsInput = false; ///< the GEMM itself is still read elsewhere
};

SmallVector<Scalar> sum(ArrayRef<Scalar> in) { return {in[0] + in[1]}; }
SmallVector<Scalar> identity(ArrayRef<Scalar> in) { return {in[0]}; }

/// The GEMM whose result is operand `i`, element by element.
GemmOp gemmOf(RowsOp rows, unsigned i) {
  if (rows.getInputAccess(i) != Access::Full)
    return {};
  auto gemm = sourceOf(rows.getInputs()[i]).getDefiningOp<GemmOp>();
  if (!gemm || sourceOf(rows.getInputs()[i]) != gemm.getResult())
    return {};
  return gemm;
}

/// Whether nothing but `rows` reads the GEMM.
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

/// The nonlinearity that `rows` is, or (of two operands) whose derivative at
/// the second the first is times, if it is one.
std::optional<kern::Epilogue> activationOf(RowsOp rows) {
  unsigned operands = rows.getInputs().size();
  for (auto kind :
       {kern::Epilogue::Gelu, kern::Epilogue::GeluTanh, kern::Epilogue::Silu,
        kern::Epilogue::Relu, kern::Epilogue::ReluSquared, kern::Epilogue::Tanh,
        kern::Epilogue::QuickGelu})
    if (computes(rows, operands,
                 [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                   if (operands == 1)
                     return {activation(kind, in[0])};
                   return {in[0] * activationDerivative(kind, in[1])};
                 }))
      return kind;
  return std::nullopt;
}

/// What `rows`, of two operands, does to the first, a GEMM that is only
/// read there, if that is a derivative.
std::optional<Following> matchGradient(RowsOp rows) {
  std::optional<kern::Epilogue> kind = activationOf(rows);
  if (!kind || rows.getInputAccess(1) != Access::Full)
    return std::nullopt;
  Following epilogue;
  epilogue.activation = *kind;
  epilogue.preactivation = sourceOf(rows.getInputs()[1]);
  return epilogue;
}

/// What `rows` does to operand `i`, the GEMM.
std::optional<Following> matchEpilogue(RowsOp rows, unsigned i, GemmOp gemm) {
  bool only = isOnlyRead(gemm, rows);
  bool plain = gemm.getEpilogue() == kern::Epilogue::None &&
               !gemm.getResidual() && !gemm.getAuxiliary();
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
  if (!only || gemm.getResidual() || rows.getInputs().size() != 2)
    return std::nullopt;
  if (!computes(rows, 2, sum))
    return i == 0 && plain && !gemm.getBias() ? matchGradient(rows)
                                              : std::nullopt;
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

/// Whether cuBLASLt computes `gemm` with `epilogue` as one GEMM of results
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
  // Nothing says which nonlinearities it has behind 8-bit operands.
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
  if (gemm.getPreactivation())
    return false;
  bool keeps =
      epilogue.keepsInput || gemm.getAuxiliary() || epilogue.preactivation;
  Value kept = epilogue.preactivation ? epilogue.preactivation
               : gemm.getAuxiliary()  ? gemm.getAuxiliary()
                                      : gemm.getResult();
  if (keeps && (elementOf(kept) != type || gemm.getN() % 8 != 0))
    return false;
  return !activates || !residual;
}

/// Whether `columns` sums the left factor of `gemm` over the inner dimension,
/// and cuBLASLt does so with the GEMM.
bool sumsLeftFactor(ColumnsOp columns, GemmOp gemm) {
  if (columns.getInputs().size() != 1 || columns.getOutputs().size() != 1 ||
      columns.getInputAccess(0) != Access::Full ||
      sourceOf(columns.getInputs()[0]) != sourceOf(gemm.getA()) ||
      columns.getYield().getValues().front() !=
          columns.getBody().front().getArgument(0))
    return false;
  auto elementOf = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  bool plain = gemm.getEpilogue() == kern::Epilogue::None && !gemm.getBias() &&
               !gemm.getResidual() && !gemm.getAuxiliary();
  // Its bias has the result's type.
  return plain && gemm.getTransposeA() && columns.getCols() == gemm.getM() &&
         columns.getRows() == gemm.getK() &&
         elementOf(gemm.getA()).getIntOrFloatBitWidth() > 8 &&
         elementOf(columns.getOutputs()[0]) == elementOf(gemm.getResult());
}

std::string joinedLabel(GemmOp gemm, StringRef following) {
  if (gemm.getLabel().empty())
    return following.str();
  return (gemm.getLabel() + "+" + following).str();
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
        if (library == "cublaslt")
          for (auto columns :
               llvm::make_early_inc_range(block.getOps<ColumnsOp>()))
            fuseSum(columns);
        tidyBlock(block);
      }
  }

private:
  /// Gives `rows` to the GEMM that its operand `i` is; erases it then.
  bool fuseWith(RowsOp rows, unsigned i) {
    GemmOp gemm = gemmOf(rows, i);
    if (!gemm || gemm->getBlock() != rows->getBlock())
      return false;
    std::optional<Following> epilogue = matchEpilogue(rows, i, gemm);
    if (!epilogue)
      return false;
    // kernels/cpu has no derivatives.
    if (library == "cublaslt"
            ? !isOneOfCublasLt(gemm, *epilogue, rows.getOutputs()[0].getType())
            : bool(epilogue->preactivation))
      return false;
    SmallVector<Value> operands(gemm->getOperands());
    for (Value added :
         {epilogue->bias, epilogue->residual, epilogue->preactivation})
      if (added)
        operands.push_back(added);
    Placement placement = placeTogether(gemm, rows, operands);
    if (!placement)
      return false;
    replace(gemm, rows, *epilogue, placement);
    ++fused;
    return true;
  }

  /// Gives `columns` to a GEMM that reads the same matrix; erases it then.
  void fuseSum(ColumnsOp columns) {
    SmallVector<Value> same{sourceOf(columns.getInputs().front())};
    for (size_t i = 0; i < same.size(); ++i)
      for (Operation *user : same[i].getUsers()) {
        if (isa<ViewOp>(user))
          same.push_back(user->getResult(0));
        auto gemm = dyn_cast<GemmOp>(user);
        if (!gemm || gemm->getBlock() != columns->getBlock() ||
            !sumsLeftFactor(columns, gemm))
          continue;
        bool before = gemm->isBeforeInBlock(columns);
        Placement placement =
            placeTogether(before ? gemm.getOperation() : columns.getOperation(),
                          before ? columns.getOperation() : gemm.getOperation(),
                          gemm->getOperands());
        if (!placement)
          continue;
        replace(gemm, columns, placement);
        ++fused;
        return;
      }
  }

  static void replace(GemmOp gemm, ColumnsOp columns,
                      const Placement &placement) {
    OpBuilder builder(gemm.getContext());
    builder.setInsertionPointAfter(placement.after);
    auto result = builder.create<GemmOp>(
        builder.getFusedLoc({gemm.getLoc(), columns.getLoc()}),
        gemm.getResult().getType(), columns.getOutputs()[0].getType(),
        gemm.getA(), gemm.getB(), /*bias=*/Value(), /*residual=*/Value(),
        /*preactivation=*/Value(), gemm.getScaleA(), gemm.getScaleB(),
        gemm.getM(), gemm.getN(), gemm.getK(), gemm.getTransposeA(),
        gemm.getTransposeB(), kern::Epilogue::None, /*bias_gradient=*/true,
        gemm.getAlpha(), joinedLabel(gemm, columns.getLabel()));
    moveBehind(result, placement);
    gemm.getResult().replaceAllUsesWith(result.getResult());
    columns.getOutputs()[0].replaceAllUsesWith(result.getAuxiliary());
    gemm.erase();
    columns.erase();
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
        epilogue.preactivation ? epilogue.preactivation
                               : gemm.getPreactivation(),
        gemm.getScaleA(), gemm.getScaleB(), gemm.getM(), gemm.getN(),
        gemm.getK(), gemm.getTransposeA(), gemm.getTransposeB(),
        activates ? epilogue.activation : gemm.getEpilogue(),
        gemm.getBiasGradient(), gemm.getAlpha(),
        joinedLabel(gemm, rows.getLabel()));
    moveBehind(result, placement);
    rows.getOutputs()[0].replaceAllUsesWith(result.getResult());
    rows.erase();
    if (epilogue.keepsInput)
      gemm.getResult().replaceAllUsesWith(result.getAuxiliary());
    else if (gemm.getAuxiliary())
      gemm.getAuxiliary().replaceAllUsesWith(result.getAuxiliary());
    // What is left of the GEMM are views that nothing reads.
    SmallVector<Operation *> dead{gemm};
    for (size_t i = 0; i < dead.size(); ++i)
      llvm::append_range(dead, dead[i]->getUsers());
    for (Operation *op : llvm::reverse(dead))
      op->erase();
  }
};

} // namespace
