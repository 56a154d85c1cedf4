//===- VerifyStateOps.cpp - Constraints of state-space layers -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace hocket::xf;

//===----------------------------------------------------------------------===//
// The convolution
//===----------------------------------------------------------------------===//

/// X84, shared with the gradient.
static LogicalResult verifyConv(Operation *op, Value input, Value weight) {
  if (failed(checkStatic(op)) || failed(checkRank(op, 84, "input", input, 3)) ||
      failed(checkRank(op, 84, "weight", weight, 2)))
    return failure();
  SmallVector<int64_t> taps{shapeOf(input)[2], shapeOf(weight)[1]};
  if (failed(checkShape(op, 84, "weight", weight, taps)))
    return failure();
  return checkElement(op, 84, "weight", weight, elementOf(input));
}

LogicalResult CausalConvOp::verify() {
  if (failed(verifyConv(*this, getInput(), getWeight())) ||
      failed(checkSameType(*this, 84, "result", getResult(), getInput())))
    return failure();
  if (!getBias())
    return success();
  if (failed(checkShape(*this, 84, "bias", getBias(), shapeOf(getInput())[2])))
    return failure();
  return checkElement(*this, 84, "bias", getBias(), elementOf(getInput()));
}

/// The gradient of a parameter: of its shape, as wide or wider.
static LogicalResult checkSum(Operation *op, int number, StringRef what,
                              Value grad, Value parameter) {
  if (failed(checkShape(op, number, what, grad, shapeOf(parameter))))
    return failure();
  return checkElementOrWider(op, number, what, grad, elementOf(parameter));
}

LogicalResult CausalConvGradientOp::verify() {
  if (failed(verifyConv(*this, getInput(), getWeight())) ||
      failed(checkSameType(*this, 84, "grad", getGrad(), getInput())) ||
      failed(
          checkSameType(*this, 84, "input_grad", getInputGrad(), getInput())) ||
      failed(checkSum(*this, 84, "weight_grad", getWeightGrad(), getWeight())))
    return failure();
  if (!getBiasGrad())
    return success();
  if (failed(checkShape(*this, 84, "bias_grad", getBiasGrad(),
                        shapeOf(getInput())[2])))
    return failure();
  return checkElement(*this, 84, "bias_grad", getBiasGrad(),
                      elementOf(getWeightGrad()));
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

/// X86: what steps are cut to.
template <typename OpT> static LogicalResult verifyLimits(OpT op) {
  double least = op.getLeast().convertToDouble();
  if (!(least >= 0) || !std::isfinite(least))
    return op.emitOpError("X86: least ") << least << " is not 0 or positive";
  if (!op.getMost())
    return success();
  double most = op.getMost()->convertToDouble();
  if (!(most > least) || !std::isfinite(most))
    return op.emitOpError("X86: most ")
           << most << " is not above least, " << least;
  return success();
}

/// X85, shared by the recurrence and its gradient.
template <typename OpT> static LogicalResult verifyScan(OpT op) {
  if (failed(checkStatic(op)) ||
      failed(checkRank(op, 85, "input", op.getInput(), 4)) ||
      failed(checkRank(op, 85, "in_map", op.getInMap(), 4)))
    return failure();
  Shape input = shapeOf(op.getInput()), map = shapeOf(op.getInMap());
  Type element = elementOf(op.getInput());
  SmallVector<int64_t> step{input[0], input[1], input[2]},
      maps{input[0], input[1], map[2], map[3]};
  if (failed(checkShape(op, 85, "step", op.getStep(), step)) ||
      failed(checkElement(op, 85, "step", op.getStep(), element)) ||
      failed(checkShape(op, 85, "in_map", op.getInMap(), maps)) ||
      failed(checkElement(op, 85, "in_map", op.getInMap(), element)) ||
      failed(checkSameType(op, 85, "out_map", op.getOutMap(), op.getInMap())))
    return failure();
  if (input[2] % map[2] != 0)
    return op.emitOpError("X85: ")
           << map[2] << " groups do not divide " << input[2] << " heads";
  for (auto [what, value] :
       {std::pair<StringRef, Value>{"decay", op.getDecay()},
        {"step_bias", op.getStepBias()},
        {"skip", op.getSkip()}})
    if (failed(checkShape(op, 85, what, value, input[2])) ||
        failed(checkElementOrWider(op, 85, what, value, element)))
      return failure();
  return verifyLimits(op);
}

LogicalResult StateScanOp::verify() {
  if (failed(verifyScan(*this)))
    return failure();
  return checkSameType(*this, 85, "result", getResult(), getInput());
}

LogicalResult StateScanGradientOp::verify() {
  if (failed(verifyScan(*this)) ||
      failed(checkSameType(*this, 85, "grad", getGrad(), getInput())))
    return failure();
  // Results are in the order of the operands behind the first.
  static constexpr StringLiteral names[] = {
      "input_grad", "step_grad",      "in_map_grad", "out_map_grad",
      "decay_grad", "step_bias_grad", "skip_grad"};
  for (unsigned i = 0; i < getNumResults(); ++i) {
    Value grad = getResult(i), operand = getOperand(1 + i);
    if (failed(i < 4 ? checkSameType(*this, 85, names[i], grad, operand)
                     : checkSum(*this, 85, names[i], grad, operand)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

/// X117, shared by both: a token is alone in its row, and is placed.
template <typename OpT> static LogicalResult verifyPlaces(OpT op) {
  int64_t tokens = shapeOf(op.getInput())[0],
          length = shapeOf(op.getInput())[1];
  if (length != 1)
    return op.emitOpError("X117: a row has ") << length << " tokens, not 1";
  if (failed(
          checkShape(op, 117, "positions", op.getPositions(), {tokens, 1})) ||
      failed(checkShape(op, 117, "rows", op.getRows(), {tokens, 1})))
    return failure();
  return checkSameType(op, 117, "result", op.getResult(), op.getInput());
}

LogicalResult CachedConvOp::verify() {
  if (failed(verifyConv(*this, getInput(), getWeight())) ||
      failed(verifyPlaces(*this)) ||
      failed(checkRank(*this, 117, "cache", getCache(), 3)))
    return failure();
  int64_t channels = shapeOf(getInput())[2], taps = shapeOf(getWeight())[1];
  if (taps < 2)
    return emitOpError("X117: a convolution that reaches over ")
           << taps << " token keeps nothing";
  int64_t rows = shapeOf(getCache())[0];
  if (failed(checkShape(*this, 117, "cache", getCache(),
                        {rows, taps - 1, channels})) ||
      failed(checkElement(*this, 117, "cache", getCache(),
                          elementOf(getInput()))) ||
      failed(checkSameType(*this, 117, "new_cache", getNewCache(), getCache())))
    return failure();
  if (!getBias())
    return success();
  if (failed(checkShape(*this, 84, "bias", getBias(), channels)))
    return failure();
  return checkElement(*this, 84, "bias", getBias(), elementOf(getInput()));
}

LogicalResult CachedScanOp::verify() {
  if (failed(verifyScan(*this)) || failed(verifyPlaces(*this)) ||
      failed(checkRank(*this, 117, "state", getState(), 4)))
    return failure();
  Shape input = shapeOf(getInput());
  if (failed(checkShape(*this, 117, "state", getState(),
                        {shapeOf(getState())[0], input[2], input[3],
                         shapeOf(getInMap())[3]})) ||
      failed(checkSameType(*this, 117, "new_state", getNewState(), getState())))
    return failure();
  if (!isWide(elementOf(getState())))
    return emitOpError("X117: a state is of f32 or f64");
  return success();
}
