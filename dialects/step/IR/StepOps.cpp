//===- StepOps.cpp - Verifiers of the step dialect ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/step/IR/Step.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace hocket::step;

/// K35.
LogicalResult MeshOp::verify() {
  llvm::SmallDenseSet<Attribute> names;
  for (Attribute axis : getAxes())
    names.insert(axis);
  if (names.size() != getAxes().size() ||
      getAxes().size() != getSizes().size() ||
      llvm::any_of(getSizes(), [](int64_t size) { return size < 1; }))
    return emitOpError("K35: each axis has a name of its own and a size of at "
                       "least 1");
  if (static_cast<int64_t>(getParts().value_or(1)) < 1)
    return emitOpError("K35: parts have at least one row, not ")
           << static_cast<int64_t>(*getParts());
  return success();
}

/// K36.
LogicalResult TrainingOp::verify() {
  auto micro = static_cast<int64_t>(getMicroBatchSize());
  auto global = static_cast<int64_t>(getGlobalBatchSize());
  if (micro < 1 || global < micro || global % micro != 0)
    return emitOpError("K36: the global batch of ")
           << global << " is no multiple of the micro batch of " << micro;
  return success();
}

#define GET_OP_CLASSES
#include "dialects/step/IR/StepOps.cpp.inc"
