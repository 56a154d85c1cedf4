//===- XfExpertFactorRules.cpp - How experts may be sharded ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/RuleBuilder.h"
#include "dialects/xf/IR/XfConstraints.h"

using namespace mlir;
using namespace hocket::xf;

//===----------------------------------------------------------------------===//
// Routing: a token's experts are compared with each other, so E stays whole
//===----------------------------------------------------------------------===//

/// Of `value`, [E] or of each sequence of the tokens, [B, E].
static TensorFactors perExpert(const TensorFactors &tokens, int64_t expert,
                               Value value) {
  if (shapeOf(value).size() == 1)
    return {{expert}};
  return {tokens.front(), {expert}};
}

FactorRule RouterOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  int64_t choice = b.whole(static_cast<int64_t>(getTopK()));
  b.operand(with(tokens, expert));
  if (getBias())
    b.operand(perExpert(tokens, expert, getBias()));
  return b.result(with(tokens, choice)).result(with(tokens, choice)).rule;
}

/// What a sequence's experts are taken by depends on all of its tokens.
FactorRule SinkhornOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors sequences = b.fresh(shapeOf(getLogits()).take_front());
  int64_t token = b.whole(shapeOf(getLogits())[1]);
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand(with(with(sequences, token), expert))
      .result(with(sequences, expert))
      .rule;
}

FactorRule RouterGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  int64_t choice = b.whole(shapeOf(getExperts()).back());
  return b.operand(with(tokens, choice))
      .operand(with(tokens, expert))
      .operand(with(tokens, choice))
      .result(with(tokens, expert))
      .rule;
}

/// The factors of tokens that `value`, [E] or of each sequence [B, E], is
/// summed over, or of which it keeps the first.
static TensorFactors summedTokens(RuleBuilder &b, Shape tokens, Value value) {
  if (shapeOf(value).size() == 1)
    return b.fresh(tokens, FactorKind::Reduced);
  TensorFactors factors = b.fresh(tokens.take_front(1));
  llvm::append_range(factors,
                     b.fresh(tokens.drop_front(), FactorKind::Reduced));
  return factors;
}

FactorRule RouterProbabilitiesOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens =
      summedTokens(b, shapeOf(getLogits()).drop_back(), getResult());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand(with(tokens, expert))
      .result(perExpert(tokens, expert, getResult()))
      .rule;
}

FactorRule RouterProbabilitiesGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand(perExpert(tokens, expert, getGrad()))
      .operand(with(tokens, expert))
      .result(with(tokens, expert))
      .rule;
}

FactorRule RouterZLossOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens =
      b.fresh(shapeOf(getLogits()).drop_back(), FactorKind::Reduced);
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand(with(tokens, expert)).result({}).rule;
}

FactorRule RouterZLossGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand({})
      .operand(with(tokens, expert))
      .result(with(tokens, expert))
      .rule;
}

FactorRule ExpertCountsOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors choice = summedTokens(b, shapeOf(getExperts()), getResult());
  int64_t expert = b.whole(shapeOf(getResult()).back());
  return b.operand(choice).result(perExpert(choice, expert, getResult())).rule;
}

FactorRule BalanceBiasOp::getFactorRule() {
  RuleBuilder b;
  int64_t expert = b.whole(shapeOf(getBias())[0]);
  return b.operand({{expert}})
      .operand({{expert}})
      .operand({})
      .result({{expert}})
      .rule;
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

/// A row's number counts the tokens before it: of its sequence with a capacity,
/// else of its run.
FactorRule ExpertOrderOp::getFactorRule() {
  RuleBuilder b;
  Shape shape = shapeOf(getChoice());
  if (!getRanges()) {
    TensorFactors choice{
        {b.rule.add(shape[0])}, {b.whole(shape[1])}, {b.whole(shape[2])}};
    return b.operand(choice).result(choice).rule;
  }
  auto positions = static_cast<int64_t>(getPositionRuns());
  int64_t sequences = shapeOf(getRanges())[0] / positions;
  DimFactors run{b.rule.add(sequences), b.rule.add(positions)};
  TensorFactors choice{{run[0], b.whole(shape[0] / sequences)},
                       {run[1], b.whole(shape[1] / positions)},
                       {b.whole(shape[2])}};
  return b.operand(choice)
      .result(choice)
      .result(
          {run, {b.whole(static_cast<int64_t>(getExperts()))}, {b.whole(2)}})
      .rule;
}

namespace {
/// The factors of `dispatch` and `combine`: sequence, or run of sequences and
/// sequence in it without a capacity, position, or run of positions and
/// position in it, choice, what addresses rows, channel. What slots count stays
/// whole: the experts and rows of a sequence, or the rows of a run.
struct RowFactors {
  TensorFactors tokens, slots, rows;
};
} // namespace

/// `token` and `channel` are the kinds of factors that may be split; a run is
/// always parallel.
template <typename OpT>
static RowFactors rowFactors(RuleBuilder &b, OpT op, Value rows,
                             FactorKind token, FactorKind channel) {
  Shape s = shapeOf(op.getSlots()), r = shapeOf(rows);
  bool capacity = r.size() == 4;
  auto positions = static_cast<int64_t>(op.getPositionRuns());
  int64_t sequences = capacity ? s[0] : r[0] / positions;
  DimFactors sequence{b.rule.add(sequences)}, position;
  if (!capacity) {
    sequence.push_back(b.rule.add(s[0] / sequences, token));
    position.push_back(b.rule.add(positions));
  }
  position.push_back(b.rule.add(s[1] / positions, token));
  int64_t choice = b.whole(s[2]);
  int64_t width = b.rule.add(r.back(), channel);
  RowFactors f;
  f.tokens = {sequence, position, {width}};
  f.slots = {sequence, position, {choice}};
  if (capacity)
    f.rows = {{b.whole(r[0])}, {sequence[0]}, {b.whole(r[2])}, {width}};
  else
    f.rows = {{sequence[0], position[0]}, {b.whole(r[1])}, {width}};
  return f;
}

/// Every shard of the tokens fills its own rows; others are 0 there.
FactorRule DispatchOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, *this, getResult(), FactorKind::Reduced,
                            FactorKind::Parallel);
  b.operand(f.tokens).operand(f.slots);
  if (getWeights())
    b.operand(f.slots);
  return b.result(f.rows).rule;
}

FactorRule CombineOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, *this, getRows(), FactorKind::Parallel,
                            FactorKind::Parallel);
  b.operand(f.rows).operand(f.slots);
  if (getWeights())
    b.operand(f.slots);
  return b.result(f.tokens).rule;
}

FactorRule CombineWeightGradientOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, *this, getRows(), FactorKind::Parallel,
                            FactorKind::Reduced);
  return b.operand(f.tokens)
      .operand(f.rows)
      .operand(f.slots)
      .result(f.slots)
      .rule;
}

//===----------------------------------------------------------------------===//
// Rows between runs
//===----------------------------------------------------------------------===//

/// Runs in groups of `places`, of which shards have all or none.
static DimFactors groupsOfRuns(RuleBuilder &b, int64_t runs, int64_t places) {
  return {b.rule.add(runs / places), b.whole(places)};
}

FactorRule ExpertSegmentsOp::getFactorRule() {
  RuleBuilder b;
  Shape ranges = shapeOf(getRanges()), segments = shapeOf(getResult());
  DimFactors run = segments[0] == ranges[0]
                       ? groupsOfRuns(b, segments[0], segments[1])
                       : DimFactors{b.whole(ranges[0])};
  int64_t expert = b.whole(ranges[1]), pair = b.whole(2);
  b.operand({run, {expert}, {pair}});
  if (segments[0] != ranges[0])
    return b.result({{b.whole(1)}, run, {expert}, {pair}}).rule;
  return b.result({run, {b.whole(segments[1])}, {b.whole(segments[2])}, {pair}})
      .rule;
}

/// From rows of one kind to those of the other.
static FactorRule exchangeRule(Value from, Value ranges, Value segments,
                               Value to) {
  RuleBuilder b;
  Shape f = shapeOf(from), s = shapeOf(segments), t = shapeOf(to);
  DimFactors run = groupsOfRuns(b, s[0], s[1]);
  int64_t width = b.rule.add(f[2]), pair = b.whole(2);
  return b.operand({run, {b.whole(f[1])}, {width}})
      .operand({run, {b.whole(shapeOf(ranges)[1])}, {pair}})
      .operand({run, {b.whole(s[1])}, {b.whole(s[2])}, {pair}})
      .result({run, {b.whole(t[1])}, {width}})
      .rule;
}

FactorRule ExchangeRowsOp::getFactorRule() {
  return exchangeRule(getRows(), getRanges(), getSegments(), getResult());
}

FactorRule ReturnRowsOp::getFactorRule() {
  return exchangeRule(getRows(), getRanges(), getSegments(), getResult());
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
/// The factors of a grouped GEMM: the experts and their rows.
struct GroupFactors {
  DimFactors expert;
  TensorFactors rows;   ///< Without the last dim.
  TensorFactors ranges; ///< The same; empty with a capacity.
};
} // namespace

/// Dropless, an expert's rows are where the data says: all shards of the
/// experts hold all rows of a run and sum what their experts gave. `summed` is
/// the kind of what a weight's gradient sums over.
/// Exchanged, a run has the rows of the experts at its place in a group.
static GroupFactors groupFactors(RuleBuilder &b, Value rows, Value ranges,
                                 int64_t experts, FactorKind summed,
                                 bool perExpert) {
  Shape shape = shapeOf(rows);
  GroupFactors f;
  if (!ranges) {
    f.expert = {b.rule.add(experts)};
    f.rows = {f.expert,
              {b.rule.add(shape[1], summed)},
              {b.rule.add(shape[2], summed)}};
    return f;
  }
  Shape r = shapeOf(ranges);
  if (r.size() == 3) {
    f.expert = {b.rule.add(experts, perExpert ? FactorKind::Parallel
                                              : FactorKind::Reduced)};
    f.rows = {{b.rule.add(shape[0], summed)}, {b.whole(shape[1])}};
    f.ranges = {f.rows[0], f.expert};
    return f;
  }
  int64_t places = experts / r[2], place = b.rule.add(places);
  f.expert = {place, b.whole(r[2])};
  f.rows = {{b.rule.add(shape[0] / places, summed), place},
            {b.whole(shape[1])}};
  f.ranges = {f.rows[0], {b.whole(r[1])}, {f.expert[1]}};
  return f;
}

/// The optional last operand.
static void addRanges(RuleBuilder &b, const GroupFactors &f) {
  if (!f.ranges.empty())
    b.operand(with(f.ranges, b.whole(2)));
}

FactorRule GroupedLinearOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getWeight());
  GroupFactors f = groupFactors(b, getRows(), getRanges(), weight[0],
                                FactorKind::Parallel, false);
  int64_t out = b.rule.add(weight[1]), in = b.reduced(weight[2]);
  b.operand(with(f.rows, in)).operand({f.expert, {out}, {in}});
  addRanges(b, f);
  return b.result(with(f.rows, out)).rule;
}

FactorRule GroupedLinearInputGradientOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getWeight());
  GroupFactors f = groupFactors(b, getGrad(), getRanges(), weight[0],
                                FactorKind::Parallel, false);
  int64_t out = b.reduced(weight[1]), in = b.rule.add(weight[2]);
  b.operand(with(f.rows, out)).operand({f.expert, {out}, {in}});
  addRanges(b, f);
  return b.result(with(f.rows, in)).rule;
}

FactorRule GroupedLinearWeightGradientOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getResult());
  GroupFactors f = groupFactors(b, getGrad(), getRanges(), weight[0],
                                FactorKind::Reduced, true);
  int64_t out = b.rule.add(weight[1]), in = b.rule.add(weight[2]);
  b.operand(with(f.rows, out)).operand(with(f.rows, in));
  addRanges(b, f);
  return b.result({f.expert, {out}, {in}}).rule;
}
