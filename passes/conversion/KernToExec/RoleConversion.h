//===- RoleConversion.h - What a rank runs, as exec.role --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The two steps of `convert-kern-to-exec`: which fragments a pipeline rank
/// runs, and these as an `exec.role` whose buffers have no addresses yet.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_KERNTOEXEC_ROLECONVERSION_H
#define HOCKET_PASSES_CONVERSION_KERNTOEXEC_ROLECONVERSION_H

#include "dialects/exec/IR/Exec.h"
#include "dialects/kern/IR/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace hocket::kerntoexec {

/// What one pipeline rank runs.
struct RoleFragments {
  int64_t rank = 0;
  bool isCut = false; ///< one of several stages
  std::vector<kern::ScheduleOp> schedules;
  /// In an order in which one microbatch alone could run them.
  std::vector<kern::FragmentOp> fragments;
};

/// One for each pipeline rank, ascending.
std::vector<RoleFragments> selectRoles(mlir::ModuleOp module);

/// Appends the `exec.role` of `fragments` to the module: a sequence for each
/// fragment with every call inlined, a buffer for each value, and an entry for
/// each schedule.
mlir::LogicalResult convertRole(mlir::ModuleOp module,
                                const RoleFragments &fragments);

} // namespace hocket::kerntoexec

#endif // HOCKET_PASSES_CONVERSION_KERNTOEXEC_ROLECONVERSION_H
