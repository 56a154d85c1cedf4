//===- DistOps.cpp - Verifiers of the dist dialect --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace hocket::dist;

int64_t MeshOp::getDeviceCount() {
  int64_t count = 1;
  for (int64_t size : getSizes())
    count *= size;
  return count;
}

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("D7: ") << getAxes().size() << " axes have "
                               << getSizes().size() << " sizes";
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute axis : getAxes())
    if (!seen.insert(axis).second)
      return emitOpError("D8: axis ") << axis << " stands twice in the mesh";
  // 2^20 devices is more than any machine that exists; it keeps products of
  // sizes far from overflow.
  int64_t count = 1;
  for (int64_t size : getSizes()) {
    if (size < 1)
      return emitOpError("D9: an axis has at least one device, not ") << size;
    if (__builtin_mul_overflow(count, size, &count) || count > (1 << 20))
      return emitOpError("D10: a mesh has at most 1048576 devices");
  }
  for (ArrayAttr axes : {getExpertsAttr(), getSharingAttr()})
    if (axes)
      for (Attribute axis : axes)
        if (!seen.contains(axis))
          return emitOpError("D28: has no axis ") << axis << " for experts";
  if (static_cast<int64_t>(getParts().value_or(1)) < 1 ||
      static_cast<int64_t>(getRounds().value_or(1)) < 1)
    return emitOpError("D28: parts have at least one row, in one round");
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The only mesh of the module around `op`; null if there is none.
static MeshOp meshAround(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

/// The number of devices that take part; a failure where the axes are wrong.
static FailureOr<int64_t> groupSize(Operation *op, ArrayAttr axes) {
  MeshOp mesh = meshAround(op);
  if (!mesh)
    return op->emitOpError("D12: stands in no module with a `dist.mesh`");
  if (axes.empty())
    return op->emitOpError("D13: names no axis");
  int64_t size = 1;
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute axis : axes) {
    const auto *found = llvm::find(mesh.getAxes(), axis);
    if (found == mesh.getAxes().end())
      return op->emitOpError("D6: mesh @")
             << mesh.getSymName() << " has no axis " << axis;
    if (!seen.insert(axis).second)
      return op->emitOpError("D13: axis ") << axis << " stands twice";
    size *= mesh.getSizes()[found - mesh.getAxes().begin()];
  }
  return size;
}

/// Checks that `shard` and `whole` differ in `dim` alone, of which each of the
/// group's devices holds a block.
static LogicalResult verifyShards(Operation *op, ArrayAttr axes, int64_t dim,
                                  Type shardType, Type wholeType) {
  auto shard = cast<RankedTensorType>(shardType);
  auto whole = cast<RankedTensorType>(wholeType);
  FailureOr<int64_t> devices = groupSize(op, axes);
  if (failed(devices))
    return failure();
  if (shard.getRank() != whole.getRank() ||
      shard.getElementType() != whole.getElementType())
    return op->emitOpError("D14: ") << shard << " is no shard of " << whole;
  if (dim < 0 || dim >= whole.getRank())
    return op->emitOpError("D15: there is no dim ") << dim << " in " << whole;
  for (int64_t d = 0; d < whole.getRank(); ++d) {
    int64_t expected = whole.getDimSize(d);
    if (d == dim)
      expected = (expected + *devices - 1) / *devices;
    if (shard.getDimSize(d) != expected)
      return op->emitOpError("D14: dim ")
             << d << " of a shard of " << whole << " over " << *devices
             << " devices is " << expected << ", not " << shard.getDimSize(d);
  }
  return success();
}

LogicalResult ConstrainOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (static_cast<int64_t>(getTo().getDims().size()) != type.getRank())
    return emitOpError("D4: a sharding of ")
           << getTo().getDims().size() << " dims stands on " << type;
  return success();
}

LogicalResult AllReduceOp::verify() { return groupSize(*this, getAxes()); }

LogicalResult ShiftOp::verify() { return groupSize(*this, getAxes()); }

LogicalResult AllGatherOp::verify() {
  return verifyShards(*this, getAxes(), getDim(), getInput().getType(),
                      getResult().getType());
}

LogicalResult ReduceScatterOp::verify() {
  return verifyShards(*this, getAxes(), getDim(), getResult().getType(),
                      getInput().getType());
}

LogicalResult SliceOp::verify() {
  return verifyShards(*this, getAxes(), getDim(), getResult().getType(),
                      getInput().getType());
}

LogicalResult AllToAllOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  FailureOr<int64_t> devices = groupSize(*this, getAxes());
  if (failed(devices))
    return failure();
  int64_t rank = from.getRank(), split = getSplit(), concat = getConcat();
  if (to.getRank() != rank || from.getElementType() != to.getElementType())
    return emitOpError("D14: ") << to << " is no exchange of " << from;
  if (split < 0 || concat < 0 || split >= rank || concat >= rank ||
      split == concat)
    return emitOpError("D15: dims ")
           << split << " and " << concat << " are not two dims of " << from;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t expected = from.getDimSize(d);
    if (d == split)
      expected = (expected + *devices - 1) / *devices;
    if (d == concat ? (to.getDimSize(d) + *devices - 1) / *devices != expected
                    : to.getDimSize(d) != expected)
      return emitOpError("D14: dim ")
             << d << " of " << to << " does not follow from " << from
             << " over " << *devices << " devices";
  }
  return success();
}

/// D25: one run, whose experts are shared out among the devices.
static LogicalResult verifyRowExchange(Operation *op, ArrayAttr axes) {
  FailureOr<int64_t> devices = groupSize(op, axes);
  if (failed(devices))
    return failure();
  auto typeOf = [&](unsigned operand) {
    return cast<RankedTensorType>(op->getOperand(operand).getType());
  };
  RankedTensorType from = typeOf(0), ranges = typeOf(1), segments = typeOf(2);
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  auto isRun = [](RankedTensorType type) {
    return type.getRank() == 3 && type.getDimSize(0) == 1;
  };
  if (!isRun(from) || !isRun(to) || from.getDimSize(2) != to.getDimSize(2) ||
      from.getElementType() != to.getElementType())
    return op->emitOpError("D25: ")
           << to << " does not hold the rows of " << from;
  if (!isRun(ranges) || !ranges.getElementType().isInteger(32) ||
      ranges.getDimSize(2) != 2)
    return op->emitOpError("D25: ") << ranges << " are no ranges of a run";
  int64_t experts = ranges.getDimSize(1);
  if (experts % *devices != 0 ||
      segments != ranges.clone({1, *devices, experts / *devices, 2}))
    return op->emitOpError("D25: ")
           << segments << " are no segments of " << ranges << " over "
           << *devices << " devices";
  return success();
}

LogicalResult ExchangeRowsOp::verify() {
  return verifyRowExchange(*this, getAxes());
}

LogicalResult ReturnRowsOp::verify() {
  return verifyRowExchange(*this, getAxes());
}

LogicalResult OffsetOp::verify() {
  if (getStep() < 1)
    return emitOpError("D16: a shard has at least one element, not ")
           << getStep();
  return groupSize(*this, getAxes());
}

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
