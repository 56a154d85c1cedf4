//===- VerifyKern.cpp - Whether a module is complete at this level --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: K14 to K18 and K30 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "kernels/library/Library.h"
#include "passes/kern/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <map>
#include <string>
#include <utility>

namespace hocket {
#define GEN_PASS_DEF_VERIFYKERN
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// K14: functions hold calls, constants and ops of this level.
LogicalResult verifyLevel(ModuleOp module) {
  LogicalResult result = success();
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "xf" && dialect != "pipe")
      return;
    op->emitOpError("K14: is left from an earlier level");
    result = failure();
  });
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (!isa<KernDialect, func::FuncDialect>(op.getDialect()) &&
            !isa<arith::ConstantOp>(op) && succeeded(result))
          result = op.emitOpError("K14: cannot stand in a function here");
  return result;
}

/// K15: an action's function exists and is a fragment.
LogicalResult verifySchedule(ScheduleOp schedule, SymbolTable &symbols) {
  for (auto action : schedule.getActions().getAsRange<ActionAttr>()) {
    FlatSymbolRefAttr name = action.getFunction();
    auto function = symbols.lookup<func::FuncOp>(name.getAttr());
    if (!function || !function->getAttrOfType<StringAttr>("kern.fragment"))
      return schedule.emitOpError("K15: runs ")
             << name << ", which is no function with `kern.fragment`";
  }
  return success();
}

/// K16: backward takes what forward takes, then what it returns after the
/// loss.
LogicalResult verifyResiduals(ModuleOp module) {
  func::FuncOp forward, backward;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>("kern.fragment");
    if (function->hasAttr("kern.stage"))
      continue; // K18 is about these.
    if (kind && kind.getValue() == "F")
      forward = function;
    if (kind && kind.getValue() == "B")
      backward = function;
  }
  if (!forward || !backward)
    return success();
  SmallVector<Type> expected(forward.getArgumentTypes());
  if (forward.getNumResults() > 0)
    llvm::append_range(expected, forward.getResultTypes().drop_front());
  if (ArrayRef(expected) == backward.getArgumentTypes())
    return success();
  return backward.emitOpError("K16: takes ")
         << backward.getArgumentTypes() << ", but forward leaves " << expected;
}

/// K18: what a stage's function takes as saved is a result of the named
/// fragment of its stage, and of that type.
LogicalResult verifySaved(ModuleOp module) {
  std::map<std::pair<int64_t, std::string>, func::FuncOp> fragments;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto stage = function->getAttrOfType<IntegerAttr>("kern.stage"))
      if (auto kind = function->getAttrOfType<StringAttr>("kern.fragment"))
        fragments[{stage.getInt(), kind.getValue().str()}] = function;
  for (auto &[key, function] : fragments)
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto saved = function.getArgAttrOfType<ArrayAttr>(i, "kern.saved");
      if (!saved)
        continue;
      auto from = saved.size() == 2 ? dyn_cast<StringAttr>(saved[0]) : nullptr;
      auto index =
          saved.size() == 2 ? dyn_cast<IntegerAttr>(saved[1]) : nullptr;
      auto found = from && index
                       ? fragments.find({key.first, from.getValue().str()})
                       : fragments.end();
      func::FuncOp maker =
          found == fragments.end() ? func::FuncOp() : found->second;
      if (!maker || index.getInt() < 0 ||
          index.getInt() >= static_cast<int64_t>(maker.getNumResults()) ||
          maker.getResultTypes()[index.getInt()] !=
              function.getArgumentTypes()[i])
        return function.emitOpError("K18: takes ")
               << saved << " as argument " << i
               << ", which no fragment of its stage returns";
    }
  return success();
}

/// K17: of a function's contributions to a variable the first may set, the
/// others add.
LogicalResult verifyAccumulation(func::FuncOp function) {
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
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(verifyAccumulation(function)))
        return failure();
    if (failed(verifyCalls(module)) || failed(verifySaved(module)))
      return failure();
    return verifyResiduals(module);
  }
};

} // namespace
