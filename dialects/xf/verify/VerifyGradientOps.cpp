//===- VerifyGradientOps.cpp - Constraints of what gradients are built of -===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket::xf;

LogicalResult EmbeddingGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 20, "result", getResult(), 2)))
    return failure();
  SmallVector<int64_t> expected(shapeOf(getIds()));
  expected.push_back(shapeOf(getResult())[1]);
  if (failed(checkShape(*this, 20, "grad", getGrad(), expected)))
    return failure();
  return checkElementOrWider(*this, 20, "result", getResult(),
                             elementOf(getGrad()));
}

LogicalResult PadRowsOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.empty() || to.size() != from.size() ||
      to.drop_front() != from.drop_front() || to[0] < from[0])
    return emitOpError("X21: input [")
           << from << "] is not the first rows of [" << to << "]";
  return checkElement(*this, 21, "result", getResult(), elementOf(getInput()));
}

LogicalResult LinearInputGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 22, "weight", getWeight(), 2)))
    return failure();
  Shape grad = shapeOf(getGrad()), weight = shapeOf(getWeight());
  if (grad.empty() || grad.back() != weight[0])
    return emitOpError("X22: grad [")
           << grad << "] does not end in the weight's " << weight[0];
  SmallVector<int64_t> expected(grad);
  expected.back() = weight[1];
  if (failed(checkShape(*this, 22, "result", getResult(), expected)) ||
      failed(checkOperandTypes(*this, 22, "grad", "weight", getScales())))
    return failure();
  Type element = elementOf(getGrad());
  return isF8(element)
             ? success()
             : checkElement(*this, 22, "result", getResult(), element);
}

LogicalResult LinearWeightGradientOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape grad = shapeOf(getGrad()), input = shapeOf(getInput());
  if (grad.empty() || input.empty() || grad.drop_back() != input.drop_back())
    return emitOpError("X23: grad [")
           << grad << "] and input [" << input << "] have other rows";
  if (failed(checkShape(*this, 23, "result", getResult(),
                        {grad.back(), input.back()})) ||
      failed(checkOperandTypes(*this, 23, "grad", "input", getScales())))
    return failure();
  Type element = elementOf(getGrad());
  return isF8(element)
             ? success()
             : checkElementOrWider(*this, 23, "result", getResult(), element);
}

LogicalResult AmaxOp::verify() { return checkStatic(*this); }

LogicalResult QuantizeScaleOp::verify() {
  if (isF8(getFormat()))
    return success();
  return emitOpError("X59: format is ")
         << getFormat() << ", expected f8E4M3FN or f8E5M2";
}

LogicalResult QuantizeOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkShape(*this, 60, "result", getResult(), shapeOf(getInput()));
}

/// Whether `scales` has a number for each block of `tensor`.
static LogicalResult checkBlocks(Operation *op, int number, Value tensor,
                                 Value scales, ArrayRef<int64_t> blocks) {
  Shape shape = shapeOf(tensor);
  bool areSound =
      blocks.size() == shape.size() && !blocks.empty() &&
      llvm::all_of(blocks, [](int64_t size) { return size > 0; }) &&
      llvm::all_of(blocks.drop_back(std::min<size_t>(2, blocks.size())),
                   [](int64_t size) { return size == 1; });
  if (!areSound)
    return op->emitOpError("X")
           << number << ": blocks [" << blocks << "] are none of a tensor ["
           << shape << "]: one size a dim, 1 in all but the last two";
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::zip_equal(shape, blocks))
    expected.push_back((dim - 1) / size + 1);
  return checkShape(op, number, "scales", scales, expected);
}

LogicalResult QuantizeBlocksOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkShape(*this, 81, "codes", getCodes(), shapeOf(getInput()))))
    return failure();
  return checkBlocks(*this, 81, getInput(), getScales(), getBlocks());
}

LogicalResult DequantizeBlocksOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkShape(*this, 82, "result", getResult(), shapeOf(getCodes()))))
    return failure();
  return checkBlocks(*this, 82, getCodes(), getScales(), getBlocks());
}

LogicalResult ActivationGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkSameType(*this, 12, "grad", getGrad(), getInput())))
    return failure();
  return checkSameType(*this, 12, "result", getResult(), getInput());
}

LogicalResult SoftcapGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkCap(*this, getCap().convertToDouble())) ||
      failed(checkSameType(*this, 112, "grad", getGrad(), getOutput())))
    return failure();
  return checkSameType(*this, 112, "result", getResult(), getOutput());
}

LogicalResult GatedGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkSameType(*this, 12, "grad", getGrad(), getGate())) ||
      failed(checkSameType(*this, 12, "up", getUp(), getGate())) ||
      failed(checkSameType(*this, 12, "gate_grad", getGateGrad(), getGate())))
    return failure();
  return checkSameType(*this, 12, "up_grad", getUpGrad(), getGate());
}

LogicalResult SumHeadsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 127, "input", getInput(), 4)) ||
      failed(checkRank(*this, 127, "result", getResult(), 4)) ||
      failed(checkElement(*this, 127, "result", getResult(),
                          elementOf(getInput()))))
    return failure();
  Shape input = shapeOf(getInput());
  int64_t width = std::min(input.back(), shapeOf(getResult()).back());
  return checkShape(*this, 127, "result", getResult(),
                    {input[0], input[1], 1, width});
}

LogicalResult GatherChoicesGradientOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkQuestions(*this, getResult(), getGrad());
}

LogicalResult PlaceRowsGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkPlacedRows(*this, getGrad(), getRows(), Value())))
    return failure();
  if (getSources() < 1 || getSources() > INT32_MAX)
    return emitOpError("X124: ") << getSources() << " sources are no rows of a "
                                 << "sequence";
  return checkSameType(*this, 124, "result", getResult(), getGrad());
}

LogicalResult PlacedRowsGradientOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkPlacedRows(*this, getGrad(), getRows(), getResult());
}

LogicalResult RowGateGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRowGate(*this, getInput(), getGate())) ||
      failed(checkSameType(*this, 110, "grad", getGrad(), getInput())) ||
      failed(
          checkSameType(*this, 110, "input_grad", getInputGrad(), getInput())))
    return failure();
  return checkSameType(*this, 110, "gate_grad", getGateGrad(), getGate());
}
