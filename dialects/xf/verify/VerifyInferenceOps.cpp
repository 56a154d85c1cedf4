//===- VerifyInferenceOps.cpp - Verifiers of what writes ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/XfConstraints.h"
#include "kernels/reference/RelativeBuckets.h"

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

/// X120: what scores get by distance, as of attention (X115).
static LogicalResult checkCachedBias(CachedAttentionOp op) {
  if (!op.getBias())
    return success();
  if (failed(checkRank(op, 120, "bias", op.getBias(), 2)))
    return failure();
  int64_t rows = shapeOf(op.getBias())[0];
  if (rows % 2 == 0 || rows > 2 * hocket::kernels::kMostRelativeDistance + 1)
    return op.emitOpError("X120: bias has ")
           << rows << " rows, expected an odd number up to "
           << 2 * hocket::kernels::kMostRelativeDistance + 1;
  if (!op.getSoftcap().isZero() || op.getAlibi() || op.getFirstHead())
    return op.emitOpError("X120: has a bias, and a softcap or alibi");
  if (failed(checkShape(op, 120, "bias", op.getBias(),
                        {rows, shapeOf(op.getQuery())[2]})))
    return failure();
  return checkElement(op, 120, "bias", op.getBias(),
                      widened(elementOf(op.getQuery())));
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
  if (failed(checkCachedBias(*this)))
    return failure();
  return checkSoftcap(*this, getSoftcap().convertToDouble(), getAlibi());
}

/// X68: the functions take what the host gives, and who is not alone leaves
/// evaluation to the step.
static constexpr llvm::StringLiteral tokensText =
    " is not (tokens, labels, positions, rows, table) -> (), a token a row";

/// X68: whether `function` takes so many arguments: tokens, a row each, and of
/// each a label, a position and a row; a table; of each one number more.
static bool takesTokens(func::FuncOp function, unsigned arguments) {
  if (function.getNumArguments() != arguments || function.getNumResults() != 0)
    return false;
  auto rows = dyn_cast<RankedTensorType>(function.getArgumentTypes()[0]);
  bool alike = rows && rows.getRank() == 2 && rows.getDimSize(1) == 1;
  for (unsigned i = 1; alike && i < arguments; ++i)
    alike = i == 4 || function.getArgumentTypes()[i] == rows ||
            hostInputOf(function, i) == HostInput::ImageRows;
  return alike;
}

/// X121: whether `function` takes what an encoder reads, a text a row, and how
/// many of a row's tokens there are.
static bool encodesTexts(func::FuncOp function) {
  if (function.getNumArguments() != 2 || function.getNumResults() != 0)
    return false;
  auto rows = dyn_cast<RankedTensorType>(function.getArgumentTypes()[0]);
  return rows && rows.getRank() == 2 &&
         function.getArgumentTypes()[1] == rows &&
         findHostInput(function, HostInput::KeyCounts);
}

/// X121: whether `function` takes tokens, and image rows of as many in as many
/// runs as `encode` sees images.
static bool placesImages(func::FuncOp function, func::FuncOp encode) {
  BlockArgument rows = findHostInput(function, HostInput::ImageRows);
  if (!rows || rows.getArgNumber() != 5 || !takesTokens(function, 6))
    return false;
  auto type = dyn_cast<RankedTensorType>(rows.getType());
  auto tokens = cast<RankedTensorType>(function.getArgumentTypes()[0]);
  auto pixels = cast<RankedTensorType>(encode.getArgumentTypes()[0]);
  return type && type.getRank() == 2 &&
         type.getNumElements() == tokens.getNumElements() &&
         type.getDimSize(0) == pixels.getDimSize(0);
}

/// X121: whether `function` takes in the numbers of an image and, of each row
/// that is kept, which of the image's stands there from here on.
static bool encodesImages(func::FuncOp function) {
  if (function.getNumArguments() != 2 || function.getNumResults() != 0)
    return false;
  auto pixels = dyn_cast<RankedTensorType>(function.getArgumentTypes()[0]);
  auto rows = dyn_cast<RankedTensorType>(function.getArgumentTypes()[1]);
  return pixels && rows && pixels.getRank() == 2 && rows.getRank() == 2 &&
         pixels.getDimSize(0) == rows.getDimSize(0) &&
         findHostInput(function, HostInput::Pixels) &&
         findHostInput(function, HostInput::ImageRows);
}

LogicalResult ServeOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getAlone() && (getEvaluateAttr() || getPrepareAttr()))
    return emitOpError("X68: evaluate and prepare are the step's");
  if (!getPrefillAttr() != !getDecodeAttr() ||
      (!getPrefillAttr() && !getAlone()))
    return emitOpError("X68: has prefill and decode, or neither and is alone");
  if (!getPrefillAttr() && getEncodeAttr())
    return emitOpError("X121: has encode without prefill");
  if (!getPrefillAttr())
    return success();
  auto lookUp = [&](FlatSymbolRefAttr name) {
    return tables.lookupNearestSymbolFrom<func::FuncOp>(*this, name.getAttr());
  };
  for (FlatSymbolRefAttr name : {getPrefillAttr(), getDecodeAttr()})
    if (!lookUp(name))
      return emitOpError("X68: names no function: ") << name;
  func::FuncOp prefill = lookUp(getPrefillAttr()),
               decode = lookUp(getDecodeAttr());
  if (FlatSymbolRefAttr encode = getEncodeAttr()) {
    func::FuncOp function = lookUp(encode);
    if (!function || !encodesImages(function))
      return emitOpError("X121: ")
             << encode << " is not (pixels, image rows) -> (), of as many";
    if (!placesImages(prefill, function))
      return emitOpError("X121: ")
             << getPrefillAttr()
             << " is not (tokens, labels, positions, rows, table, image rows) "
                "-> (), the last of as many tokens";
    if (!takesTokens(decode, 5))
      return emitOpError("X68: ") << getDecodeAttr() << tokensText;
    return success();
  }
  bool encodes = bool(findHostInput(prefill, HostInput::EncoderTokens));
  if (encodes && !encodesTexts(prefill))
    return emitOpError("X121: ")
           << getPrefillAttr()
           << " is not (encoder tokens, key counts) -> (), a text a row";
  if (!encodes && !takesTokens(prefill, 5))
    return emitOpError("X68: ") << getPrefillAttr() << tokensText;
  if (encodes && takesTokens(decode, 6) &&
      findHostInput(decode, HostInput::KeyCounts))
    return success();
  if (encodes)
    return emitOpError("X121: ")
           << getDecodeAttr()
           << " is not (tokens, labels, positions, rows, table, key counts) -> "
              "(), a token a row";
  if (!takesTokens(decode, 5))
    return emitOpError("X68: ") << getDecodeAttr() << tokensText;
  return success();
}
