//===- State.cpp - Views, variables, the host and the step ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"

#include "dialects/dist/IR/Sharding.h"
#include "passes/conversion/PipeToKern/LibraryCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <utility>

using namespace mlir;

namespace hocket::kern {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Values lower(OpBuilder &builder, xf::ReshapeOp op) {
  return {builder.create<ViewOp>(op.getLoc(), op.getResult().getType(),
                                 op.getInput())};
}

/// Whether `value`, whatever its shape, is added to a variable, which wants a
/// tensor of its own.
static bool isAccumulated(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<xf::ReshapeOp, ViewOp>(user))
      return isAccumulated(user->getResult(0));
    return isa<xf::AccumulateOp, AccumulateOp>(user);
  });
}

Values lower(OpBuilder &builder, xf::PrefixOp op) {
  if (isAccumulated(op.getResult())) {
    Type type = op.getResult().getType();
    Call copy{"slice_shard",
              {op.getInput()},
              {type},
              {dtypeOf(type), 1, elementsOf(op.getResult()),
               elementsOf(op.getInput())}};
    copy.scalars = {builder.create<arith::ConstantIntOp>(op.getLoc(), 0, 32)};
    return buildCall(builder, op, copy);
  }
  return {builder.create<ViewOp>(op.getLoc(), op.getResult().getType(),
                                 op.getInput())};
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static VariableInfoAttr infoOf(Builder &builder, xf::VariableOp op) {
  StringAttr kind;
  FloatAttr value;
  if (xf::InitAttr init = op.getInitAttr()) {
    kind = builder.getStringAttr(init.getKind());
    value = builder.getF64FloatAttr(
        init.getValue() ? init.getValue().getValueAsDouble() : 0.0);
  }
  ArrayAttr axes;
  if (auto sharding = op->getAttrOfType<dist::ShardingAttr>("dist.sharding"))
    if (!dist::Sharding::of(sharding).isWhole())
      axes = sharding.getDims();
  return VariableInfoAttr::get(
      builder.getContext(), axes, op.getDecayAttr(), op.getFrozenAttr(), kind,
      op.getRandomKeyAttr(),
      builder.getDenseI64ArrayAttr(op.getWholeType().getShape()), value);
}

Values lower(OpBuilder &builder, xf::VariableOp op) {
  builder.create<VariableOp>(
      op.getLoc(), op.getSymNameAttr(), op.getTypeAttr(),
      VariableKindAttr::get(builder.getContext(), op.getKind()), op.getOfAttr(),
      op.getSlotAttr(), infoOf(builder, op));
  return {};
}

Values lower(OpBuilder &builder, xf::ReadOp op) {
  return {builder.create<ReadOp>(op.getLoc(), op.getResult().getType(),
                                 op.getVariableAttr())};
}

Values lower(OpBuilder &builder, xf::WriteOp op) {
  builder.create<WriteOp>(op.getLoc(), op.getValue(), op.getVariableAttr());
  return {};
}

/// In a function the first contribution to a variable sets it, others add.
Values lower(OpBuilder &builder, xf::AccumulateOp op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  bool first = true;
  if (function)
    function.walk([&](AccumulateOp before) {
      first &= before.getVariableAttr() != op.getVariableAttr();
    });
  builder.create<AccumulateOp>(op.getLoc(), op.getValue(), op.getVariable(),
                               !first);
  return {};
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

Values lower(OpBuilder &builder, xf::InputOp op) {
  return {builder.create<InputOp>(op.getLoc(), op.getResult().getType(),
                                  op.getNameAttr())};
}

Values lower(OpBuilder &builder, xf::OutputOp op) {
  ArrayAttr axes;
  if (auto sharding = op->getAttrOfType<dist::ShardingAttr>("dist.sharding"))
    if (!dist::Sharding::of(sharding).isWhole())
      axes = sharding.getDims();
  builder.create<OutputOp>(op.getLoc(), op.getValue(), op.getNameAttr(), axes);
  return {};
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Kept whole.
Values lower(OpBuilder &builder, xf::TrainingOp op) {
  builder.create<step::TrainingOp>(
      op.getLoc(), op.getModelNameAttr(), op.getMicroBatchSizeAttr(),
      op.getGlobalBatchSizeAttr(), op.getSequenceLengthAttr(),
      op.getOptimizer(), op.getClipNormAttr(), op.getPrecisionAttr(),
      op.getLossScaleAttr(), op.getFp8Attr(), op.getBatchSizesAttr(),
      op.getRuntimeAttr());
  return {};
}

/// The fragment takes over its function's body.
LogicalResult lowerFragment(RewriterBase &builder, pipe::FragmentOp op) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getFunctionAttr());
  if (!function || function.isExternal())
    return builder.notifyMatchFailure(op, [&](Diagnostic &diagnostic) {
      diagnostic << op.getFunctionAttr()
                 << " has no body, or is another fragment already";
    });
  builder.setInsertionPoint(function);
  auto fragment = builder.create<FragmentOp>(
      function.getLoc(), FragmentKindAttr::get(op.getContext(), op.getKind()),
      function.getSymNameAttr(), function.getFunctionTypeAttr(),
      op.getSourcesAttr(), op.getTargetsAttr(),
      op.getCut() ? op.getStageAttr() : IntegerAttr(), ArrayAttr(),
      ArrayAttr());
  fragment.getBody().takeBody(function.getBody());
  Operation *end = fragment.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  builder.create<ReturnOp>(end->getLoc(), end->getOperands());
  builder.eraseOp(end);
  builder.eraseOp(function);
  return success();
}

/// The functions of a pipeline rank, by kind and chunk.
using RankFunctions =
    std::map<std::pair<FragmentKind, int64_t>, FlatSymbolRefAttr>;

static RankFunctions functionsOf(pipe::ScheduleOp schedule) {
  RankFunctions functions;
  for (auto fragment : schedule->getParentRegion()->getOps<pipe::FragmentOp>())
    if (fragment.getRank() == schedule.getRank())
      functions.try_emplace(
          {fragment.getKind(), static_cast<int64_t>(fragment.getChunk())},
          fragment.getFunctionAttr());
  return functions;
}

LogicalResult lowerSchedule(RewriterBase &builder, pipe::ScheduleOp op) {
  RankFunctions functions = functionsOf(op);
  SmallVector<Attribute> actions;
  for (auto action : op.getActions().getAsRange<pipe::ActionAttr>()) {
    auto function = functions.find({action.getKind(), action.getChunk()});
    if (function == functions.end())
      return builder.notifyMatchFailure(op, [&](Diagnostic &diagnostic) {
        diagnostic << "runs " << action << ", which is no fragment";
      });
    actions.push_back(ActionAttr::get(builder.getContext(), function->second,
                                      action.getMicrobatch(),
                                      action.getSlot()));
  }
  builder.create<ScheduleOp>(op.getLoc(), op.getEntry(), op.getRank(),
                             op.getSlots(), builder.getArrayAttr(actions));
  return success();
}

} // namespace hocket::kern
