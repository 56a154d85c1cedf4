//===- StateSpace.cpp - Kernels of state-space layers ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers, integers and floats are in the order of kernels/library/Library.h.
///
//===----------------------------------------------------------------------===//

#include "kernels/reference/StateSpace.h"

#include "passes/conversion/PipeToKern/LibraryCall.h"
#include "passes/conversion/PipeToKern/Lowering.h"

#include <cfloat>

using namespace mlir;

namespace hocket::kern {

static SmallVector<int64_t> shapeOfRows(Value input, Value weight) {
  auto type = cast<RankedTensorType>(input.getType());
  auto taps = cast<RankedTensorType>(weight.getType());
  return {dtypeOf(type), type.getDimSize(0), type.getDimSize(1),
          type.getDimSize(2), taps.getDimSize(1)};
}

Values lower(OpBuilder &builder, xf::CausalConvOp op) {
  Call call{"causal_conv",
            Values(op.getOperands()),
            {op.getResult().getType()},
            shapeOfRows(op.getInput(), op.getWeight())};
  call.resultsFirst = true;
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CausalConvGradientOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  Call call{"causal_conv_gradient",
            Values(op.getOperands()),
            {input, f32Of(op.getWeightGrad().getType()),
             RankedTensorType::get(input.getDimSize(2), builder.getF32Type())},
            shapeOfRows(op.getInput(), op.getWeight())};
  call.resultsFirst = true;
  call.workspaces = op.getBiasGrad() ? 0 : 1;
  return buildCastCall(builder, op, call);
}

/// The numbers of a scan, and those of its steps as f32.
template <typename OpTy>
static Call scanCall(OpBuilder &builder, StringRef name, OpTy op) {
  ArrayRef<int64_t> input =
      cast<RankedTensorType>(op.getInput().getType()).getShape();
  ArrayRef<int64_t> map =
      cast<RankedTensorType>(op.getInMap().getType()).getShape();
  Call call{name, Values(op.getOperands()), {}, {}};
  unsigned first = op.getDecayMutable().getOperandNumber();
  for (Value &operand :
       llvm::MutableArrayRef<Value>(call.operands).slice(first, 3))
    operand = f32Value(builder, op.getLoc(), operand);
  call.integers = {dtypeOf(op.getInput().getType()),
                   input[0],
                   input[1],
                   input[2],
                   input[3],
                   map[2],
                   map[3]};
  call.floats = {op.getLeast().convertToDouble(),
                 op.getMost() ? op.getMost()->convertToDouble()
                              : double(FLT_MAX)};
  call.resultsFirst = true;
  return call;
}

Values lower(OpBuilder &builder, xf::StateScanOp op) {
  Call call = scanCall(builder, "state_scan", op);
  call.results = {op.getResult().getType()};
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::StateScanGradientOp op) {
  Call call = scanCall(builder, "state_scan_gradient", op);
  for (auto [i, result] : llvm::enumerate(op->getResultTypes()))
    call.results.push_back(i < 4 ? result : f32Of(result));
  ArrayRef<int64_t> n = call.integers;
  kernels::ScanShape shape{n[1], n[2], n[3], n[4], n[5], n[6], 0, 0};
  call.results.push_back(RankedTensorType::get(kernels::scanWorkspace(shape),
                                               builder.getF32Type()));
  call.workspaces = 1;
  return buildCastCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

Values lower(OpBuilder &builder, xf::CachedConvOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto cache = cast<RankedTensorType>(op.getCache().getType());
  Call call{"cached_conv",
            Values(op.getOperands()),
            SmallVector<Type>(op->getResultTypes()),
            {dtypeOf(input), input.getDimSize(0), input.getDimSize(2),
             cache.getDimSize(1) + 1, cache.getDimSize(0)}};
  call.inPlace = {-1, static_cast<int64_t>(op->getNumOperands()) - 1};
  call.resultsFirst = true;
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CachedScanOp op) {
  Call call = scanCall(builder, "cached_scan", op);
  call.integers.erase(call.integers.begin() + 2); // A token is alone.
  call.integers.push_back(
      cast<RankedTensorType>(op.getState().getType()).getDimSize(0));
  call.results.assign(op->result_type_begin(), op->result_type_end());
  call.inPlace = {-1, 9};
  return buildCall(builder, op, call);
}

} // namespace hocket::kern
