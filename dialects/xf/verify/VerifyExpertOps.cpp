//===- VerifyExpertOps.cpp - Constraints of mixtures of experts -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Logits of the router: `[.., E]`, of f32 or f64.
static LogicalResult checkLogits(Operation *op, int number, Value logits) {
  if (shapeOf(logits).empty() || !isWide(elementOf(logits)))
    return op->emitOpError("X")
           << number << ": logits have type " << logits.getType()
           << ", expected [.., E] of f32 or f64";
  return success();
}

/// X24: one entry for each token and choice, of at most E choices.
static LogicalResult checkChoices(Operation *op, Value logits, StringRef what,
                                  Value value, int64_t topK) {
  SmallVector<int64_t> expected(shapeOf(logits));
  if (topK < 1 || topK > expected.back())
    return op->emitOpError("X24: a choice of ")
           << topK << " experts is not in [1, " << expected.back() << "]";
  expected.back() = topK;
  return checkShape(op, 24, what, value, expected);
}

static LogicalResult checkRouterScale(Operation *op, double scale) {
  if (scale > 0 && std::isfinite(scale))
    return success();
  return op->emitOpError("X24: a scale of ")
         << scale << " is not positive and finite";
}

/// X25.
static LogicalResult verifyGroups(RouterOp op) {
  int64_t experts = shapeOf(op.getLogits()).back();
  auto groups = static_cast<int64_t>(op.getGroups());
  auto kept = static_cast<int64_t>(op.getTopkGroups());
  auto topK = static_cast<int64_t>(op.getTopK());
  if (groups < 1 || experts % groups != 0)
    return op.emitOpError("X25: ")
           << groups << " groups do not divide " << experts << " experts";
  if (kept < 1 || kept > groups)
    return op.emitOpError("X25: ")
           << kept << " groups to choose from are not in [1, " << groups << "]";
  if (topK > kept * (experts / groups))
    return op.emitOpError("X25: ") << kept << " groups of " << experts / groups
                                   << " experts hold fewer than " << topK;
  return success();
}

/// [E], or of each sequence of the tokens, [B, E].
static SmallVector<int64_t>
perExpertShape(Value value, ArrayRef<int64_t> tokens, int64_t experts) {
  SmallVector<int64_t> shape{experts};
  if (shapeOf(value).size() == 2 && tokens.size() > 1)
    shape.insert(shape.begin(), tokens.front());
  return shape;
}

LogicalResult RouterOp::verify() {
  if (failed(checkStatic(*this)) || failed(checkLogits(*this, 24, getLogits())))
    return failure();
  auto topK = static_cast<int64_t>(getTopK());
  if (failed(checkChoices(*this, getLogits(), "weights", getWeights(), topK)) ||
      failed(checkChoices(*this, getLogits(), "experts", getExperts(), topK)) ||
      failed(checkElement(*this, 24, "weights", getWeights(),
                          elementOf(getLogits()))) ||
      failed(checkRouterScale(*this, getScale().convertToDouble())))
    return failure();
  if (getBias() &&
      (failed(checkShape(*this, 24, "bias", getBias(),
                         perExpertShape(getBias(),
                                        shapeOf(getLogits()).drop_back(),
                                        shapeOf(getLogits()).back()))) ||
       failed(
           checkElement(*this, 24, "bias", getBias(), elementOf(getLogits())))))
    return failure();
  return verifyGroups(*this);
}

LogicalResult SinkhornOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkLogits(*this, 113, getLogits())) ||
      failed(checkRank(*this, 113, "logits", getLogits(), 3)))
    return failure();
  Shape logits = shapeOf(getLogits());
  if (failed(checkShape(*this, 113, "result", getResult(),
                        {logits.front(), logits.back()})))
    return failure();
  return checkElement(*this, 113, "result", getResult(),
                      elementOf(getLogits()));
}

LogicalResult RouterGradientOp::verify() {
  if (failed(checkStatic(*this)) || failed(checkLogits(*this, 24, getLogits())))
    return failure();
  if (shapeOf(getExperts()).empty())
    return emitOpError("X24: experts are a scalar");
  int64_t topK = shapeOf(getExperts()).back();
  if (failed(checkChoices(*this, getLogits(), "grad", getGrad(), topK)) ||
      failed(checkChoices(*this, getLogits(), "experts", getExperts(), topK)) ||
      failed(
          checkElement(*this, 24, "grad", getGrad(), elementOf(getLogits()))) ||
      failed(checkRouterScale(*this, getScale().convertToDouble())))
    return failure();
  return checkSameType(*this, 24, "result", getResult(), getLogits());
}

/// X26: one number an expert, of all or of each sequence, in the logits' type.
static LogicalResult verifyPerExpert(Operation *op, Value logits,
                                     StringRef what, Value value) {
  if (failed(checkStatic(op)) || failed(checkLogits(op, 26, logits)) ||
      failed(checkShape(op, 26, what, value,
                        perExpertShape(value, shapeOf(logits).drop_back(),
                                       shapeOf(logits).back()))))
    return failure();
  return checkElement(op, 26, what, value, elementOf(logits));
}

LogicalResult RouterProbabilitiesOp::verify() {
  return verifyPerExpert(*this, getLogits(), "result", getResult());
}

LogicalResult RouterProbabilitiesGradientOp::verify() {
  if (failed(verifyPerExpert(*this, getLogits(), "grad", getGrad())))
    return failure();
  return checkSameType(*this, 26, "result", getResult(), getLogits());
}

LogicalResult RouterZLossOp::verify() {
  if (failed(checkStatic(*this)) || failed(checkLogits(*this, 27, getLogits())))
    return failure();
  return checkScalar(*this, 27, "result", getResult());
}

LogicalResult RouterZLossGradientOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkLogits(*this, 27, getLogits())) ||
      failed(checkScalar(*this, 27, "grad", getGrad())))
    return failure();
  return checkSameType(*this, 27, "result", getResult(), getLogits());
}

LogicalResult ExpertCountsOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (shapeOf(getResult()).empty())
    return emitOpError("X28: counts are a scalar");
  if (failed(checkShape(*this, 28, "result", getResult(),
                        perExpertShape(getResult(), shapeOf(getExperts()),
                                       shapeOf(getResult()).back()))))
    return failure();
  if (isWide(elementOf(getResult())))
    return success();
  return emitOpError("X28: counts are of f32 or f64, not ")
         << elementOf(getResult());
}

LogicalResult BalanceBiasOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 28, "bias", getBias(), 1)) ||
      failed(checkSameType(*this, 28, "counts", getCounts(), getBias())) ||
      failed(checkSameType(*this, 28, "result", getResult(), getBias())) ||
      failed(checkScalar(*this, 28, "skip", getSkip())))
    return failure();
  double rate = getRate().convertToDouble();
  if (rate >= 0 && std::isfinite(rate))
    return success();
  return emitOpError("X28: a rate of ") << rate << " is negative or not finite";
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

/// That `runs` of tokens [B, S], `positions` of them of each sequence, are all
/// of one size.
static LogicalResult verifyRuns(Operation *op, int number, Shape tokens,
                                int64_t runs, int64_t positions) {
  if (positions >= 1 && runs % positions == 0 && tokens[1] % positions == 0 &&
      tokens[0] % (runs / positions) == 0)
    return success();
  return op->emitOpError("X") << number << ": " << runs << " runs, "
                              << positions << " along positions, do not divide "
                              << tokens[0] << " sequences of " << tokens[1];
}

LogicalResult ExpertOrderOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 29, "choice", getChoice(), 3)) ||
      failed(checkShape(*this, 29, "slots", getSlots(), shapeOf(getChoice()))))
    return failure();
  auto experts = static_cast<int64_t>(getExperts());
  auto capacity = static_cast<int64_t>(getCapacity());
  if (experts < 1 || experts > INT32_MAX || capacity < 0 ||
      capacity > INT32_MAX / experts)
    return emitOpError("X29: ") << experts << " experts with a capacity of "
                                << capacity << " do not fit 32-bit rows";
  Shape choice = shapeOf(getChoice());
  if (choice[0] * choice[1] > INT32_MAX / choice[2])
    return emitOpError("X29: [") << choice << "] does not fit 32-bit rows";
  if ((capacity == 0) != static_cast<bool>(getRanges()))
    return emitOpError("X29: the order without a capacity, and no other, has "
                       "ranges");
  auto positions = static_cast<int64_t>(getPositionRuns());
  if (capacity > 0 && positions != 1)
    return emitOpError("X29: with a capacity there are no runs of positions");
  if (capacity > 0)
    return success();
  if (failed(checkRank(*this, 29, "ranges", getRanges(), 3)))
    return failure();
  int64_t runs = shapeOf(getRanges())[0];
  if (failed(verifyRuns(*this, 29, choice, runs, positions)))
    return failure();
  return checkShape(*this, 29, "ranges", getRanges(), {runs, experts, 2});
}

/// X30, of `dispatch`, `combine` and its gradient: `tokens[B, S, h]`,
/// `slots[B, S, k]`, `rows` as `[E, B, C, h]` or `[G, R, h]`.
static LogicalResult verifyRows(Operation *op, Value tokens, Value slots,
                                Value rows, int64_t positions) {
  if (failed(checkStatic(op)) || failed(checkRank(op, 30, "slots", slots, 3)))
    return failure();
  Shape s = shapeOf(slots), r = shapeOf(rows);
  if (r.size() != 3 && r.size() != 4)
    return op->emitOpError("X30: rows have ")
           << r.size() << " dims, expected 4 with a capacity, else 3";
  if (failed(checkShape(op, 30, "tokens", tokens, {s[0], s[1], r.back()})))
    return failure();
  if (r.size() == 3)
    return verifyRuns(op, 30, s, r[0], positions);
  if (positions != 1)
    return op->emitOpError("X30: with a capacity there are no runs of "
                           "positions");
  return checkShape(op, 30, "rows", rows, {r[0], s[0], r[2], r[3]});
}

/// X30: one weight a slot, as wide as the rows.
static LogicalResult verifyWeights(Operation *op, Value slots, Value rows,
                                   StringRef what, Value weights) {
  if (failed(checkShape(op, 30, what, weights, shapeOf(slots))))
    return failure();
  return checkElementOrWider(op, 30, what, weights, elementOf(rows));
}

LogicalResult DispatchOp::verify() {
  if (failed(verifyRows(*this, getInput(), getSlots(), getResult(),
                        static_cast<int64_t>(getPositionRuns()))) ||
      failed(checkElement(*this, 30, "result", getResult(),
                          elementOf(getInput()))))
    return failure();
  if (!getWeights())
    return success();
  return verifyWeights(*this, getSlots(), getInput(), "weights", getWeights());
}

LogicalResult CombineOp::verify() {
  if (failed(verifyRows(*this, getResult(), getSlots(), getRows(),
                        static_cast<int64_t>(getPositionRuns()))) ||
      failed(
          checkElement(*this, 30, "result", getResult(), elementOf(getRows()))))
    return failure();
  if (!getWeights())
    return success();
  return verifyWeights(*this, getSlots(), getRows(), "weights", getWeights());
}

LogicalResult CombineWeightGradientOp::verify() {
  if (failed(verifyRows(*this, getTokens(), getSlots(), getRows(),
                        static_cast<int64_t>(getPositionRuns()))) ||
      failed(
          checkElement(*this, 30, "tokens", getTokens(), elementOf(getRows()))))
    return failure();
  return verifyWeights(*this, getSlots(), getRows(), "result", getResult());
}

//===----------------------------------------------------------------------===//
// Rows between runs
//===----------------------------------------------------------------------===//

LogicalResult ExpertSegmentsOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 69, "ranges", getRanges(), 3)) ||
      failed(checkRank(*this, 69, "result", getResult(), 4)))
    return failure();
  Shape s = shapeOf(getResult());
  // What one group has sent is its own already.
  if (s[0] == 1 && shapeOf(getRanges()) == Shape{s[1], s[2], 2})
    return checkShape(*this, 69, "result", getResult(), {1, s[1], s[2], 2});
  if (s[0] % s[1] != 0)
    return emitOpError("X69: ")
           << s[0] << " runs do not form groups of " << s[1];
  if (failed(
          checkShape(*this, 69, "ranges", getRanges(), {s[0], s[1] * s[2], 2})))
    return failure();
  return checkShape(*this, 69, "result", getResult(), {s[0], s[1], s[2], 2});
}

/// X70: `[G, x, h]` becomes `[G, y, h]` by `ranges[G, E, 2]` and
/// `segments[G, n, E/n, 2]`.
static LogicalResult verifyExchange(Operation *op, Value from, Value ranges,
                                    Value segments, Value to) {
  if (failed(checkStatic(op)) || failed(checkRank(op, 70, "rows", from, 3)) ||
      failed(checkRank(op, 70, "segments", segments, 4)) ||
      failed(checkRank(op, 70, "result", to, 3)))
    return failure();
  Shape s = shapeOf(segments), f = shapeOf(from);
  if (s[0] % s[1] != 0)
    return op->emitOpError("X70: ")
           << s[0] << " runs do not form groups of " << s[1];
  if (failed(checkShape(op, 70, "segments", segments, {f[0], s[1], s[2], 2})) ||
      failed(checkShape(op, 70, "ranges", ranges, {f[0], s[1] * s[2], 2})) ||
      failed(checkShape(op, 70, "result", to, {f[0], shapeOf(to)[1], f[2]})))
    return failure();
  return checkElement(op, 70, "result", to, elementOf(from));
}

LogicalResult ExchangeRowsOp::verify() {
  return verifyExchange(*this, getRows(), getRanges(), getSegments(),
                        getResult());
}

LogicalResult ReturnRowsOp::verify() {
  return verifyExchange(*this, getRows(), getRanges(), getSegments(),
                        getResult());
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// X31: of exchanged rows, where the runs' places share out the experts.
static LogicalResult verifySegments(Operation *op, Value rows, int64_t experts,
                                    Value segments) {
  Shape s = shapeOf(segments);
  if (failed(checkShape(op, 31, "ranges", segments,
                        {shapeOf(rows)[0], s[1], s[2], 2})))
    return failure();
  if (experts % s[2] == 0 && s[0] % (experts / s[2]) == 0)
    return success();
  return op->emitOpError("X31: ") << s[0] << " runs of " << s[2]
                                  << " experts do not share out " << experts;
}

/// X31: `[E, B, C, x]` or, with `ranges[G, E, 2]` or `[G, n, e, 2]`,
/// `[G, R, x]`, for `weight[E, ..]`.
static LogicalResult verifyGroupedRows(Operation *op, StringRef what,
                                       Value rows, Value weight, Value ranges) {
  if (failed(checkStatic(op)) ||
      failed(checkRank(op, 31, "weight", weight, 3)) ||
      failed(checkRank(op, 31, what, rows, ranges ? 3 : 4)))
    return failure();
  int64_t experts = shapeOf(weight)[0];
  auto expected = op->getAttrOfType<IntegerAttr>("expected_rows");
  int64_t most = ranges ? shapeOf(rows)[1] : 0;
  if (expected && (expected.getInt() < 0 || expected.getInt() > most))
    return op->emitOpError("X31: expects ")
           << expected.getInt() << " rows of a run in ranges, of " << most;
  if (ranges && shapeOf(ranges).size() == 4)
    return verifySegments(op, rows, experts, ranges);
  if (ranges)
    return checkShape(op, 31, "ranges", ranges, {shapeOf(rows)[0], experts, 2});
  if (shapeOf(rows)[0] == experts)
    return success();
  return op->emitOpError("X31: ") << what << " are of " << shapeOf(rows)[0]
                                  << " experts, weight of " << experts;
}

/// X31: `to` is `from`, ending in `last` where `from` ends in `expected`.
static LogicalResult verifyGemm(Operation *op, Value from, int64_t expected,
                                Value to, int64_t last) {
  Shape shape = shapeOf(from);
  if (shape.back() != expected)
    return op->emitOpError("X31: rows of ")
           << shape.back() << " do not fit weights of " << expected;
  SmallVector<int64_t> result(shape);
  result.back() = last;
  if (failed(checkShape(op, 31, "result", to, result)))
    return failure();
  return checkElement(op, 31, "result", to, elementOf(from));
}

LogicalResult GroupedLinearOp::verify() {
  if (failed(checkRecipe(*this, getFp8())) ||
      failed(verifyGroupedRows(*this, "rows", getRows(), getWeight(),
                               getRanges())) ||
      failed(
          checkElement(*this, 31, "weight", getWeight(), elementOf(getRows()))))
    return failure();
  Shape weight = shapeOf(getWeight());
  return verifyGemm(*this, getRows(), weight[2], getResult(), weight[1]);
}

LogicalResult GroupedLinearInputGradientOp::verify() {
  if (failed(verifyGroupedRows(*this, "grad", getGrad(), getWeight(),
                               getRanges())) ||
      failed(
          checkElement(*this, 31, "weight", getWeight(), elementOf(getGrad()))))
    return failure();
  Shape weight = shapeOf(getWeight());
  return verifyGemm(*this, getGrad(), weight[1], getResult(), weight[2]);
}

LogicalResult GroupedLinearWeightGradientOp::verify() {
  if (failed(verifyGroupedRows(*this, "grad", getGrad(), getResult(),
                               getRanges())))
    return failure();
  Shape grad = shapeOf(getGrad());
  SmallVector<int64_t> rows(grad);
  rows.back() = shapeOf(getResult())[2];
  if (failed(checkShape(*this, 31, "rows", getRows(), rows)) ||
      failed(
          checkElement(*this, 31, "rows", getRows(), elementOf(getGrad()))) ||
      failed(checkShape(*this, 31, "result", getResult(),
                        {shapeOf(getResult())[0], grad.back(), rows.back()})))
    return failure();
  return checkElementOrWider(*this, 31, "result", getResult(),
                             elementOf(getGrad()));
}
