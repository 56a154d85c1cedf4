//===- Elementwise.cpp - Fused regions over one element -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"

#include "dialects/xf/IR/XfConstraints.h"
#include "passes/kern/RegionBuilder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hocket::kern {

/// A region over the elements of `result`: operands follow it as their shapes
/// say, all results have its shape.
static Values elementwise(OpBuilder &builder, Operation *op, StringRef label,
                          ValueRange operands, ScalarFn code,
                          ValueRange instances = {}) {
  RegionShape shape{label, spaceOf(op->getResult(0).getType()), {}, {}, {}};
  bool scalar = shape.space == Space{1, 1};
  for (Value operand : operands)
    shape.operands.push_back(
        {operand, scalar ? Access::Scalar
                         : broadcastAccess(operand.getType(), shape.space)});
  for (Type type : op->getResultTypes())
    shape.results.push_back({type, scalar ? Access::Scalar : Access::Full});
  shape.instances.assign(instances.begin(), instances.end());
  auto rows = buildRows(builder, op->getLoc(), shape, code);
  return Values(rows.getOutputs());
}

Epilogue epilogueOf(xf::ActivationKind kind) {
  switch (kind) {
  case xf::ActivationKind::Gelu:
    return Epilogue::Gelu;
  case xf::ActivationKind::GeluTanh:
    return Epilogue::GeluTanh;
  case xf::ActivationKind::Silu:
    return Epilogue::Silu;
  case xf::ActivationKind::Relu:
    return Epilogue::Relu;
  case xf::ActivationKind::ReluSquared:
    return Epilogue::ReluSquared;
  case xf::ActivationKind::Tanh:
    return Epilogue::Tanh;
  case xf::ActivationKind::QuickGelu:
    return Epilogue::QuickGelu;
  }
  llvm_unreachable("a nonlinearity that the enumeration lacks");
}

Values lower(OpBuilder &builder, xf::ActivationOp op) {
  Epilogue kind = epilogueOf(op.getKind());
  return elementwise(builder, op, stringifyEpilogue(kind), op.getInput(),
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {activation(kind, in[0])};
                     });
}

Values lower(OpBuilder &builder, xf::ActivationGradientOp op) {
  Epilogue kind = epilogueOf(op.getKind());
  std::string label = (stringifyEpilogue(kind) + "_gradient").str();
  return elementwise(builder, op, label, {op.getGrad(), op.getInput()},
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {in[0] * activationDerivative(kind, in[1])};
                     });
}

Values lower(OpBuilder &builder, xf::SoftcapOp op) {
  double cap = op.getCap().convertToDouble();
  return elementwise(builder, op, "softcap", op.getInput(),
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {cap * tanh(1 / cap * in[0])};
                     });
}

Values lower(OpBuilder &builder, xf::SoftcapGradientOp op) {
  double cap = op.getCap().convertToDouble();
  return elementwise(builder, op, "softcap_gradient",
                     {op.getGrad(), op.getOutput()},
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       Scalar share = 1 / cap * in[1];
                       return {in[0] * (1.0 - share * share)};
                     });
}

Values lower(OpBuilder &builder, xf::GatedOp op) {
  Epilogue kind = epilogueOf(op.getKind());
  std::string label = ("gated_" + stringifyEpilogue(kind)).str();
  return elementwise(builder, op, label, {op.getGate(), op.getUp()},
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {activation(kind, in[0]) * in[1]};
                     });
}

Values lower(OpBuilder &builder, xf::GatedGradientOp op) {
  Epilogue kind = epilogueOf(op.getKind());
  std::string label = ("gated_" + stringifyEpilogue(kind) + "_gradient").str();
  return elementwise(
      builder, op, label, {op.getGrad(), op.getGate(), op.getUp()},
      [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
        return {in[0] * in[2] * activationDerivative(kind, in[1]),
                in[0] * activation(kind, in[1])};
      });
}

Values lower(OpBuilder &builder, xf::DropoutOp op) {
  ShardAttr shard;
  if (ArrayRef<int64_t> whole = op.getWhole().value_or(ArrayRef<int64_t>());
      !whole.empty())
    shard = ShardAttr::get(
        op.getContext(),
        cast<RankedTensorType>(op.getInput().getType()).getShape(), whole,
        op.getDims(), op.getParts(), static_cast<int64_t>(op.getRounds()));
  return elementwise(
      builder, op, "dropout", op.getInput(),
      [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
        ImplicitLocOpBuilder &b = *in[0].builder;
        Values numbers;
        for (Scalar number : in.drop_front())
          numbers.push_back(number.value);
        bool named = static_cast<bool>(op.getInstance());
        Value scale = b.create<KeepScaleOp>(
            b.getF32Type(), named ? numbers.front() : Value(),
            ArrayRef(numbers).drop_front(named ? 1 : 0), op.getRateAttr(),
            op.getStreamAttr(), op.getJitterAttr(), shard);
        return {in[0] * Scalar{&b, scale}};
      },
      op->getOperands().drop_front());
}

Values lower(OpBuilder &builder, xf::AddOp op) {
  return elementwise(builder, op, "add", {op.getLhs(), op.getRhs()},
                     [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {in[0] + in[1]};
                     });
}

Values lower(OpBuilder &builder, xf::MultiplyOp op) {
  return elementwise(builder, op, "multiply", {op.getLhs(), op.getRhs()},
                     [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {in[0] * in[1]};
                     });
}

Values lower(OpBuilder &builder, xf::CastOp op) {
  return elementwise(
      builder, op, "cast", op.getInput(),
      [](ArrayRef<Scalar> in) -> SmallVector<Scalar> { return {in[0]}; });
}

Values lower(OpBuilder &builder, xf::ConstantOp op) {
  double value = op.getValue().convertToDouble();
  return elementwise(builder, op, "constant", {},
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {in[0].constant(value)};
                     });
}

Values lower(OpBuilder &builder, xf::QuantizeScaleOp op) {
  double largest = xf::largestOf(op.getFormat());
  return elementwise(
      builder, op, "quantize_scale", op.getAmax(),
      [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
        Scalar scale = in[0] / largest;
        return {select(less(scale, 0x1p-126), scale.constant(1), scale)};
      });
}

/// What another region computes is rounded as if it had been in memory, so that
/// the codes do not depend on what is fused.
Values lower(OpBuilder &builder, xf::QuantizeOp op) {
  Type element = getElementTypeOrSelf(op.getInput().getType());
  return elementwise(builder, op, "quantize", {op.getInput(), op.getScale()},
                     [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {rounded(in[0], element) * (1.0 / in[1])};
                     });
}

Value castTo(OpBuilder &builder, Location loc, Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == elementType)
    return value;
  Space space = spaceOf(type);
  Access access = space == Space{1, 1} ? Access::Scalar : Access::Full;
  RegionShape shape{"cast",
                    space,
                    {{value, access}},
                    {{type.clone(elementType), access}},
                    {}};
  auto rows = buildRows(
      builder, loc, shape,
      [](ArrayRef<Scalar> in) -> SmallVector<Scalar> { return {in[0]}; });
  return rows.getOutputs().front();
}

} // namespace hocket::kern
