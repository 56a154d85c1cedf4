//===- VerifyKern.cpp - Whether a module is complete at this level --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: K14, K15, K17, K18 and K30 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "kernels/library/Library.h"
#include "passes/kern/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <map>
#include <utility>

namespace hocket {
#define GEN_PASS_DEF_VERIFYKERN
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// K14: functions and fragments hold calls, constants and ops of this level.
LogicalResult verifyLevel(ModuleOp module) {
  LogicalResult result = success();
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "xf" && dialect != "dist" && dialect != "pipe")
      return;
    op->emitOpError("K14: is left from an earlier level");
    result = failure();
  });
  for (auto function : module.getOps<FunctionOpInterface>())
    for (Block &block : function.getFunctionBody())
      for (Operation &op : block)
        if (!isa<KernDialect, func::FuncDialect>(op.getDialect()) &&
            !isa<arith::ConstantOp>(op) && succeeded(result))
          result = op.emitOpError("K14: cannot stand in a function here");
  return result;
}

/// K15: what an action runs is a fragment.
LogicalResult verifySchedule(ScheduleOp schedule, SymbolTable &symbols) {
  for (auto action : schedule.getActions().getAsRange<ActionAttr>()) {
    FlatSymbolRefAttr name = action.getFunction();
    if (!symbols.lookup<FragmentOp>(name.getAttr()))
      return schedule.emitOpError("K15: runs ")
             << name << ", which is no `kern.fragment`";
  }
  return success();
}

/// K18: what a fragment takes of another is an argument or result of the
/// fragment of that kind in its stage, and of that type.
LogicalResult verifySaved(ModuleOp module) {
  std::map<std::pair<int64_t, FragmentKind>, FragmentOp> fragments;
  for (auto fragment : module.getOps<FragmentOp>())
    fragments[{fragment.getStageNumber(), fragment.getKind()}] = fragment;
  for (auto fragment : module.getOps<FragmentOp>())
    for (auto [i, type, source] :
         llvm::enumerate(fragment.getArgumentTypes(), fragment.getSources())) {
      auto saved = dyn_cast<SavedAttr>(source);
      if (!saved)
        continue;
      auto maker = fragments.find({fragment.getStageNumber(), saved.getKind()});
      ArrayRef<Type> types;
      if (maker != fragments.end())
        types = saved.getEnd() == FragmentEnd::Argument
                    ? maker->second.getArgumentTypes()
                    : maker->second.getResultTypes();
      int64_t index = saved.getIndex();
      if (index < 0 || index >= static_cast<int64_t>(types.size()) ||
          types[index] != type)
        return fragment.emitOpError("K18: takes ")
               << saved << " as argument " << i
               << ", which no fragment of its stage has of type " << type;
    }
  return success();
}

/// K17: of a function's contributions to a variable the first may set, the
/// others add.
LogicalResult verifyAccumulation(FunctionOpInterface function) {
  llvm::SmallPtrSet<Attribute, 16> begun;
  WalkResult walk = function.walk([&](AccumulateOp op) {
    bool first = begun.insert(op.getVariableAttr()).second;
    if (first || op.getAlways())
      return WalkResult::advance();
    op.emitOpError("K17: sets ")
        << op.getVariableAttr() << " after another contribution";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// K30: the library has the op, for as many buffers and scalars.
LogicalResult verifyCall(LibraryOp call) {
  const kernels::LibraryOp *op = kernels::findLibraryOp(call.getOp());
  if (!op)
    return call.emitOpError("K30: kernels/library has no op '")
           << call.getOp() << "'";
  size_t buffers = call.getInputs().size() + call.getOutputs().size();
  if (buffers < size_t(op->minBuffers) || buffers > size_t(op->maxBuffers))
    return call.emitOpError("K30: '")
           << call.getOp() << "' takes " << op->minBuffers << " to "
           << op->maxBuffers << " buffers, not " << buffers;
  // Those of random numbers are the seed, the step and the element base.
  size_t scalars = call.getScalars().size() + (call.getRandom() ? 3 : 0);
  if (scalars != size_t(op->scalars))
    return call.emitOpError("K30: '")
           << call.getOp() << "' takes " << op->scalars << " scalars, not "
           << scalars;
  return success();
}

LogicalResult verifyCalls(ModuleOp module) {
  WalkResult walk = module.walk([](LibraryOp call) {
    return failed(verifyCall(call)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

struct VerifyKern : hocket::impl::VerifyKernBase<VerifyKern> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verify() {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    if (failed(verifyLevel(module)))
      return failure();
    for (auto schedule : module.getOps<ScheduleOp>())
      if (failed(verifySchedule(schedule, symbols)))
        return failure();
    for (auto function : module.getOps<FunctionOpInterface>())
      if (failed(verifyAccumulation(function)))
        return failure();
    if (failed(verifyCalls(module)))
      return failure();
    return verifySaved(module);
  }
};

} // namespace
