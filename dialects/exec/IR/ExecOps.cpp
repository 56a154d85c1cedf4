//===- ExecOps.cpp - Verifiers of the exec dialect --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/IR/Exec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hocket::exec;

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

/// E9: a buffer within another has its copies inside the other's.
static LogicalResult verifyWithin(BufferOp buffer, int64_t bytes) {
  if (!buffer.getWithin())
    return success();
  auto host = buffer.getWithin().getDefiningOp<BufferOp>();
  if (!host || host.getWithin() || host.getSlots() != buffer.getSlots() ||
      host.getSlotStride() != buffer.getSlotStride() ||
      host.getByMicrobatch() != buffer.getByMicrobatch())
    return buffer.emitOpError("E9: what a buffer is within is a buffer of as "
                              "many copies, within no other");
  if (buffer.getOffset() < host.getOffset() ||
      static_cast<int64_t>(buffer.getOffset()) + bytes >
          static_cast<int64_t>(host.getOffset()) + byteSize(host.getType()) ||
      buffer.getFirst() < host.getFirst() || buffer.getLast() > host.getLast())
    return buffer.emitOpError("E9: its bytes and lifetime lie outside those "
                              "of the buffer that it is within");
  return success();
}

LogicalResult RoleOp::verify() {
  for (auto buffer : getBody().getOps<BufferOp>()) {
    int64_t bytes = byteSize(buffer.getType());
    if (bytes < 0)
      return buffer.emitOpError("E1: a buffer has a static shape of integers "
                                "or floats, not ")
             << buffer.getType();
    int64_t copies = buffer.getSlots() - 1;
    int64_t end = static_cast<int64_t>(buffer.getOffset()) + bytes +
                  copies * static_cast<int64_t>(buffer.getSlotStride());
    if (static_cast<int64_t>(buffer.getOffset()) < 0 ||
        end > static_cast<int64_t>(getArenaBytes()))
      return buffer.emitOpError("E2: bytes [")
             << buffer.getOffset() << ", " << end
             << ") lie outside the arena of " << getArenaBytes();
    if (failed(verifyWithin(buffer, bytes)))
      return failure();
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
