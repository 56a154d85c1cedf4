//===- Placement.cpp - How an op is split, and why ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"

#include "dialects/xf/IR/XfOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

Placement Placement::of(Operation *op) {
  Placement placement;
  auto attribute = op->getAttrOfType<PlacementAttr>(kPlacementAttr);
  if (!attribute)
    return placement;
  placement.moves = attribute.getMoves();
  placement.operands = attribute.getOperands();
  placement.reasons = attribute.getReasons();
  placement.results = attribute.getResults();
  placement.split = attribute.getSplit();
  placement.line = attribute.getLine();
  placement.scattered = bool(attribute.getScattered());
  return placement;
}

void Placement::setOn(Operation *op) const {
  if (!moves && !operands && !reasons && !results && !split && line < 0 &&
      !scattered) {
    op->removeAttr(kPlacementAttr);
    return;
  }
  MLIRContext *context = op->getContext();
  op->setAttr(kPlacementAttr,
              PlacementAttr::get(
                  context, line, moves, operands, reasons, results,
                  scattered ? UnitAttr::get(context) : UnitAttr(), split));
}

static ShardingAttr entryOf(ArrayAttr list, unsigned index) {
  if (!list || index >= list.size())
    return {};
  return dyn_cast<ShardingAttr>(list[index]);
}

ShardingAttr Placement::ofOperand(unsigned index) const {
  return entryOf(operands, index);
}

ShardingAttr Placement::ofResult(unsigned index) const {
  return entryOf(results, index);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Whether `list`, if there is one, has a sharding of the dims of each of
/// `types`; `unit` for what is no tensor.
static LogicalResult verifyShardings(Operation *op, ArrayAttr list,
                                     TypeRange types, StringRef what) {
  if (!list)
    return success();
  if (list.size() != types.size())
    return op->emitOpError("D29: has shardings of ")
           << list.size() << " " << what << " and " << types.size() << " "
           << what;
  for (auto [type, entry] : llvm::zip(types, list)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto sharding = dyn_cast<ShardingAttr>(entry);
    bool fits =
        tensor ? sharding && static_cast<int64_t>(sharding.getDims().size()) ==
                                 tensor.getRank()
               : isa<UnitAttr>(entry);
    if (!fits)
      return op->emitOpError("D29: has ")
             << entry << " among its " << what << " for " << type;
  }
  return success();
}

/// Whether `lists`, if there are any, are at most `most` lists of reasons, or
/// units.
static LogicalResult verifyReasons(Operation *op, ArrayAttr lists,
                                   size_t most) {
  if (!lists)
    return success();
  if (lists.size() > most)
    return op->emitOpError("D29: has reasons of ")
           << lists.size() << " values, of " << most;
  for (Attribute list : lists) {
    auto reasons = dyn_cast<ArrayAttr>(list);
    if (!isa<UnitAttr>(list) &&
        !(reasons && llvm::all_of(reasons, llvm::IsaPred<ReasonAttr>)))
      return op->emitOpError("D29: has ") << list << ", no list of reasons";
  }
  return success();
}

LogicalResult hocket::dist::verifyPlacement(Operation *op,
                                            Attribute attribute) {
  if (!isa<PlacementAttr>(attribute))
    return op->emitOpError("D29: `dist.placement` must be a #dist.placement");
  Placement placement = Placement::of(op);
  bool isVariable = isa<xf::VariableOp>(op);
  if (placement.scattered && !isVariable)
    return op->emitOpError("D29: only variables are scattered");
  if (failed(verifyShardings(op, placement.operands, op->getOperandTypes(),
                             "operands")) ||
      failed(verifyShardings(op, placement.results, op->getResultTypes(),
                             "results")) ||
      failed(verifyReasons(op, placement.reasons,
                           isVariable ? 1 : op->getNumResults())))
    return failure();
  return verifyReasons(op, placement.moves, op->getNumOperands());
}
