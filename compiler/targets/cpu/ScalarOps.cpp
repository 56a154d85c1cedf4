//===- ScalarOps.cpp - What a fused region may hold -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hocket::cpu {

Type translateScalarType(Type type, MLIRContext *context) {
  if (type.isF32())
    return Float32Type::get(context);
  if (type.isF16())
    return Float16Type::get(context);
  if (type.isBF16())
    return IntegerType::get(context, 16);
  if (type.isInteger(1) || type.isInteger(32) || type.isInteger(64))
    return IntegerType::get(context, type.getIntOrFloatBitWidth());
  return {};
}

Type withElementType(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

static Value constantOf(OpBuilder &builder, Location loc, Type type,
                        TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, Attribute(element));
  return builder.create<arith::ConstantOp>(loc, type, element);
}

Value constantFloat(OpBuilder &builder, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  return constantOf(builder, loc, type, builder.getFloatAttr(element, value));
}

Value constantInt(OpBuilder &builder, Location loc, Type type, int64_t value) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  APInt bits(64, static_cast<uint64_t>(value));
  auto attribute = IntegerAttr::get(element, bits.trunc(element.getWidth()));
  return constantOf(builder, loc, type, attribute);
}

Value bf16ToF32(OpBuilder &builder, Location loc, Value bits) {
  Type i32 = withElementType(bits.getType(), builder.getI32Type());
  Type f32 = withElementType(bits.getType(), builder.getF32Type());
  Value wide = builder.create<arith::ExtUIOp>(loc, i32, bits);
  wide = builder.create<arith::ShLIOp>(loc, wide,
                                       constantInt(builder, loc, i32, 16));
  return builder.create<arith::BitcastOp>(loc, f32, wide);
}

Value f32ToBf16(OpBuilder &builder, Location loc, Value value) {
  Type i32 = withElementType(value.getType(), builder.getI32Type());
  Type i16 = withElementType(value.getType(), builder.getIntegerType(16));
  auto constant = [&](int64_t c) { return constantInt(builder, loc, i32, c); };
  Value bits = builder.create<arith::BitcastOp>(loc, i32, value);
  Value high = builder.create<arith::ShRUIOp>(loc, bits, constant(16));
  // Nearest even: add half a unit, less one where the kept part is even.
  Value odd = builder.create<arith::AndIOp>(loc, high, constant(1));
  Value up = builder.create<arith::AddIOp>(loc, bits, constant(0x7fff));
  up = builder.create<arith::AddIOp>(loc, up, odd);
  up = builder.create<arith::ShRUIOp>(loc, up, constant(16));
  Value quiet = builder.create<arith::OrIOp>(loc, high, constant(0x40));
  Value isNan = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO,
                                              value, value);
  Value result = builder.create<arith::SelectOp>(loc, isNan, quiet, up);
  return builder.create<arith::TruncIOp>(loc, i16, result);
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// The op of the same name; every arith and math op of the table takes
/// vectors as it takes scalars.
static Value buildSame(OpBuilder &builder, Location loc, Operation &source,
                       ValueRange operands, Type type) {
  OperationState state(loc, source.getName().getStringRef());
  state.addOperands(operands);
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

/// As buildSame, with leave to fuse a product into a sum. Nothing else may
/// change: no reordering, no assumption about NaN.
static Value buildContract(OpBuilder &builder, Location loc, Operation &source,
                           ValueRange operands, Type type) {
  OperationState state(loc, source.getName().getStringRef());
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttribute("fastmath",
                     arith::FastMathFlagsAttr::get(
                         builder.getContext(), arith::FastMathFlags::contract));
  return builder.create(state)->getResult(0);
}

static Value buildConstant(OpBuilder &builder, Location loc, Operation &source,
                           ValueRange, Type type) {
  Attribute value = cast<arith::ConstantOp>(source).getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return constantInt(builder, loc, type, integer.getValue().getSExtValue());
  APFloat number = cast<FloatAttr>(value).getValue();
  if (isa<IntegerType>(type)) // bf16
    return constantInt(builder, loc, type,
                       number.bitcastToAPInt().getZExtValue());
  return builder.create<arith::ConstantOp>(
      loc, type, FloatAttr::get(cast<FloatType>(type), number));
}

static Value buildCmpF(OpBuilder &builder, Location loc, Operation &source,
                       ValueRange operands, Type) {
  return builder.create<arith::CmpFOp>(
      loc, cast<arith::CmpFOp>(source).getPredicate(), operands[0],
      operands[1]);
}

static Value buildCmpI(OpBuilder &builder, Location loc, Operation &source,
                       ValueRange operands, Type) {
  return builder.create<arith::CmpIOp>(
      loc, cast<arith::CmpIOp>(source).getPredicate(), operands[0],
      operands[1]);
}

static Value buildExtF(OpBuilder &builder, Location loc, Operation &source,
                       ValueRange operands, Type type) {
  if (source.getOperand(0).getType().isBF16())
    return bf16ToF32(builder, loc, operands[0]);
  return builder.create<arith::ExtFOp>(loc, type, operands[0]);
}

static Value buildTruncF(OpBuilder &builder, Location loc, Operation &source,
                         ValueRange operands, Type type) {
  if (source.getResult(0).getType().isBF16())
    return f32ToBf16(builder, loc, operands[0]);
  return builder.create<arith::TruncFOp>(loc, type, operands[0]);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr unsigned transcendental = 10;

static constexpr ScalarOp table[] = {
    {"arith.constant", buildConstant, 0, false},
    {"arith.addf", buildContract, 1, false},
    {"arith.subf", buildContract, 1, false},
    {"arith.mulf", buildContract, 1, false},
    {"arith.divf", buildContract, 1, false},
    {"arith.negf", buildContract, 1, false},
    {"arith.maximumf", buildSame, 1, false},
    {"arith.minimumf", buildSame, 1, false},
    {"arith.maxnumf", buildSame, 1, false},
    {"arith.minnumf", buildSame, 1, false},
    {"arith.cmpf", buildCmpF, 1, false},
    {"arith.cmpi", buildCmpI, 1, false},
    {"arith.select", buildSame, 1, false},
    {"arith.extf", buildExtF, 0, false},
    {"arith.truncf", buildTruncF, 0, false},
    {"arith.sitofp", buildSame, 1, false},
    {"arith.uitofp", buildSame, 1, false},
    {"arith.fptosi", buildSame, 1, false},
    {"arith.fptoui", buildSame, 1, false},
    {"arith.bitcast", buildSame, 0, false},
    {"arith.extui", buildSame, 0, false},
    {"arith.extsi", buildSame, 0, false},
    {"arith.trunci", buildSame, 0, false},
    {"arith.addi", buildSame, 1, false},
    {"arith.subi", buildSame, 1, false},
    {"arith.muli", buildSame, 1, false},
    {"arith.andi", buildSame, 1, false},
    {"arith.ori", buildSame, 1, false},
    {"arith.xori", buildSame, 1, false},
    {"arith.shli", buildSame, 1, false},
    {"arith.shrui", buildSame, 1, false},
    {"arith.shrsi", buildSame, 1, false},
    {"math.absf", buildSame, 1, false},
    {"math.copysign", buildSame, 1, false},
    {"math.floor", buildSame, 1, false},
    {"math.ceil", buildSame, 1, false},
    {"math.roundeven", buildSame, 1, false},
    {"math.trunc", buildSame, 1, false},
    {"math.fma", buildSame, 2, false},
    {"math.sqrt", buildSame, 1, false},
    {"math.rsqrt", buildSame, 2, false},
    {"math.exp", buildSame, transcendental, true},
    {"math.exp2", buildSame, transcendental, true},
    {"math.expm1", buildSame, transcendental, true},
    {"math.log", buildSame, transcendental, true},
    {"math.log2", buildSame, transcendental, true},
    {"math.log1p", buildSame, transcendental, true},
    {"math.tanh", buildSame, transcendental, true},
    {"math.erf", buildSame, transcendental, true},
    {"math.sin", buildSame, transcendental, true},
    {"math.cos", buildSame, transcendental, true},
    {"math.powf", buildSame, 2 * transcendental, true},
};

const ScalarOp *findScalarOp(Operation &op) {
  StringRef name = op.getName().getStringRef();
  const auto *row = llvm::find_if(
      table, [&](const ScalarOp &entry) { return entry.name == name; });
  return row == std::end(table) ? nullptr : row;
}

} // namespace hocket::cpu
