//===- VerifyModelOps.cpp - Constraints of the forward pass ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"
#include "kernels/reference/RelativeBuckets.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

/// `shape` with another last dim.
static SmallVector<int64_t> withLast(Shape shape, int64_t last) {
  SmallVector<int64_t> result(shape);
  result.back() = last;
  return result;
}

static bool isSuffix(Shape suffix, Shape shape) {
  return suffix.size() <= shape.size() &&
         suffix == shape.take_back(suffix.size());
}

LogicalResult EmbeddingOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 1, "table", getTable(), 2)))
    return failure();
  SmallVector<int64_t> expected(shapeOf(getIds()));
  expected.push_back(shapeOf(getTable())[1]);
  if (failed(checkShape(*this, 1, "result", getResult(), expected)))
    return failure();
  return checkElement(*this, 1, "result", getResult(), elementOf(getTable()));
}

LogicalResult PrefixOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.empty() || to.size() != from.size() ||
      to.drop_front() != from.drop_front() || to[0] > from[0])
    return emitOpError("X2: result [")
           << to << "] is not the first rows of [" << from << "]";
  return checkElement(*this, 2, "result", getResult(), elementOf(getInput()));
}

LogicalResult LinearOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 3, "weight", getWeight(), 2)))
    return failure();
  Shape input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (input.empty() || input.back() != weight[1])
    return emitOpError("X3: input [")
           << input << "] does not end in the weight's " << weight[1];
  if (failed(checkShape(*this, 3, "result", getResult(),
                        withLast(input, weight[0]))))
    return failure();
  if (failed(checkOperandTypes(*this, 3, "input", "weight", getScales())))
    return failure();
  bool narrow = isF8(elementOf(getInput()));
  if (narrow && getFp8())
    return emitOpError("X83: fp8 is of operands that are no codes");
  if (failed(checkRecipe(*this, getFp8())))
    return failure();
  Type element = elementOf(narrow ? getResult() : getInput());
  if (failed(checkElementOrWider(*this, 3, "result", getResult(), element)))
    return failure();
  if (!getBias())
    return success();
  if (failed(checkShape(*this, 3, "bias", getBias(), weight[0])))
    return failure();
  return checkElementOrWider(*this, 3, "bias", getBias(), element);
}

/// X4 and X5, shared with the gradient.
static LogicalResult verifyNorm(Operation *op, Value input, Value weight,
                                double epsilon) {
  if (shapeOf(input).empty())
    return op->emitOpError("X4: input is a scalar");
  if (failed(checkShape(op, 4, "weight", weight, shapeOf(input).back())) ||
      failed(checkElementOrWider(op, 4, "weight", weight, elementOf(input))))
    return failure();
  if (!(epsilon > 0) || !std::isfinite(epsilon))
    return op->emitOpError("X5: epsilon ") << epsilon << " is not positive";
  return success();
}

LogicalResult NormOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(verifyNorm(*this, getInput(), getWeight(),
                        getEpsilon().convertToDouble())))
    return failure();
  if (failed(checkSameType(*this, 4, "result", getResult(), getInput())))
    return failure();
  if (!getBias())
    return success();
  if (getKind() == NormKind::Rms)
    return emitOpError("X6: an RMS norm has no bias");
  return checkSameType(*this, 4, "bias", getBias(), getWeight());
}

LogicalResult NormGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(verifyNorm(*this, getInput(), getWeight(),
                        getEpsilon().convertToDouble())) ||
      failed(checkSameType(*this, 4, "grad", getGrad(), getInput())) ||
      failed(checkSameType(*this, 4, "input_grad", getInputGrad(), getInput())))
    return failure();
  if (failed(checkShape(*this, 4, "weight_grad", getWeightGrad(),
                        shapeOf(getWeight()))) ||
      failed(checkElementOrWider(*this, 4, "weight_grad", getWeightGrad(),
                                 elementOf(getWeight()))))
    return failure();
  if (!getBiasGrad())
    return success();
  if (getKind() == NormKind::Rms)
    return emitOpError("X6: an RMS norm has no bias");
  return checkSameType(*this, 4, "bias_grad", getBiasGrad(), getWeightGrad());
}

/// X36: rows in parts, perhaps a shard of more.
template <typename OpT> static LogicalResult verifyRows(OpT op) {
  int64_t rows = shapeOf(op.getResult())[0];
  int64_t whole = op.getWhole();
  if (op.getFirst() ? whole < rows : whole != 0)
    return op.emitOpError("X36: ")
           << rows << " rows are no shard of a sequence of " << whole;
  return checkStored(op, 36, whole > 0 ? whole : rows, op.getPart(),
                     op.getRounds());
}

LogicalResult PositionsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 36, "result", getResult(), 1)))
    return failure();
  return verifyRows(*this);
}

LogicalResult RelativeBucketsOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  hocket::kernels::RelativeBuckets buckets{
      static_cast<int64_t>(getBuckets()),
      static_cast<int64_t>(getMaxDistance()), getBothDirections()};
  if (!buckets.isSound())
    return emitOpError("X114: ")
           << buckets.buckets << " buckets of distances up to "
           << buckets.maxDistance << " are none, or too many";
  return checkShape(*this, 114, "result", getResult(),
                    {2 * buckets.maxDistance + 1});
}

LogicalResult RopeTableOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 7, "result", getResult(), 3)) ||
      failed(verifyRows(*this)))
    return failure();
  int64_t pairs = static_cast<int64_t>(getInverseFrequencies().size());
  int64_t positions = shapeOf(getResult())[0];
  if (failed(
          checkShape(*this, 7, "result", getResult(), {positions, pairs, 2})))
    return failure();
  if (!isWide(elementOf(getResult())))
    return emitOpError("X7: a table is of f32 or f64");
  for (double frequency : getInverseFrequencies())
    if (!std::isfinite(frequency))
      return emitOpError("X7: frequency ") << frequency << " is not finite";
  return success();
}

LogicalResult RopeOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 8, "input", getInput(), 4)) ||
      failed(checkSameType(*this, 8, "result", getResult(), getInput())))
    return failure();
  Shape input = shapeOf(getInput());
  Shape angles = shapeOf(getTable());
  int64_t pairs = angles.size() >= 3 ? angles[angles.size() - 2] : 0;
  if (pairs > input[3] / 2)
    return emitOpError("X8: a head dim of ")
           << input[3] << " has fewer pairs than " << pairs;
  SmallVector<int64_t> table{input[1], pairs, 2};
  if (angles.size() == 4)
    table.insert(table.begin(), input[0]);
  if (failed(checkShape(*this, 8, "table", getTable(), table)))
    return failure();
  if (!isWide(elementOf(getTable())))
    return emitOpError("X8: a table is of f32 or f64");
  return success();
}

/// X19: a shard of attention lies within the whole.
template <typename OpT> static LogicalResult verifyShard(OpT op) {
  Shape query = shapeOf(op.getQuery());
  int64_t keys = shapeOf(op.getKey())[1];
  int64_t positions = query[1];
  if (op.getPlace().size() != (op.getWhole() ? 4 : 0))
    return op.emitOpError("X19: has ")
           << op.getPlace().size() << " numbers for its place, expected "
           << (op.getWhole() ? 4 : 0);
  if (auto whole = op.getWhole()) {
    if (whole->size() != 3 || (*whole)[0] < query[0] ||
        (*whole)[1] < query[2] ||
        (*whole)[2] < std::max<int64_t>(query[1], keys))
      return op.emitOpError("X19: whole [")
             << *whole << "] does not hold " << query[0] << " sequences, "
             << query[2] << " heads and " << std::max<int64_t>(query[1], keys)
             << " positions";
    positions = (*whole)[2];
  }
  int64_t behind = op.getBehind();
  if (behind < 0 || (behind > 0 && (!op.getWhole() || behind >= positions)))
    return op.emitOpError("X19: keys cannot be ")
           << behind << " rows before the shard";
  return checkStored(op, 19, positions, op.getPart(), op.getRounds());
}

/// X115: what scores get by distance is an odd number of rows, of f32 at least.
template <typename OpT> static LogicalResult checkBias(OpT op, double softcap) {
  if (!op.getBias())
    return success();
  if (failed(checkRank(op, 115, "bias", op.getBias(), 2)))
    return failure();
  int64_t rows = shapeOf(op.getBias())[0];
  if (rows % 2 == 0 || rows > 2 * hocket::kernels::kMostRelativeDistance + 1)
    return op.emitOpError("X115: bias has ")
           << rows << " rows, expected an odd number up to "
           << 2 * hocket::kernels::kMostRelativeDistance + 1;
  if (softcap != 0 || op.getAlibi())
    return op.emitOpError("X115: has a bias, and a softcap or alibi");
  if (failed(checkShape(op, 115, "bias", op.getBias(),
                        {rows, shapeOf(op.getQuery())[2]})))
    return failure();
  return checkElement(op, 115, "bias", op.getBias(),
                      widened(elementOf(op.getQuery())));
}

/// X9 to X11, X18, X19 and X115, shared by attention and its gradient.
template <typename OpT> static LogicalResult verifyAttention(OpT op) {
  if (failed(checkStatic(op)) ||
      failed(checkRank(op, 9, "query", op.getQuery(), 4)) ||
      failed(checkRank(op, 9, "key", op.getKey(), 4)))
    return failure();
  Shape query = shapeOf(op.getQuery());
  // Those of another sequence are as many as they are.
  bool hasOther = op.getWhole() || (!op.getCausal() && !op.getBias());
  int64_t keys = hasOther ? shapeOf(op.getKey())[1] : query[1];
  int64_t groups = shapeOf(op.getKey())[2];
  if (failed(verifyShard(op)) ||
      failed(checkShape(op, 9, "key", op.getKey(),
                        {query[0], keys, groups, query[3]})) ||
      failed(checkSameType(op, 9, "value", op.getValue(), op.getKey())) ||
      failed(checkElement(op, 9, "key", op.getKey(), elementOf(op.getQuery()))))
    return failure();
  if (query[2] % groups != 0)
    return op.emitOpError("X10: ") << groups << " key heads do not divide "
                                   << query[2] << " query heads";
  if (failed(checkShape(op, 9, "lse", op.getLse(),
                        {query[0], query[2], query[1]})) ||
      failed(checkElement(op, 9, "lse", op.getLse(),
                          widened(elementOf(op.getQuery())))))
    return failure();
  if (op.getPositions() &&
      failed(checkShape(op, 9, "positions", op.getPositions(),
                        {query[0], query[1]})))
    return failure();
  double scale = op.getScale().convertToDouble();
  if (!(scale > 0) || !std::isfinite(scale))
    return op.emitOpError("X11: scale ") << scale << " is not positive";
  double softcap = op.getSoftcap().convertToDouble();
  if (failed(checkSoftcap(op, softcap, op.getAlibi())))
    return failure();
  if (op.getAlibi() && !op.getCausal())
    return op.emitOpError("X111: alibi needs causal attention");
  if (failed(checkBias(op, softcap)))
    return failure();
  if (static_cast<int64_t>(op.getWindow()) < 0)
    return op.emitOpError("X11: window ")
           << static_cast<int64_t>(op.getWindow()) << " is negative";
  if (op.getWindow() != 0 && !op.getCausal())
    return op.emitOpError("X11: a window needs causal attention");
  return checkProbability(op, op.getDropout().convertToDouble());
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  return checkSameType(*this, 9, "result", getResult(), getQuery());
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyAttention(*this)) ||
      failed(checkSameType(*this, 9, "grad", getGrad(), getQuery())) ||
      failed(checkSameType(*this, 9, "output", getOutput(), getQuery())) ||
      failed(
          checkSameType(*this, 9, "query_grad", getQueryGrad(), getQuery())) ||
      failed(checkSameType(*this, 9, "key_grad", getKeyGrad(), getKey())))
    return failure();
  if (!getBias() != !getBiasGrad())
    return emitOpError("X115: a gradient by bias is there with a bias");
  if (getBias() &&
      failed(checkSameType(*this, 115, "bias_grad", getBiasGrad(), getBias())))
    return failure();
  return checkSameType(*this, 9, "value_grad", getValueGrad(), getValue());
}

LogicalResult ActivationOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkSameType(*this, 12, "result", getResult(), getInput());
}

LogicalResult hocket::xf::checkSoftcap(Operation *op, double softcap,
                                       bool alibi) {
  if (alibi && softcap != 0)
    return op->emitOpError("X111: has a softcap and alibi");
  if (softcap >= 0 && std::isfinite(softcap))
    return success();
  return op->emitOpError("X111: softcap ")
         << softcap << " is negative or not finite";
}

LogicalResult hocket::xf::checkCap(Operation *op, double cap) {
  if (cap > 0 && std::isfinite(cap))
    return success();
  return op->emitOpError("X112: cap ") << cap << " is not positive and finite";
}

LogicalResult SoftcapOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkCap(*this, getCap().convertToDouble())))
    return failure();
  return checkSameType(*this, 112, "result", getResult(), getInput());
}

LogicalResult GatedOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkSameType(*this, 12, "up", getUp(), getGate())))
    return failure();
  return checkSameType(*this, 12, "result", getResult(), getGate());
}

LogicalResult hocket::xf::checkRowGate(Operation *op, Value input, Value gate) {
  SmallVector<int64_t> rows(shapeOf(input));
  if (rows.empty())
    return op->emitOpError("X110: input is a scalar, which has no rows");
  rows.back() = 1;
  if (failed(checkElement(op, 110, "gate", gate, elementOf(input))))
    return failure();
  return checkShape(op, 110, "gate", gate, rows);
}

LogicalResult hocket::xf::checkQuestions(Operation *op, Value narrow,
                                         Value wide) {
  SmallVector<int64_t> rows(shapeOf(wide));
  if (rows.size() != 3)
    return op->emitOpError("X123: choices of sequences are [B, S, C]");
  int64_t choices = std::exchange(rows.back(), 1);
  if (failed(checkShape(op, 123, "what each sequence has", narrow, rows)) ||
      failed(checkElement(op, 123, "what each sequence has", narrow,
                          elementOf(wide))))
    return failure();
  if (choices < 2 || rows[0] % choices != 0)
    return op->emitOpError("X123: ")
           << rows[0] << " sequences are no questions of " << choices
           << " choices each";
  return success();
}

LogicalResult GatherChoicesOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkQuestions(*this, getInput(), getResult());
}

LogicalResult hocket::xf::checkChunks(Operation *op, Value whole, Value chunks,
                                      int64_t shift) {
  Shape from = shapeOf(whole), to = shapeOf(chunks);
  if (from.size() < 2 || to.size() != from.size() ||
      from.drop_front(2) != to.drop_front(2) || to[0] % from[0] != 0 ||
      to[0] / from[0] * to[1] != from[1])
    return op->emitOpError("X125: [")
           << to << "] are no chunks of sequences [" << from << "]";
  if (shift < 0 || shift >= from[1])
    return op->emitOpError("X125: a shift of ")
           << shift << " rows is not within sequences of " << from[1];
  return checkElement(op, 125, "result", op->getResult(0),
                      elementOf(op->getOperand(0)));
}

LogicalResult SplitChunksOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkChunks(*this, getInput(), getResult(), getShift());
}

LogicalResult JoinChunksOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkChunks(*this, getResult(), getInput(), getShift());
}

LogicalResult JoinHeadsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 126, "input", getInput(), 4)) ||
      failed(checkElement(*this, 126, "result", getResult(),
                          elementOf(getInput()))))
    return failure();
  SmallVector<int64_t> heads(shapeOf(getInput()));
  if (!getFront()) {
    int64_t width = heads.back();
    if (shapeOf(getResult()).size() == 4 &&
        shapeOf(getResult()).back() >= width)
      heads.back() = shapeOf(getResult()).back();
    return checkShape(*this, 126, "result", getResult(), heads);
  }
  if (failed(checkRank(*this, 126, "front", getFront(), 4)) ||
      failed(
          checkElement(*this, 126, "front", getFront(), elementOf(getInput()))))
    return failure();
  Shape front = shapeOf(getFront());
  SmallVector<int64_t> expected = {heads[0], heads[1],
                                   front[2] == 1 ? 1 : heads[2], front[3]};
  if (failed(checkShape(*this, 126, "front", getFront(), expected)))
    return failure();
  heads.back() += front[3];
  return checkShape(*this, 126, "result", getResult(), heads);
}

LogicalResult PartHeadsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 127, "input", getInput(), 4)) ||
      failed(checkRank(*this, 127, "result", getResult(), 4)) ||
      failed(checkElement(*this, 127, "result", getResult(),
                          elementOf(getInput()))))
    return failure();
  SmallVector<int64_t> heads(shapeOf(getInput()));
  int64_t whole = std::exchange(heads.back(), shapeOf(getResult()).back());
  auto first = static_cast<int64_t>(getFirst());
  if (first < 0 || first > whole - heads.back())
    return emitOpError("X127: ") << heads.back() << " channels from " << first
                                 << " on are no part of heads of " << whole;
  return checkShape(*this, 127, "result", getResult(), heads);
}

LogicalResult hocket::xf::checkPlacedRows(Operation *op, Value tokens,
                                          Value rows, Value source) {
  if (failed(checkRank(op, 124, "what has a row for each token", tokens, 3)) ||
      failed(checkShape(op, 124, "rows", rows, shapeOf(tokens).drop_back())))
    return failure();
  if (!source)
    return success();
  if (failed(checkRank(op, 124, "source", source, 3)) ||
      failed(checkElement(op, 124, "source", source, elementOf(tokens))))
    return failure();
  Shape from = shapeOf(source), to = shapeOf(tokens);
  if (from[0] % to[0] != 0 || from[2] != to[2])
    return op->emitOpError("X124: ")
           << "source [" << from << "] has no rows of " << to[2] << " for "
           << to[0] << " sequences, as many for each";
  if (from[0] / to[0] > INT32_MAX / from[1])
    return op->emitOpError("X124: the rows of a sequence have no 32-bit "
                           "numbers");
  return success();
}

LogicalResult PlaceRowsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkPlacedRows(*this, getInput(), getRows(), getSource())))
    return failure();
  return checkSameType(*this, 124, "result", getResult(), getInput());
}

LogicalResult RowGateOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRowGate(*this, getInput(), getGate())))
    return failure();
  return checkSameType(*this, 110, "result", getResult(), getInput());
}

LogicalResult DropoutOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkSameType(*this, 12, "result", getResult(), getInput())) ||
      failed(checkShard(*this, shardOf(*this), getAt().size())))
    return failure();
  return checkProbability(*this, getRate().convertToDouble());
}

/// X13, shared by add and multiply.
template <typename OpT> static LogicalResult verifyElementwise(OpT op) {
  Type element = elementOf(op.getLhs());
  if (failed(checkStatic(op)) ||
      failed(checkSameType(op, 13, "result", op.getResult(), op.getLhs())))
    return failure();
  if (failed(shapeOf(op.getRhs()).empty()
                 ? checkElementOrWider(op, 13, "rhs", op.getRhs(), element)
                 : checkElement(op, 13, "rhs", op.getRhs(), element)))
    return failure();
  if (isSuffix(shapeOf(op.getRhs()), shapeOf(op.getLhs())))
    return success();
  InFlightDiagnostic message = op.emitOpError("X13: rhs [");
  message << shapeOf(op.getRhs()) << "] is not the last dims of lhs ["
          << shapeOf(op.getLhs()) << "]";
  return message;
}

LogicalResult AddOp::verify() { return verifyElementwise(*this); }
LogicalResult MultiplyOp::verify() { return verifyElementwise(*this); }

LogicalResult SumLeadingOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (!isSuffix(shapeOf(getResult()), shapeOf(getInput())))
    return emitOpError("X14: result [")
           << shapeOf(getResult()) << "] is not the last dims of input ["
           << shapeOf(getInput()) << "]";
  return checkElementOrWider(*this, 14, "result", getResult(),
                             elementOf(getInput()));
}

LogicalResult ReshapeOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  auto from = cast<ShapedType>(getInput().getType());
  auto to = cast<ShapedType>(getResult().getType());
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("X15: ")
           << from.getNumElements() << " elements do not make "
           << to.getNumElements();
  return checkElement(*this, 15, "result", getResult(), elementOf(getInput()));
}

LogicalResult CastOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkShape(*this, 16, "result", getResult(), shapeOf(getInput()));
}

LogicalResult ConstantOp::verify() { return checkStatic(*this); }

/// X17, shared by the cross-entropy and its gradient.
/// `isShard`: the logits are a shard of wider ones.
template <typename OpT>
static LogicalResult verifyCrossEntropy(OpT op, bool isShard) {
  if (failed(checkStatic(op)))
    return failure();
  Shape logits = shapeOf(op.getLogits());
  if (logits.empty())
    return op.emitOpError("X17: logits are a scalar");
  if (failed(
          checkShape(op, 17, "labels", op.getLabels(), logits.drop_back())) ||
      failed(checkShape(op, 17, "lse", op.getLse(), logits.drop_back())) ||
      failed(checkElement(op, 17, "lse", op.getLse(),
                          widened(elementOf(op.getLogits())))))
    return failure();
  int64_t valid = op.getValidVocab();
  if (valid < 1 || (valid > logits.back() && !isShard))
    return op.emitOpError("X17: a valid vocabulary of ")
           << valid << " is not in [1, " << logits.back() << "]";
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyCrossEntropy(*this, false)))
    return failure();
  if (getPicked() &&
      failed(checkSameType(*this, 17, "picked", getPicked(), getLse())))
    return failure();
  if (getCount() && failed(checkScalar(*this, 17, "count", getCount())))
    return failure();
  return checkScalar(*this, 17, "loss", getLoss());
}

LogicalResult CrossEntropyGradientOp::verify() {
  if (failed(verifyCrossEntropy(*this, getFirstColumn() != nullptr)) ||
      failed(checkScalar(*this, 17, "loss_grad", getLossGrad())) ||
      (getCount() && failed(checkScalar(*this, 17, "count", getCount()))))
    return failure();
  return checkSameType(*this, 17, "result", getResult(), getLogits());
}
