//===- DistDialect.cpp - The dist dialect -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Placement.h"
#include "dialects/xf/IR/XfOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::dist;

#include "dialects/dist/IR/DistDialect.cpp.inc"
#include "dialects/dist/IR/DistEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttrs.cpp.inc"

void DistDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/IR/DistAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh, ArrayAttr dims,
                                   ArrayAttr partial) {
  llvm::SmallDenseSet<StringRef> seen;
  auto takeAxes = [&](ArrayAttr axes) -> LogicalResult {
    for (Attribute axis : axes) {
      auto name = llvm::dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "D1: a sharding lists axes by name, not " << axis;
      if (!seen.insert(name.getValue()).second)
        return emitError() << "D2: axis " << name
                           << " stands twice in one sharding";
    }
    return success();
  };
  for (Attribute dim : dims) {
    auto axes = llvm::dyn_cast<ArrayAttr>(dim);
    if (!axes)
      return emitError()
             << "D1: each dim of a sharding has a list of axes, not " << dim;
    if (failed(takeAxes(axes)))
      return failure();
  }
  return takeAxes(partial);
}

/// Checks one sharding against the type it is for and the mesh it names.
static LogicalResult verifySharding(Operation *op, Attribute attribute,
                                    Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attribute);
  if (!sharding)
    return op->emitOpError("D3: `dist.sharding` must be a #dist.sharding");
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError("D3: only ranked tensors have a sharding, not ")
           << type;
  if (static_cast<int64_t>(sharding.getDims().size()) != tensor.getRank())
    return op->emitOpError("D4: a sharding of ")
           << sharding.getDims().size() << " dims stands on " << type;
  auto mesh =
      SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError("D5: no `dist.mesh` is named ")
           << sharding.getMesh();
  auto checkAxes = [&](ArrayAttr axes) -> LogicalResult {
    for (auto axis : axes.getAsRange<StringAttr>())
      if (!llvm::is_contained(mesh.getAxes(), axis))
        return op->emitOpError("D6: mesh ")
               << sharding.getMesh() << " has no axis " << axis;
    return success();
  };
  for (auto axes : sharding.getDims().getAsRange<ArrayAttr>())
    if (failed(checkAxes(axes)))
      return failure();
  return checkAxes(sharding.getPartial());
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kPlacementAttr)
    return verifyPlacement(op, attribute.getValue());
  if (attribute.getName() != "dist.sharding")
    return success();
  if (auto output = dyn_cast<xf::OutputOp>(op))
    return verifySharding(op, attribute.getValue(),
                          output.getValue().getType());
  auto type = op->getAttrOfType<TypeAttr>("type");
  if (!type)
    return op->emitOpError("D3: `dist.sharding` stands on variables, outputs "
                           "and function arguments only");
  return verifySharding(op, attribute.getValue(), type.getValue());
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned region,
                                                    unsigned argument,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != "dist.sharding" &&
      attribute.getName() != "dist.stream")
    return success();
  return verifySharding(op, attribute.getValue(),
                        op->getRegion(region).getArgument(argument).getType());
}
