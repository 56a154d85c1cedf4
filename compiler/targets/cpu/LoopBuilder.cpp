//===- LoopBuilder.cpp - Loops, pointers and elements ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/LoopBuilder.h"

#include "compiler/targets/cpu/ScalarBuilders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <optional>

using namespace mlir;

namespace hocket::cpu {

Value LoopBuilder::splat(Value scalar) {
  return create<vector::SplatOp>(vectorOf(scalar.getType()), scalar);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> constantOf(Value value) {
  IntegerAttr attribute;
  if (matchPattern(value, m_Constant(&attribute)))
    return attribute.getInt();
  return std::nullopt;
}

Value LoopBuilder::index(int64_t value) {
  return constantInt(*this, getLoc(), getI64Type(), value);
}

Value LoopBuilder::add(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return index(*x + *y);
  if (y && *y == 0)
    return a;
  if (x && *x == 0)
    return b;
  return create<arith::AddIOp>(a, b);
}

Value LoopBuilder::sub(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return index(*x - *y);
  return create<arith::SubIOp>(a, b);
}

Value LoopBuilder::mul(Value a, Value b) {
  auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return index(*x * *y);
  return create<arith::MulIOp>(a, b);
}

Value LoopBuilder::div(Value a, int64_t b) {
  if (auto x = constantOf(a))
    return index(*x / b);
  return create<arith::DivUIOp>(a, index(b));
}

Value LoopBuilder::rem(Value a, int64_t b) {
  if (auto x = constantOf(a))
    return index(*x % b);
  return create<arith::RemUIOp>(a, index(b));
}

Value LoopBuilder::min(Value a, Value b) {
  return create<arith::MinSIOp>(a, b);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type LoopBuilder::memoryType(Element element) {
  if (element == Element::F32)
    return getF32Type();
  return getIntegerType(8 * bytesOf(element));
}

Value LoopBuilder::address(Value base, Value at, Element element) {
  if (constantOf(at) == 0)
    return base;
  return create<LLVM::GEPOp>(base.getType(), memoryType(element), base,
                             ArrayRef<LLVM::GEPArg>{at}, /*inbounds=*/true);
}

Value LoopBuilder::loadInteger(Value base, int64_t at) {
  Value where = create<LLVM::GEPOp>(
      base.getType(), getI64Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(at)}, /*inbounds=*/true);
  return create<LLVM::LoadOp>(getI64Type(), where);
}

Value LoopBuilder::loadPointer(Value base, int64_t at) {
  Value where = create<LLVM::GEPOp>(
      base.getType(), base.getType(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(at)}, /*inbounds=*/true);
  return create<LLVM::LoadOp>(base.getType(), where);
}

Value LoopBuilder::toF32(Value loaded, Element element) {
  Type f32 = withElementType(loaded.getType(), getF32Type());
  Type f16 = withElementType(loaded.getType(), getF16Type());
  switch (element) {
  case Element::F32:
    return loaded;
  case Element::BF16:
    return bf16ToF32(*this, getLoc(), loaded);
  case Element::F16:
    return create<arith::ExtFOp>(
        f32, create<arith::BitcastOp>(f16, loaded).getResult());
  case Element::I32:
    return create<arith::SIToFPOp>(f32, loaded);
  case Element::F8E4M3:
    return f8ToF32(*this, getLoc(), loaded, kernels::DType::F8E4M3);
  case Element::F8E5M2:
    return f8ToF32(*this, getLoc(), loaded, kernels::DType::F8E5M2);
  }
  llvm_unreachable("an element type that the enumeration lacks");
}

Value LoopBuilder::fromF32(Value value, Element element) {
  Type f16 = withElementType(value.getType(), getF16Type());
  Type i16 = withElementType(value.getType(), getIntegerType(16));
  switch (element) {
  case Element::F32:
    return value;
  case Element::BF16:
    return f32ToBf16(*this, getLoc(), value);
  case Element::F16:
    return create<arith::BitcastOp>(
        i16, create<arith::TruncFOp>(f16, value).getResult());
  case Element::I32:
    return create<arith::FPToSIOp>(
        withElementType(value.getType(), getI32Type()), value);
  case Element::F8E4M3:
    return f32ToF8(*this, getLoc(), value, kernels::DType::F8E4M3);
  case Element::F8E5M2:
    return f32ToF8(*this, getLoc(), value, kernels::DType::F8E5M2);
  }
  llvm_unreachable("an element type that the enumeration lacks");
}

Value LoopBuilder::loadScalar(Value address, Element element) {
  return toF32(create<LLVM::LoadOp>(memoryType(element), address), element);
}

Value LoopBuilder::loadVector(Value address, Element element, Mask mask) {
  VectorType type = vectorOf(memoryType(element));
  unsigned alignment = bytesOf(element);
  if (!mask.lanes)
    return toF32(create<LLVM::LoadOp>(type, address, alignment), element);
  Value zero = isa<FloatType>(type.getElementType())
                   ? constantFloat(*this, getLoc(), type, 0)
                   : constantInt(*this, getLoc(), type, 0);
  Value loaded = create<LLVM::MaskedLoadOp>(type, address, mask.lanes, zero,
                                            getI32IntegerAttr(alignment));
  return toF32(loaded, element);
}

void LoopBuilder::storeScalar(Value value, Value address, Element element) {
  create<LLVM::StoreOp>(fromF32(value, element), address);
}

void LoopBuilder::storeVector(Value value, Value address, Element element,
                              Mask mask) {
  value = fromF32(value, element);
  unsigned alignment = bytesOf(element);
  if (mask.lanes)
    create<LLVM::MaskedStoreOp>(value, address, mask.lanes, alignment);
  else
    create<LLVM::StoreOp>(value, address, alignment);
}

void LoopBuilder::prefetch(Value address) {
  create<LLVM::Prefetch>(address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> LoopBuilder::loop(Value low, Value high, int64_t step,
                                     ValueRange carried, LoopBody body) {
  auto loop = create<scf::ForOp>(low, high, index(step), carried);
  InsertionGuard guard(*this);
  Block *block = loop.getBody();
  if (carried.empty()) // Comes with its terminator.
    setInsertionPoint(block->getTerminator());
  else
    setInsertionPointToEnd(block);
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    create<scf::YieldOp>(next);
  return SmallVector<Value>(loop.getResults());
}

} // namespace hocket::cpu
