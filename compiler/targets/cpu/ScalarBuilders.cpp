//===- ScalarBuilders.cpp - A fused region's ops on vectors -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/ScalarBuilders.h"

#include "dialects/kern/IR/ElementTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>
#include <optional>

using namespace mlir;
using hocket::kernels::DType;

namespace hocket::cpu {

Type translateScalarType(Type type, MLIRContext *context) {
  if (type.isF32())
    return Float32Type::get(context);
  if (type.isF16())
    return Float16Type::get(context);
  if (type.isBF16())
    return IntegerType::get(context, 16);
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return IntegerType::get(context, 8);
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

Value f8ToF32(OpBuilder &builder, Location loc, Value code, DType format) {
  Type i16 = withElementType(code.getType(), builder.getIntegerType(16));
  Type f16 = withElementType(code.getType(), builder.getF16Type());
  Type f32 = withElementType(code.getType(), builder.getF32Type());
  auto constant = [&](int64_t c) { return constantInt(builder, loc, i16, c); };
  auto halfToF32 = [&](Value bits) -> Value {
    Value half = builder.create<arith::BitcastOp>(loc, f16, bits);
    return builder.create<arith::ExtFOp>(loc, f32, half);
  };
  Value wide = builder.create<arith::ExtUIOp>(loc, i16, code);
  Value high = builder.create<arith::ShLIOp>(loc, wide, constant(8));
  if (format == DType::F8E5M2)
    return halfToF32(high);
  // The same bits in a half stand for 2^-8 of the number: biases differ by 8.
  Value sign = builder.create<arith::AndIOp>(loc, high, constant(0x8000));
  Value number = builder.create<arith::AndIOp>(loc, wide, constant(0x7f));
  Value bits = builder.create<arith::ShLIOp>(loc, number, constant(7));
  bits = builder.create<arith::OrIOp>(loc, bits, sign);
  Value value = builder.create<arith::MulFOp>(
      loc, halfToF32(bits), constantFloat(builder, loc, f32, 256));
  Value isNan = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                              number, constant(0x7f));
  Value nan = constantFloat(builder, loc, f32,
                            std::numeric_limits<double>::quiet_NaN());
  return builder.create<arith::SelectOp>(loc, isNan, nan, value);
}

Value f32ToF8(OpBuilder &builder, Location loc, Value value, DType format) {
  const kernels::F8Format to =
      format == DType::F8E4M3 ? kernels::kE4M3 : kernels::kE5M2;
  Type i8 = withElementType(value.getType(), builder.getIntegerType(8));
  Type i32 = withElementType(value.getType(), builder.getI32Type());
  Type f32 = value.getType();
  auto constant = [&](int64_t c) { return constantInt(builder, loc, i32, c); };
  const int64_t shift = 23 - to.mantissa;
  const int64_t step = (128 - to.bias + shift) << 23;
  Value bits = builder.create<arith::BitcastOp>(loc, i32, value);
  Value size = builder.create<arith::AndIOp>(loc, bits, constant(0x7fffffff));
  // Nearest even: add half a unit, less one where the kept part is even.
  Value odd = builder.create<arith::ShRUIOp>(loc, size, constant(shift));
  odd = builder.create<arith::AndIOp>(loc, odd, constant(1));
  const int64_t half = (int64_t(1) << (shift - 1)) - 1;
  Value up = builder.create<arith::AddIOp>(
      loc, size, constant(half - ((127 - to.bias) << 23)));
  up = builder.create<arith::AddIOp>(loc, up, odd);
  Value normal = builder.create<arith::ShRUIOp>(loc, up, constant(shift));
  // Subnormal: a number whose last bit is the smallest step rounds the sum.
  Value sum = builder.create<arith::AddFOp>(
      loc, builder.create<arith::BitcastOp>(loc, f32, size),
      builder.create<arith::BitcastOp>(loc, f32, constant(step)));
  Value small = builder.create<arith::SubIOp>(
      loc, builder.create<arith::BitcastOp>(loc, i32, sum), constant(step));
  Value isSmall = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ult, size, constant((128 - to.bias) << 23));
  Value code = builder.create<arith::SelectOp>(loc, isSmall, small, normal);
  code = builder.create<arith::MinUIOp>(loc, code, constant(to.largest));
  Value sign = builder.create<arith::ShRUIOp>(loc, bits, constant(24));
  sign = builder.create<arith::AndIOp>(loc, sign, constant(0x80));
  code = builder.create<arith::OrIOp>(loc, code, sign);
  Value isNan = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO,
                                              value, value);
  code = builder.create<arith::SelectOp>(loc, isNan, constant(0x7f), code);
  return builder.create<arith::TruncIOp>(loc, i8, code);
}

/// The 8-bit format that `type` is, if it is one.
static std::optional<DType> f8FormatOf(Type type) {
  std::optional<DType> known = kern::kernelTypeOf(type);
  return known && kernels::isF8(*known) ? known : std::nullopt;
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
  if (isa<IntegerType>(type)) // bf16, 8 bits
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
  if (auto format = f8FormatOf(source.getOperand(0).getType()))
    return f8ToF32(builder, loc, operands[0], *format);
  return builder.create<arith::ExtFOp>(loc, type, operands[0]);
}

static Value buildTruncF(OpBuilder &builder, Location loc, Operation &source,
                         ValueRange operands, Type type) {
  if (source.getResult(0).getType().isBF16())
    return f32ToBf16(builder, loc, operands[0]);
  if (auto format = f8FormatOf(source.getResult(0).getType()))
    return f32ToF8(builder, loc, operands[0], *format);
  return builder.create<arith::TruncFOp>(loc, type, operands[0]);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
using OpBuilderFn = Value (*)(OpBuilder &, Location, Operation &, ValueRange,
                              Type);

/// Ops that are not built as themselves.
struct Builder {
  StringLiteral name;
  OpBuilderFn build;
};
} // namespace

static constexpr Builder table[] = {
    {"arith.constant", buildConstant}, {"arith.addf", buildContract},
    {"arith.subf", buildContract},     {"arith.mulf", buildContract},
    {"arith.divf", buildContract},     {"arith.negf", buildContract},
    {"arith.cmpf", buildCmpF},         {"arith.cmpi", buildCmpI},
    {"arith.extf", buildExtF},         {"arith.truncf", buildTruncF},
};

Value buildScalarOp(OpBuilder &builder, Location loc, Operation &source,
                    ValueRange operands, Type type) {
  StringRef name = source.getName().getStringRef();
  const auto *row = llvm::find_if(
      table, [&](const Builder &entry) { return entry.name == name; });
  OpBuilderFn build = row == std::end(table) ? buildSame : row->build;
  return build(builder, loc, source, operands, type);
}

} // namespace hocket::cpu
