//===- VerifyInferenceOps.cpp - Verifiers of what writes ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace hocket::xf;

LogicalResult RopeTableAtOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  SmallVector<int64_t> expected(shapeOf(getPositions()));
  expected.append({int64_t(getInverseFrequencies().size()), 2});
  if (failed(checkShape(*this, 66, "result", getResult(), expected)))
    return failure();
  if (!isWide(elementOf(getResult())))
    return emitOpError("X66: a table is of f32 or f64");
  for (double frequency : getInverseFrequencies())
    if (!std::isfinite(frequency))
      return emitOpError("X66: frequency ") << frequency << " is not finite";
  return success();
}

LogicalResult CachedAttentionOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 67, "query", getQuery(), 4)) ||
      failed(checkRank(*this, 67, "key", getKey(), 4)) ||
      failed(checkRank(*this, 67, "table", getTable(), 2)) ||
      failed(checkRank(*this, 67, "keys", getKeys(), 4)))
    return failure();
  Shape query = shapeOf(getQuery()), key = shapeOf(getKey());
  Shape keys = shapeOf(getKeys());
  if (query[1] != 1 || key[2] < 1 || query[2] % key[2] != 0)
    return emitOpError("X67: a row has ")
           << query[1] << " tokens of " << query[2] << " heads over " << key[2];
  if (failed(checkShape(*this, 67, "key", getKey(),
                        {query[0], 1, key[2], query[3]})) ||
      failed(checkSameType(*this, 67, "value", getValue(), getKey())) ||
      failed(
          checkShape(*this, 67, "positions", getPositions(), {query[0], 1})) ||
      failed(checkShape(*this, 67, "rows", getRows(), {query[0], 1})) ||
      failed(checkShape(*this, 67, "keys", getKeys(),
                        {keys[0], keys[1], key[2], query[3]})) ||
      failed(checkSameType(*this, 67, "values", getValues(), getKeys())) ||
      failed(checkSameType(*this, 67, "result", getResult(), getQuery())) ||
      failed(checkSameType(*this, 67, "new_keys", getNewKeys(), getKeys())) ||
      failed(checkSameType(*this, 67, "new_values", getNewValues(), getKeys())))
    return failure();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"key", getKey()}, {"keys", getKeys()}})
    if (failed(checkElement(*this, 67, name, value, elementOf(getQuery()))))
      return failure();
  double scale = getScale().convertToDouble();
  if (!std::isfinite(scale) || int64_t(getWindow()) < 0)
    return emitOpError("X67: a scale of ")
           << scale << ", a window of " << int64_t(getWindow());
  if (!getFirstHead() != (getWholeHeads() == 0) ||
      (getFirstHead() && static_cast<int64_t>(getWholeHeads()) < query[2]))
    return emitOpError("X67: first_head is one of whole_heads, ")
           << query[2] << " at least";
  return checkSoftcap(*this, getSoftcap().convertToDouble(), getAlibi());
}

/// X68: the functions take what the host gives, and who is not alone leaves
/// evaluation to the step.
LogicalResult ServeOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getAlone() && (getEvaluateAttr() || getPrepareAttr()))
    return emitOpError("X68: evaluate and prepare are the step's");
  if (!getPrefillAttr() != !getDecodeAttr() ||
      (!getPrefillAttr() && !getAlone()))
    return emitOpError("X68: has prefill and decode, or neither and is alone");
  if (!getPrefillAttr())
    return success();
  for (FlatSymbolRefAttr name : {getPrefillAttr(), getDecodeAttr()}) {
    auto function =
        tables.lookupNearestSymbolFrom<func::FuncOp>(*this, name.getAttr());
    if (!function)
      return emitOpError("X68: names no function: ") << name;
    auto rows = RankedTensorType();
    if (function.getNumArguments() == 5)
      rows = dyn_cast<RankedTensorType>(function.getArgumentTypes()[0]);
    bool alike = rows && rows.getRank() == 2 && rows.getDimSize(1) == 1;
    for (unsigned i = 1; alike && i < 4; ++i)
      alike = function.getArgumentTypes()[i] == rows;
    if (!alike || function.getNumResults() != 0)
      return emitOpError("X68: ") << name
                                  << " is not (tokens, labels, positions, "
                                     "rows, table) -> (), a token a row";
  }
  return success();
}
