//===- Reasons.h - What propagation decides by ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `#dist.reason`, as propagation writes it down while it decides and
/// dist-explain-shardings reads it. An axis stands in a sharding once, so that
/// its name is the place that a reason is for.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_REASONS_H
#define HOCKET_PASSES_DIST_REASONS_H

#include "passes/dist/OpSharding.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace hocket::dist {

/// Of one tensor: one for each axis of its sharding, or one for all of it.
using Reasons = llvm::SmallVector<ReasonAttr, 4>;

/// Of each result of `op`, or of a variable.
void setReasons(mlir::Operation *op, llvm::ArrayRef<Reasons> tensors);
/// What of them is of tensor `index`; empty if nothing is.
Reasons reasonsOf(mlir::Operation *op, unsigned index);

/// Of each operand of `op`; nothing for one that stays.
void setMoves(mlir::Operation *op,
              llvm::ArrayRef<std::optional<Reasons>> operands);
/// Why operand `index` moves; nothing if it stays.
std::optional<Reasons> moveOf(mlir::Operation *op, unsigned index);

/// That of `axis`; null if there is none.
ReasonAttr findReason(llvm::ArrayRef<ReasonAttr> reasons, llvm::StringRef axis);

/// That `axes` are those of dim `dim` of operand `operand`.
Reasons follow(const Axes &axes, int64_t operand, int64_t dim,
               mlir::MLIRContext *context);
/// Adds that sums over `axes` are those of operand `operand`, in which the op
/// is linear.
void passSums(Reasons &reasons, const Axes &axes, int64_t operand,
              mlir::MLIRContext *context);

/// The reasons of an op's results and of what its operands lose, by the choice
/// that was made for it.
class ChoiceReasons {
public:
  /// Both outlive this.
  ChoiceReasons(const xf::FactorRule &rule, const OpSharding &choice)
      : rule(rule), choice(choice) {}

  /// Of result `index`, split as `sharding`. Partial sums that the op does not
  /// make have none.
  Reasons ofResult(unsigned index, const Sharding &sharding) const;

  /// Why operand `index` may not keep what `to` lacks.
  Reasons ofMove(unsigned index, const Sharding &from, const Sharding &to,
                 mlir::MLIRContext *context) const;

private:
  /// What gave a factor of `dim` its `axis`; null if none has it.
  ReasonAttr ofAxis(const xf::DimFactors &dim, llvm::StringRef axis) const;
  /// Why a result of `factors` is a sum over `axis`; null if the op does not
  /// sum over it.
  ReasonAttr ofSum(const xf::TensorFactors &factors,
                   llvm::StringRef axis) const;
  /// Why dim `dim` of operand `index` loses `axis`.
  ReasonAttr ofLoss(unsigned index, int64_t dim, mlir::StringAttr axis) const;

  const xf::FactorRule &rule;
  const OpSharding &choice;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_REASONS_H
