//===- Plan.h - The plan that a module carries ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_IR_PLAN_H
#define HOCKET_DIALECTS_PLAN_IR_PLAN_H

#include "dialects/plan/ParallelPlan.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

namespace hocket::plan {

/// Equal plans have one text. LLVM looks for this name.
inline llvm::hash_code
hash_value(const ParallelPlan &plan) { // NOLINT(readability-identifier-naming)
  return llvm::hash_value(printPlan(plan));
}

} // namespace hocket::plan

#include "dialects/plan/IR/PlanDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/IR/PlanAttrs.h.inc"

namespace hocket::plan {

/// The name of the attribute of a module.
inline constexpr llvm::StringLiteral stepAttrName = "plan.step";

/// The plan of a module; where it says none, that of one rank that computes one
/// sequence at a time and has no buckets.
ParallelPlan planOf(mlir::ModuleOp module);

/// Gives a module its plan.
void setPlan(mlir::ModuleOp module, const ParallelPlan &plan);

} // namespace hocket::plan

#endif // HOCKET_DIALECTS_PLAN_IR_PLAN_H
