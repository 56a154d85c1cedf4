//===- KernToExec.cpp - Straight lines over one arena ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Writes what each pipeline rank runs as an `exec.role`. Everything that is
// still to be decided there is the matter of passes/exec.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/RoleConversion.h"
#include "passes/conversion/Passes.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTKERNTOEXEC
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

struct KernToExec : hocket::impl::ConvertKernToExecBase<KernToExec> {
  void runOnOperation() override {
    for (const kerntoexec::RoleFragments &role :
         kerntoexec::selectRoles(getOperation())) {
      if (failed(kerntoexec::convertRole(getOperation(), role)))
        return signalPassFailure();
      ++roles;
    }
    eraseConverted();
  }

private:
  /// What the roles say now: schedules first, as they name fragments.
  void eraseConverted() {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<kern::ScheduleOp>(op))
        op.erase();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<kern::FragmentOp, func::FuncOp, kern::VariableOp>(op))
        op.erase();
  }
};

} // namespace
