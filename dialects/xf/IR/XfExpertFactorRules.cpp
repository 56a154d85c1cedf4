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

FactorRule RouterOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  int64_t choice = b.whole(static_cast<int64_t>(getTopK()));
  b.operand(with(tokens, expert));
  if (getBias())
    b.operand({{expert}});
  return b.result(with(tokens, choice)).result(with(tokens, choice)).rule;
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

FactorRule RouterProbabilitiesOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens =
      b.fresh(shapeOf(getLogits()).drop_back(), FactorKind::Reduced);
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand(with(tokens, expert)).result({{expert}}).rule;
}

FactorRule RouterProbabilitiesGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getLogits()).drop_back());
  int64_t expert = b.whole(shapeOf(getLogits()).back());
  return b.operand({{expert}})
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
  TensorFactors choice = b.fresh(shapeOf(getExperts()), FactorKind::Reduced);
  int64_t expert = b.whole(shapeOf(getResult())[0]);
  return b.operand(choice).result({{expert}}).rule;
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
/// else of its run of sequences.
FactorRule ExpertOrderOp::getFactorRule() {
  RuleBuilder b;
  Shape shape = shapeOf(getChoice());
  int64_t runs = getRanges() ? shapeOf(getRanges())[0] : shape[0];
  int64_t run = b.rule.add(runs);
  TensorFactors choice{{run}, {b.whole(shape[1])}, {b.whole(shape[2])}};
  if (getRanges())
    choice[0].push_back(b.whole(shape[0] / runs));
  b.operand(choice).result(choice);
  if (getRanges())
    b.result(
        {{run}, {b.whole(static_cast<int64_t>(getExperts()))}, {b.whole(2)}});
  return b.rule;
}

namespace {
/// The factors of `dispatch` and `combine`: sequence (with a capacity) or run
/// and sequence in it, position, choice, what addresses rows, channel. What
/// slots count stays whole: the experts and rows of a sequence, or the rows of
/// a run.
struct RowFactors {
  TensorFactors tokens, slots, rows;
};
} // namespace

/// `token` and `channel` are the kinds of factors that may be split; a run is
/// always parallel.
static RowFactors rowFactors(RuleBuilder &b, Value slots, Value rows,
                             FactorKind token, FactorKind channel) {
  Shape s = shapeOf(slots), r = shapeOf(rows);
  bool capacity = r.size() == 4;
  int64_t run = b.rule.add(capacity ? s[0] : r[0]);
  DimFactors sequence{run};
  if (!capacity)
    sequence.push_back(b.rule.add(s[0] / r[0], token));
  int64_t position = b.rule.add(s[1], token);
  int64_t choice = b.whole(s[2]);
  int64_t width = b.rule.add(r.back(), channel);
  RowFactors f;
  f.tokens = {sequence, {position}, {width}};
  f.slots = {sequence, {position}, {choice}};
  if (capacity)
    f.rows = {{b.whole(r[0])}, {run}, {b.whole(r[2])}, {width}};
  else
    f.rows = {{run}, {b.whole(r[1])}, {width}};
  return f;
}

/// Every shard of the tokens fills its own rows; others are 0 there.
FactorRule DispatchOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, getSlots(), getResult(), FactorKind::Reduced,
                            FactorKind::Parallel);
  b.operand(f.tokens).operand(f.slots);
  if (getWeights())
    b.operand(f.slots);
  return b.result(f.rows).rule;
}

FactorRule CombineOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, getSlots(), getRows(), FactorKind::Parallel,
                            FactorKind::Parallel);
  b.operand(f.rows).operand(f.slots);
  if (getWeights())
    b.operand(f.slots);
  return b.result(f.tokens).rule;
}

FactorRule CombineWeightGradientOp::getFactorRule() {
  RuleBuilder b;
  RowFactors f = rowFactors(b, getSlots(), getRows(), FactorKind::Parallel,
                            FactorKind::Reduced);
  return b.operand(f.tokens)
      .operand(f.rows)
      .operand(f.slots)
      .result(f.slots)
      .rule;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
/// The factors of a grouped product: the expert and its rows.
struct GroupFactors {
  int64_t expert = 0;
  TensorFactors rows; ///< Without the last dim.
};
} // namespace

/// Dropless, an expert's rows are where the data says: all shards of the
/// experts hold all rows of a run and sum what their experts gave. `summed` is
/// the kind of what a weight's gradient sums over.
static GroupFactors groupFactors(RuleBuilder &b, Value rows, int64_t experts,
                                 FactorKind summed, bool perExpert) {
  Shape shape = shapeOf(rows);
  GroupFactors f;
  if (shape.size() == 3) {
    f.expert = b.rule.add(experts, perExpert ? FactorKind::Parallel
                                             : FactorKind::Reduced);
    f.rows = {{b.rule.add(shape[0], summed)}, {b.whole(shape[1])}};
    return f;
  }
  f.expert = b.rule.add(experts);
  f.rows = {{f.expert},
            {b.rule.add(shape[1], summed)},
            {b.rule.add(shape[2], summed)}};
  return f;
}

/// The optional last operand.
static void addRanges(RuleBuilder &b, Value ranges, const GroupFactors &f) {
  if (ranges)
    b.operand({f.rows[0], {f.expert}, {b.whole(2)}});
}

FactorRule GroupedLinearOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getWeight());
  GroupFactors f =
      groupFactors(b, getRows(), weight[0], FactorKind::Parallel, false);
  int64_t out = b.rule.add(weight[1]), in = b.reduced(weight[2]);
  b.operand(with(f.rows, in)).operand({{f.expert}, {out}, {in}});
  addRanges(b, getRanges(), f);
  return b.result(with(f.rows, out)).rule;
}

FactorRule GroupedLinearInputGradientOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getWeight());
  GroupFactors f =
      groupFactors(b, getGrad(), weight[0], FactorKind::Parallel, false);
  int64_t out = b.reduced(weight[1]), in = b.rule.add(weight[2]);
  b.operand(with(f.rows, out)).operand({{f.expert}, {out}, {in}});
  addRanges(b, getRanges(), f);
  return b.result(with(f.rows, in)).rule;
}

FactorRule GroupedLinearWeightGradientOp::getFactorRule() {
  RuleBuilder b;
  Shape weight = shapeOf(getResult());
  GroupFactors f =
      groupFactors(b, getGrad(), weight[0], FactorKind::Reduced, true);
  int64_t out = b.rule.add(weight[1]), in = b.rule.add(weight[2]);
  b.operand(with(f.rows, out)).operand(with(f.rows, in));
  addRanges(b, getRanges(), f);
  return b.result({{f.expert}, {out}, {in}}).rule;
}
