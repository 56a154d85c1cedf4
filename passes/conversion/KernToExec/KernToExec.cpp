//===- KernToExec.cpp - Straight lines over one arena ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Flattens the scheduled functions, folds results into variables and operands,
// plans the arena, and writes `exec.role`. See FlatProgram.h for the steps.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"
#include "passes/conversion/Passes.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTKERNTOEXEC
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

struct KernToExec : hocket::impl::ConvertKernToExecBase<KernToExec> {
  using ConvertKernToExecBase::ConvertKernToExecBase;

  void runOnOperation() override {
    std::vector<kerntoexec::RoleFragments> roles =
        kerntoexec::selectRoles(getOperation());
    std::vector<kerntoexec::FlatProgram> programs(roles.size());
    for (auto [role, program] : llvm::zip(roles, programs)) {
      program.role = std::move(role);
      if (failed(buildLines(program)))
        return signalPassFailure();
    }
    // What crosses between ranks.
    if (failed(kerntoexec::settleTransfers(programs)))
      return signalPassFailure();
    for (kerntoexec::FlatProgram &program : programs) {
      if (failed(buildRole(program)))
        return signalPassFailure();
      program = kerntoexec::FlatProgram();
    }
    eraseLaidOut();
  }

private:
  /// All of a rank's instructions and buffers, without addresses.
  LogicalResult buildLines(kerntoexec::FlatProgram &program) {
    for (kern::ScheduleOp schedule : program.role.schedules) {
      program.slots = std::max<int64_t>(program.slots, schedule.getSlots());
      for (auto action : schedule.getActions().getAsRange<ArrayAttr>())
        program.microbatches = std::max(
            program.microbatches, cast<IntegerAttr>(action[1]).getInt() + 1);
    }
    // 1. One straight line for each scheduled function.
    if (failed(kerntoexec::flatten(getOperation(), program)))
      return failure();
    // 2. Collectives where something can run beside them.
    kerntoexec::orderCollectives(program, bucketBytes);
    // 3. Fewer buffers and copies.
    kerntoexec::FoldCounts counts;
    if (failed(kerntoexec::foldWrites(program, counts)))
      return failure();
    inPlace += counts.inPlace;
    direct += counts.direct;
    buffers += program.buffers.size();
    // 4. Gradients are reduced while backward still runs.
    kerntoexec::bucketGradients(program, bucketBytes);
    // 5. Gradients that one microbatch makes need no bytes before that.
    kerntoexec::freeGradients(program);
    // 6. Streams, lifetimes, copies.
    kerntoexec::overlapCollectives(program);
    kerntoexec::numberLanes(program);
    kerntoexec::joinOwnTransfers(program);
    kerntoexec::findLifetimes(program);
    kerntoexec::countCopies(program);
    return success();
  }

  LogicalResult buildRole(kerntoexec::FlatProgram &program) {
    // 7. Offsets; then what has to wait for what.
    if (failed(kerntoexec::layOut(program)))
      return failure();
    kerntoexec::placeEvents(program);
    // 8. The role.
    kerntoexec::emit(program);
    return success();
  }

  /// What has been laid out is no longer needed.
  void eraseLaidOut() {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<kern::ScheduleOp>(op))
        op.erase();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<func::FuncOp, kern::VariableOp>(op))
        op.erase();
  }
};

} // namespace
