//===- DistOps.cpp - Verifiers of the dist dialect --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"

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
  return success();
}

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
