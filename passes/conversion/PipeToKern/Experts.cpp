//===- Experts.cpp - Hand-written kernels of mixtures of experts ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers, integers and floats are in the order of kernels/library/Library.h;
/// results come first, because a last operand may be absent.
///
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/LibraryCall.h"
#include "passes/conversion/PipeToKern/Lowering.h"
#include "passes/kern/RegionBuilder.h"

using namespace mlir;

namespace hocket::kern {

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// How many partial sums the kernels make (kRouterParts).
static constexpr int64_t routerParts = 32;

/// A call whose results are the op's.
static Call callOf(StringRef name, Operation *op, Values operands,
                   SmallVector<int64_t> integers) {
  Call call{name, std::move(operands), SmallVector<Type>(op->getResultTypes()),
            std::move(integers)};
  call.resultsFirst = true;
  return call;
}

static void addIfThere(Call &call, Value operand) {
  if (operand)
    call.operands.push_back(operand);
}

/// Adds scratch of f64.
static void addWorkspace(OpBuilder &builder, Call &call,
                         ArrayRef<int64_t> shape) {
  call.results.push_back(RankedTensorType::get(shape, builder.getF64Type()));
  call.workspaces = 1;
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

static int64_t isSigmoid(xf::RouterScores scores) {
  return scores == xf::RouterScores::Sigmoid ? 1 : 0;
}

/// The first two integers: tokens and experts.
static SmallVector<int64_t> logitsShape(Value logits) {
  Space space = spaceOf(logits.getType());
  return {space.rows, space.cols};
}

Values lower(OpBuilder &builder, xf::RouterOp op) {
  bool bySequence = op.getBias() && shapeOf(op.getBias()).size() > 1;
  Call call = callOf(bySequence ? "router_by_sequence" : "router", op,
                     {op.getLogits()}, logitsShape(op.getLogits()));
  llvm::append_range(
      call.integers,
      ArrayRef<int64_t>{static_cast<int64_t>(op.getTopK()),
                        isSigmoid(op.getScores()), op.getRenormalise() ? 1 : 0,
                        static_cast<int64_t>(op.getGroups()),
                        static_cast<int64_t>(op.getTopkGroups())});
  if (bySequence)
    call.integers.push_back(shapeOf(op.getBias()).front());
  call.floats = {op.getScale().convertToDouble()};
  addIfThere(call, op.getBias());
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::SinkhornOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getLogits());
  Call call =
      callOf("sinkhorn", op, {op.getLogits()}, logitsShape(op.getLogits()));
  call.integers.push_back(shape.front());
  addWorkspace(builder, call,
               {call.integers[0] + shape.front(), shape.back() + 1});
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RouterGradientOp op) {
  Call call = callOf("router_gradient", op,
                     {op.getGrad(), op.getLogits(), op.getExperts()},
                     logitsShape(op.getLogits()));
  llvm::append_range(call.integers,
                     ArrayRef<int64_t>{shapeOf(op.getExperts()).back(),
                                       isSigmoid(op.getScores()),
                                       op.getRenormalise() ? 1 : 0});
  call.floats = {op.getScale().convertToDouble()};
  return buildCall(builder, op, call);
}

/// In how many sequences tokens are, of sums over each, or 1 of all.
static int64_t sequencesOf(Value sums) {
  ArrayRef<int64_t> shape = shapeOf(sums);
  return shape.size() > 1 ? shape.front() : 1;
}

Values lower(OpBuilder &builder, xf::RouterProbabilitiesOp op) {
  Call call = callOf("router_probabilities", op, {op.getLogits()},
                     logitsShape(op.getLogits()));
  int64_t sequences = sequencesOf(op.getResult());
  llvm::append_range(call.integers,
                     ArrayRef<int64_t>{isSigmoid(op.getScores()), sequences});
  addWorkspace(builder, call, {sequences * routerParts, call.integers[1]});
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RouterProbabilitiesGradientOp op) {
  Call call =
      callOf("router_probabilities_gradient", op,
             {op.getGrad(), op.getLogits()}, logitsShape(op.getLogits()));
  llvm::append_range(
      call.integers,
      ArrayRef<int64_t>{isSigmoid(op.getScores()), sequencesOf(op.getGrad())});
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RouterZLossOp op) {
  Call call = callOf("router_z_loss", op, {op.getLogits()},
                     logitsShape(op.getLogits()));
  addWorkspace(builder, call, {routerParts});
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RouterZLossGradientOp op) {
  return buildCall(builder, op,
                   callOf("router_z_loss_gradient", op,
                          {op.getGrad(), op.getLogits()},
                          logitsShape(op.getLogits())));
}

Values lower(OpBuilder &builder, xf::ExpertCountsOp op) {
  return buildCall(
      builder, op,
      callOf("expert_counts", op, {op.getExperts()},
             {elementsOf(op.getExperts()), shapeOf(op.getResult()).back(),
              sequencesOf(op.getResult())}));
}

Values lower(OpBuilder &builder, xf::BalanceBiasOp op) {
  Call call =
      callOf("balance_bias", op, {op.getBias(), op.getCounts(), op.getSkip()},
             {elementsOf(op.getBias())});
  call.floats = {op.getRate().convertToDouble()};
  return buildCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

/// With a capacity the ranges are scratch.
Values lower(OpBuilder &builder, xf::ExpertOrderOp op) {
  ArrayRef<int64_t> choice = shapeOf(op.getChoice());
  auto experts = static_cast<int64_t>(op.getExperts());
  int64_t runs = op.getRanges() ? shapeOf(op.getRanges())[0] : 1;
  Call call = callOf("expert_order", op, {op.getChoice()},
                     {choice[0], choice[1], choice[2], experts,
                      static_cast<int64_t>(op.getCapacity()), runs});
  if (!op.getRanges()) {
    call.results.push_back(
        RankedTensorType::get({1, experts, 2}, builder.getI32Type()));
    call.workspaces = 1;
  }
  return buildCall(builder, op, call);
}

/// Of ranges that devices have exchanged.
Values lower(OpBuilder &builder, xf::ExpertSegmentsOp op) {
  return buildCall(builder, op,
                   callOf("pack_segments", op, {op.getRanges()},
                          {elementsOf(op.getResult()) / 2}));
}

/// The integers of `dispatch` and its kind; without a capacity the number of
/// experts does not matter.
static SmallVector<int64_t> slotIntegers(Value slots, Value rows) {
  ArrayRef<int64_t> s = shapeOf(slots), r = shapeOf(rows);
  bool capacity = r.size() == 4;
  return {dtypeOf(rows.getType()),
          s[0],
          s[1],
          s[2],
          capacity ? r[0] : 1,
          capacity ? r[2] : 0,
          capacity ? 1 : r[0],
          elementsOf(rows) / r.back(),
          r.back()};
}

/// Weights are f32 whatever the rows are.
static void addWeights(OpBuilder &builder, Operation *op, Call &call,
                       Value weights) {
  if (weights)
    call.operands.push_back(f32Value(builder, op->getLoc(), weights));
}

Values lower(OpBuilder &builder, xf::DispatchOp op) {
  Call call = callOf("dispatch", op, {op.getInput(), op.getSlots()},
                     slotIntegers(op.getSlots(), op.getResult()));
  addWeights(builder, op, call, op.getWeights());
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CombineOp op) {
  Call call = callOf("combine", op, {op.getRows(), op.getSlots()},
                     slotIntegers(op.getSlots(), op.getRows()));
  addWeights(builder, op, call, op.getWeights());
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CombineWeightGradientOp op) {
  Call call = callOf("combine_weight_gradient", op,
                     {op.getTokens(), op.getRows(), op.getSlots()},
                     slotIntegers(op.getSlots(), op.getRows()));
  call.results = {f32Of(op.getResult().getType())};
  return buildCastCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// `weight` is [experts, out, in]; `expected` are rows of a run.
static SmallVector<int64_t> groupIntegers(Value rows, Value weight,
                                          Value ranges, uint64_t expected) {
  ArrayRef<int64_t> w = shapeOf(weight);
  int64_t all = spaceOf(rows.getType()).rows;
  int64_t runs = ranges ? shapeOf(ranges)[0] : 1;
  int64_t segments = ranges ? elementsOf(ranges) / (2 * runs) : w[0];
  int64_t multiplied =
      expected > 0 ? runs * static_cast<int64_t>(expected) : all;
  return {dtypeOf(rows.getType()),
          all,
          w[1],
          w[2],
          w[0],
          runs,
          segments,
          multiplied};
}

Values lower(OpBuilder &builder, xf::GroupedLinearOp op) {
  Call call = callOf("grouped_linear", op, {op.getRows(), op.getWeight()},
                     groupIntegers(op.getRows(), op.getWeight(), op.getRanges(),
                                   op.getExpectedRows()));
  addIfThere(call, op.getRanges());
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::GroupedLinearInputGradientOp op) {
  Call call = callOf("grouped_linear_input_gradient", op,
                     {op.getGrad(), op.getWeight()},
                     groupIntegers(op.getGrad(), op.getWeight(), op.getRanges(),
                                   op.getExpectedRows()));
  addIfThere(call, op.getRanges());
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::GroupedLinearWeightGradientOp op) {
  Call call =
      callOf("grouped_linear_weight_gradient", op, {op.getGrad(), op.getRows()},
             groupIntegers(op.getGrad(), op.getResult(), op.getRanges(),
                           op.getExpectedRows()));
  addIfThere(call, op.getRanges());
  call.results = {f32Of(op.getResult().getType())};
  return buildCastCall(builder, op, call);
}

} // namespace hocket::kern
