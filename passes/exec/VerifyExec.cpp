//===- VerifyExec.cpp - Whether a role can be executed --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: E11 to E14 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Lifetimes.h"
#include "passes/exec/Passes.h"

#include <set>

namespace hocket::exec {
#define GEN_PASS_DEF_VERIFYEXEC
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

/// E11: every role has its arena.
static LogicalResult verifyArena(RoleOp role) {
  if (!role.getArenaBytes() || !role.getLowerBound())
    return role.emitOpError("E11: has no arena: exec-lay-out-arena has not "
                            "run");
  return success();
}

/// E12: buffers live where they are used.
static LogicalResult verifyLifetimes(RoleOp role) {
  Lifetimes lifetimes(role);
  for (auto buffer : role.getOps<BufferOp>()) {
    Span used = lifetimes.of(buffer);
    if (used.isEmpty())
      continue;
    if (!buffer.getFirst() ||
        static_cast<int64_t>(*buffer.getFirst()) > used.first ||
        static_cast<int64_t>(*buffer.getLast()) < used.last)
      return buffer.emitOpError("E12: is used from ")
             << used.first << " to " << used.last << ", where it does not live";
  }
  return success();
}

/// E13: what crosses between stages has a sequence of its own.
static LogicalResult verifyTransfers(RoleOp role) {
  for (auto sequence : role.getOps<SequenceOp>()) {
    Block &block = sequence.getBody().front();
    for (auto transfer : block.getOps<TransferOp>())
      if (&block.front() != &block.back())
        return transfer.emitOpError("E13: stands beside other instructions: "
                                    "exec-schedule-transfers has not run");
  }
  return success();
}

/// E14: a wait is for an event that something records.
static LogicalResult verifyEvents(RoleOp role) {
  std::set<uint64_t> recorded;
  role.walk([&](RecordOp record) { recorded.insert(record.getEvent()); });
  WalkResult found = role.walk([&](WaitOp wait) {
    if (recorded.count(wait.getEvent()) > 0)
      return WalkResult::advance();
    wait.emitOpError("E14: waits for event ")
        << wait.getEvent() << ", which nothing records";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

namespace {

struct VerifyExec : exec::impl::VerifyExecBase<VerifyExec> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>())
      if (failed(verifyArena(role)) || failed(verifyLifetimes(role)) ||
          failed(verifyTransfers(role)) || failed(verifyEvents(role)))
        return signalPassFailure();
  }
};

} // namespace
