//===- FreeGradients.cpp - When a gradient needs its bytes ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Over several microbatches a gradient is an accumulator and keeps its bytes
// through all of them. With one microbatch it is a value like any other, from
// the instruction that sets it to the update: while backward runs, the bytes of
// residuals that it has done with become those of gradients.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"
#include "passes/exec/StageCopies.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECFREEGRADIENTS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

/// With one microbatch, whatever the first run sets is overwritten.
static void dropLaterRuns(RoleOp role) {
  role.walk([](InstructionOpInterface op) {
    if (accumulationOf(op) == Accumulation::AddUnlessFirst)
      setAccumulation(op, Accumulation::Overwrite);
  });
}

/// By buffer, whether the first instruction that uses it overwrites it.
static llvm::DenseMap<Value, bool> findSetFirst(RoleOp role) {
  llvm::DenseMap<Value, bool> set;
  role.walk([&](InstructionOpInterface op) {
    for (Value buffer : op.getReads())
      set.try_emplace(buffer, false);
    for (Value buffer : op.getWrites())
      set.try_emplace(buffer, accumulationOf(op) == Accumulation::Overwrite);
  });
  return set;
}

namespace {

struct FreeGradients : exec::impl::ExecFreeGradientsBase<FreeGradients> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>()) {
      if (microbatchesOf(role) > 1)
        continue;
      dropLaterRuns(role);
      llvm::DenseMap<Value, bool> setFirst = findSetFirst(role);
      for (auto buffer : role.getOps<BufferOp>())
        if (buffer.getPersistent() &&
            buffer.getKind() == MemoryKind::Gradients &&
            setFirst.lookup(buffer)) {
          buffer.setPersistent(false);
          ++freed;
        }
    }
  }
};

} // namespace
