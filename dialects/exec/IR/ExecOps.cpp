//===- ExecOps.cpp - Verifiers of the exec dialect --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/IR/Exec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hocket::exec;

std::string hocket::exec::memoryKindName(MemoryKind kind) {
  std::string name = stringifyMemoryKind(kind).str();
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Bytes of a statically shaped memref, or -1.
static int64_t byteSize(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() ||
      !memref.getElementType().isIntOrFloat())
    return -1;
  return memref.getNumElements() *
         ((memref.getElementType().getIntOrFloatBitWidth() + 7) / 8);
}

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

/// E9: a buffer within another has its copies inside the other's. Its offset
/// counts from `base`.
static LogicalResult verifyWithin(BufferOp buffer, int64_t bytes,
                                  int64_t base) {
  if (!buffer.getWithin())
    return success();
  auto host = buffer.getWithin().getDefiningOp<BufferOp>();
  if (!host || host.getWithin() || host.getSlots() != buffer.getSlots() ||
      host.getSlotStride() != buffer.getSlotStride() ||
      host.getByMicrobatch() != buffer.getByMicrobatch())
    return buffer.emitOpError("E9: what a buffer is within is a buffer of as "
                              "many copies, within no other");
  int64_t offset = static_cast<int64_t>(*buffer.getOffset()) - base;
  if (offset < 0 || offset + bytes > byteSize(host.getType()) ||
      buffer.getFirst().value_or(0) < host.getFirst().value_or(0) ||
      buffer.getLast().value_or(0) > host.getLast().value_or(0))
    return buffer.emitOpError("E9: its bytes and lifetime lie outside those "
                              "of the buffer that it is within");
  return success();
}

/// E2, and E9 of addresses.
static LogicalResult verifyLaidOut(BufferOp buffer, int64_t bytes,
                                   int64_t arena) {
  if (!buffer.getOffset())
    return buffer.emitOpError("E2: a buffer of an arena has an offset");
  auto offset = static_cast<int64_t>(*buffer.getOffset());
  int64_t copies = buffer.getSlots() - 1;
  int64_t end =
      offset + bytes + copies * static_cast<int64_t>(buffer.getSlotStride());
  if (offset < 0 || end > arena)
    return buffer.emitOpError("E2: bytes [")
           << offset << ", " << end << ") lie outside the arena of " << arena;
  auto host = buffer.getWithin() ? buffer.getWithin().getDefiningOp<BufferOp>()
                                 : BufferOp();
  return verifyWithin(buffer, bytes,
                      host ? static_cast<int64_t>(host.getOffset().value_or(0))
                           : 0);
}

LogicalResult RoleOp::verify() {
  for (auto buffer : getBody().getOps<BufferOp>()) {
    int64_t bytes = byteSize(buffer.getType());
    if (bytes < 0)
      return buffer.emitOpError("E1: a buffer has a static shape of integers "
                                "or floats, not ")
             << buffer.getType();
    if (getArenaBytes()) {
      if (failed(verifyLaidOut(buffer, bytes,
                               static_cast<int64_t>(*getArenaBytes()))))
        return failure();
    } else if (buffer.getOffset().has_value() != bool(buffer.getWithin())) {
      return buffer.emitOpError(
          "E2: before the arena is laid out, a buffer has "
          "an offset if it is within another");
    } else if (failed(verifyWithin(buffer, bytes, 0))) {
      return failure();
    }
  }
  return success();
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getSequences().size() != getMicrobatches().size() ||
      getSequences().size() != getSlots().size())
    return emitOpError("E3: sequences, microbatches and slots of an entry have "
                       "one length");
  for (Attribute name : getSequences()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
    if (!symbol ||
        !symbols.lookupSymbolIn<SequenceOp>((*this)->getParentOp(), symbol))
      return emitOpError("E4: no `exec.sequence` is named ") << name;
  }
  return success();
}

LogicalResult GemmOp::verify() {
  auto holds = [](Value buffer, int64_t rows, int64_t cols) {
    auto type = cast<MemRefType>(buffer.getType());
    return type.hasStaticShape() && type.getNumElements() >= rows * cols;
  };
  int64_t m = getM(), n = getN(), k = getK();
  if (m < 1 || n < 1 || k < 1)
    return emitOpError("E5: m, n and k are at least 1");
  if (!holds(getA(), m, k) || (!getBPacked() && !holds(getB(), k, n)) ||
      !holds(getD(), m, n) ||
      (getPreactivation() && !holds(getPreactivation(), m, n)) ||
      (getBiasGradient() && !holds(getBiasGradient(), m, 1)))
    return emitOpError("E6: a buffer is smaller than m, n and k ask for");
  for (Value scale : {getScaleA(), getScaleB()})
    if (scale && (!holds(scale, 1, 1) ||
                  !cast<MemRefType>(scale.getType()).getElementType().isF32()))
      return emitOpError("E6: a scale is an f32");
  return success();
}

bool LaunchOp::writesOperand(unsigned index) {
  return index >= getInputs().size();
}

/// The GEMM, and what is stored beside it.
bool GemmOp::writesOperand(unsigned index) {
  OpOperand *operand = &getOperation()->getOpOperand(index);
  auto is = [&](const MutableOperandRange &group) {
    return group.size() == 1 && &group[0] == operand;
  };
  return operand == &getDMutable() || is(getAuxiliaryMutable()) ||
         is(getBiasGradientMutable());
}

bool LibraryOp::writesOperand(unsigned index) {
  return index >= getInputs().size();
}

SmallVector<Value> LibraryOp::getBuffers() {
  SmallVector<Value> buffers;
  bool flip = getResultsFirst();
  llvm::append_range(buffers, flip ? getOutputs() : getInputs());
  llvm::append_range(buffers, flip ? getInputs() : getOutputs());
  return buffers;
}

bool AccumulateOp::writesOperand(unsigned index) { return index == 1; }

LogicalResult AccumulateOp::verify() {
  auto from = cast<MemRefType>(getFrom().getType());
  auto to = cast<MemRefType>(getTo().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError("E10: adds a buffer to one of another element type or "
                       "number of elements");
  return success();
}

bool CopyOp::writesOperand(unsigned index) { return index == 1; }

bool CollectiveOp::writesOperand(unsigned index) {
  return index >= getFrom().size();
}

bool ExchangeOp::writesOperand(unsigned index) { return index == 1; }

LogicalResult ExchangeOp::verify() {
  auto typeOf = [&](unsigned operand) {
    return cast<MemRefType>(getOperand(operand).getType());
  };
  MemRefType from = typeOf(0), to = typeOf(1);
  auto width = static_cast<int64_t>(getWidth());
  if (from.getElementType() != to.getElementType() || width < 1 ||
      from.getNumElements() % width != 0 || to.getNumElements() % width != 0)
    return emitOpError("E15: exchanges rows of ")
           << width << " elements between " << from << " and " << to;
  for (unsigned i : {2, 3})
    if (!typeOf(i).getElementType().isInteger(32) ||
        typeOf(i).getNumElements() != typeOf(2).getNumElements() ||
        typeOf(i).getNumElements() % 2 != 0)
      return emitOpError("E15: ") << typeOf(i) << " holds no pairs of 32-bit "
                                  << "numbers, one for each of " << typeOf(2);
  return success();
}

bool HostOp::writesOperand(unsigned) {
  return getDirection() == HostDirection::Input;
}

bool TransferOp::writesOperand(unsigned index) { return !getSends()[index]; }

LogicalResult CopyOp::verify() {
  if (byteSize(getFrom().getType()) != byteSize(getTo().getType()))
    return emitOpError("E7: copies between buffers of different sizes");
  return success();
}

LogicalResult TransferOp::verify() {
  size_t parts = getBuffers().size();
  if (getSends().size() != parts || getPeers().size() != parts ||
      getTags().size() != parts)
    return emitOpError("E8: a transfer has a direction, a peer and a tag for "
                       "each of its buffers");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/exec/IR/ExecOps.cpp.inc"
