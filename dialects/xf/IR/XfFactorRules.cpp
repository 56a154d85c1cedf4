//===- XfFactorRules.cpp - How every op may be sharded --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/RuleBuilder.h"
#include "dialects/xf/IR/XfConstraints.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace hocket::xf;

/// Every tensor has the dims of `lhs`, or its last ones.
static FactorRule elementwiseRule(Operation *op, Value lhs) {
  RuleBuilder b;
  TensorFactors all = b.fresh(shapeOf(lhs));
  auto dimsOf = [&](Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    size_t rank = type ? type.getRank() : 0;
    return TensorFactors(ArrayRef<DimFactors>(all).take_back(rank));
  };
  for (Value operand : op->getOperands())
    b.operand(dimsOf(operand));
  for (Value result : op->getResults())
    b.result(dimsOf(result));
  return b.rule;
}

FactorRule ActivationOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}
FactorRule ActivationGradientOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}
FactorRule SoftcapOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}
FactorRule SoftcapGradientOp::getFactorRule() {
  return elementwiseRule(*this, getOutput());
}
FactorRule GatedOp::getFactorRule() {
  return elementwiseRule(*this, getGate());
}
FactorRule GatedGradientOp::getFactorRule() {
  return elementwiseRule(*this, getGate());
}
FactorRule DropoutOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}
FactorRule AddOp::getFactorRule() { return elementwiseRule(*this, getLhs()); }
FactorRule MultiplyOp::getFactorRule() {
  return elementwiseRule(*this, getLhs());
}
FactorRule CastOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}
FactorRule ConstantOp::getFactorRule() {
  return elementwiseRule(*this, getResult());
}
FactorRule AdamWOp::getFactorRule() {
  return elementwiseRule(*this, getParam());
}
FactorRule SgdOp::getFactorRule() { return elementwiseRule(*this, getParam()); }

//===----------------------------------------------------------------------===//
// Rows of tables
//===----------------------------------------------------------------------===//

/// A shard of the vocabulary gives zeros for the tokens of others.
FactorRule EmbeddingOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors ids = b.fresh(shapeOf(getIds()));
  int64_t vocab = b.reduced(shapeOf(getTable())[0]);
  int64_t width = b.rule.add(shapeOf(getTable())[1]);
  b.operand(ids).operand({{vocab}, {width}});
  if (getFirstRow())
    b.operand({});
  return b.result(with(ids, width)).rule;
}

FactorRule EmbeddingGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors ids = b.fresh(shapeOf(getIds()), FactorKind::Reduced);
  TensorFactors table = b.fresh(shapeOf(getResult()));
  b.operand(ids).operand(with(ids, table[1][0]));
  if (getFirstRow())
    b.operand({});
  return b.result(table).rule;
}

/// The leading dims are of different sizes: both stay whole.
static FactorRule rowsRule(Value input, Value result) {
  RuleBuilder b;
  TensorFactors rest = b.fresh(shapeOf(input).drop_front());
  TensorFactors from{{b.whole(shapeOf(input)[0])}};
  TensorFactors to{{b.whole(shapeOf(result)[0])}};
  llvm::append_range(from, rest);
  llvm::append_range(to, rest);
  return b.operand(from).result(to).rule;
}

FactorRule PrefixOp::getFactorRule() {
  return rowsRule(getInput(), getResult());
}
FactorRule PadRowsOp::getFactorRule() {
  return rowsRule(getInput(), getResult());
}

FactorRule SumLeadingOp::getFactorRule() {
  RuleBuilder b;
  size_t kept = shapeOf(getResult()).size();
  Shape input = shapeOf(getInput());
  TensorFactors all = b.fresh(input.drop_back(kept), FactorKind::Reduced);
  TensorFactors result = b.fresh(input.take_back(kept));
  llvm::append_range(all, result);
  return b.operand(all).result(result).rule;
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// One run of dims [i, iEnd) of the input and [j, jEnd) of the result that
/// have the same product: where one side is a single dim, the other's dims are
/// its factors; else the first dim of one may be a factor of that of the other,
/// and what is behind stays whole.
static void addRun(RuleBuilder &b, Shape input, Shape result,
                   TensorFactors &from, TensorFactors &to) {
  if (input.size() != 1 && result.size() != 1) {
    int64_t least = std::min(input[0], result[0]);
    bool shares = std::max(input[0], result[0]) % least == 0;
    int64_t first = shares ? b.rule.add(least) : 0;
    for (auto [shape, dims] : {std::pair{input, &from}, {result, &to}}) {
      DimFactors front;
      if (shares)
        front.push_back(first);
      if (int64_t rest = shares ? shape[0] / least : shape[0]; rest > 1)
        front.push_back(b.whole(rest));
      dims->push_back(front);
      llvm::append_range(*dims, b.fresh(shape.drop_front(), FactorKind::Whole));
    }
    return;
  }
  TensorFactors parts = b.fresh(input.size() == 1 ? result : input);
  DimFactors merged;
  for (const DimFactors &part : parts)
    llvm::append_range(merged, part);
  if (input.size() == 1) {
    from.push_back(merged);
    llvm::append_range(to, parts);
  } else {
    llvm::append_range(from, parts);
    to.push_back(merged);
  }
}

FactorRule ReshapeOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors from, to;
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  size_t i = 0, j = 0;
  while (i < input.size() && j < result.size()) {
    size_t iEnd = i + 1, jEnd = j + 1;
    int64_t left = input[i], right = result[j];
    while (left != right) {
      if (left < right)
        left *= input[iEnd++];
      else
        right *= result[jEnd++];
    }
    addRun(b, input.slice(i, iEnd - i), result.slice(j, jEnd - j), from, to);
    i = iEnd;
    j = jEnd;
  }
  llvm::append_range(from, b.fresh(input.drop_front(i)));
  llvm::append_range(to, b.fresh(result.drop_front(j)));
  return b.operand(from).result(to).rule;
}

//===----------------------------------------------------------------------===//
// GEMMs and rows
//===----------------------------------------------------------------------===//

/// Partial sums lack the bias in all shards but one.
FactorRule LinearOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getInput()).drop_back());
  int64_t in = b.reduced(shapeOf(getWeight())[1]);
  int64_t out = b.rule.add(shapeOf(getWeight())[0]);
  b.operand(with(rows, in)).operand({{out}, {in}});
  if (getBias())
    b.operand({{out}});
  b.rule.operands.resize(getNumOperands()); // scales have no dims
  return b.result(with(rows, out)).rule;
}

FactorRule LinearInputGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getGrad()).drop_back());
  int64_t out = b.reduced(shapeOf(getWeight())[0]);
  int64_t in = b.rule.add(shapeOf(getWeight())[1]);
  b.operand(with(rows, out)).operand({{out}, {in}});
  b.rule.operands.resize(getNumOperands());
  return b.result(with(rows, in)).rule;
}

FactorRule LinearWeightGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows =
      b.fresh(shapeOf(getGrad()).drop_back(), FactorKind::Reduced);
  int64_t out = b.rule.add(shapeOf(getGrad()).back());
  int64_t in = b.rule.add(shapeOf(getInput()).back());
  b.operand(with(rows, out)).operand(with(rows, in));
  b.rule.operands.resize(getNumOperands());
  return b.result({{out}, {in}}).rule;
}

FactorRule QuantizeOp::getFactorRule() {
  return elementwiseRule(*this, getInput());
}

/// A dim may be split between blocks, where all of them are whole.
static FactorRule blocksRule(Shape shape, ArrayRef<int64_t> blocks,
                             bool areOperands) {
  RuleBuilder b;
  TensorFactors elements, scales;
  for (auto [size, block] : llvm::zip_equal(shape, blocks)) {
    if (block == 1) {
      elements.push_back({b.rule.add(size)});
      scales.push_back(elements.back());
    } else if (size > block && size % block == 0) {
      int64_t count = b.rule.add(size / block);
      elements.push_back({count, b.whole(block)});
      scales.push_back({count});
    } else {
      elements.push_back({b.whole(size)});
      scales.push_back({b.whole((size - 1) / block + 1)});
    }
  }
  b.operand(elements);
  if (areOperands)
    return b.operand(scales).result(elements).rule;
  return b.result(elements).result(scales).rule;
}

FactorRule QuantizeBlocksOp::getFactorRule() {
  return blocksRule(shapeOf(getInput()), getBlocks(), /*areOperands=*/false);
}
FactorRule DequantizeBlocksOp::getFactorRule() {
  return blocksRule(shapeOf(getCodes()), getBlocks(), /*areOperands=*/true);
}

/// Of shards each has its own; partitioning puts them together.
FactorRule AmaxOp::getFactorRule() {
  RuleBuilder b;
  b.operand(b.fresh(shapeOf(getInput()), FactorKind::Reduced)).result({});
  b.rule.combines = {Combine::Greatest};
  return b.rule;
}

FactorRule NormOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getInput()).drop_back());
  int64_t width = b.whole(shapeOf(getInput()).back());
  b.operand(with(rows, width)).operand({{width}});
  if (getBias())
    b.operand({{width}});
  return b.result(with(rows, width)).rule;
}

/// Rows are whole: a gate's gradient is a sum over one.
static FactorRule rowGateRule(Operation *op, Value input) {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(input).drop_back());
  TensorFactors wide = with(rows, b.whole(shapeOf(input).back())),
                narrow = with(rows, b.whole(1));
  auto dimsOf = [&](Value value) {
    return shapeOf(value) == shapeOf(input) ? wide : narrow;
  };
  for (Value operand : op->getOperands())
    b.operand(dimsOf(operand));
  for (Value result : op->getResults())
    b.result(dimsOf(result));
  return b.rule;
}

FactorRule RowGateOp::getFactorRule() { return rowGateRule(*this, getInput()); }
FactorRule RowGateGradientOp::getFactorRule() {
  return rowGateRule(*this, getInput());
}

FactorRule NormGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows =
      b.fresh(shapeOf(getInput()).drop_back(), FactorKind::Reduced);
  int64_t width = b.whole(shapeOf(getInput()).back());
  TensorFactors input = with(rows, width), weight{{width}};
  b.operand(input).operand(input).operand(weight).result(input).result(weight);
  if (getBiasGrad())
    b.result(weight);
  return b.rule;
}

/// A shard has all frequencies: they are written in the op.
FactorRule RopeTableOp::getFactorRule() {
  RuleBuilder b;
  Shape table = shapeOf(getResult());
  int64_t position = b.rule.add(table[0]);
  b.rule.operands.resize(getNumOperands());
  return b.result({{position}, {b.whole(table[1])}, {b.whole(table[2])}}).rule;
}

FactorRule PositionsOp::getFactorRule() {
  RuleBuilder b;
  b.rule.operands.resize(getNumOperands());
  return b.result(b.fresh(shapeOf(getResult()))).rule;
}

/// Every device has all distances.
FactorRule RelativeBucketsOp::getFactorRule() {
  RuleBuilder b;
  return b.result({{b.whole(shapeOf(getResult())[0])}}).rule;
}

FactorRule RopeOp::getFactorRule() {
  RuleBuilder b;
  Shape table = shapeOf(getTable());
  TensorFactors input = b.fresh(shapeOf(getInput()).drop_back());
  TensorFactors angles(input.begin() + (table.size() == 4 ? 0 : 1),
                       input.begin() + 2);
  input.push_back({b.whole(shapeOf(getInput()).back())});
  for (int64_t dim : table.take_back(2))
    angles.push_back({b.whole(dim)});
  return b.operand(input).operand(angles).result(input).rule;
}

FactorRule RopeTableAtOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors positions = b.fresh(shapeOf(getPositions()));
  b.operand(positions);
  for (int64_t dim : shapeOf(getResult()).take_back(2))
    positions.push_back({b.whole(dim)});
  return b.result(positions).rule;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// The factors of attention: batch, query position, key group, query head of
/// its group, key position, channel.
struct AttentionFactors {
  TensorFactors query, key, lse, bias;
};
} // namespace

/// `shared` is the kind of what a key's gradient sums over.
template <typename OpT>
static AttentionFactors attentionFactors(RuleBuilder &b, OpT op,
                                         FactorKind shared) {
  Shape q = shapeOf(op.getQuery());
  int64_t groups = shapeOf(op.getKey())[2];
  // The gradient of a bias sums over sequences too.
  int64_t batch =
      b.rule.add(q[0], op.getBias() ? shared : FactorKind::Parallel);
  int64_t position = b.rule.add(q[1], shared);
  int64_t group = b.rule.add(groups), head = b.rule.add(q[2] / groups, shared);
  int64_t keyPosition = b.whole(shapeOf(op.getKey())[1]);
  int64_t channel = b.whole(q[3]);
  AttentionFactors factors{{{batch}, {position}, {group, head}, {channel}},
                           {{batch}, {keyPosition}, {group}, {channel}},
                           {{batch}, {group, head}, {position}},
                           {}};
  if (op.getBias())
    factors.bias = {{b.whole(shapeOf(op.getBias())[0])}, {group, head}};
  return factors;
}

FactorRule AttentionOp::getFactorRule() {
  RuleBuilder b;
  AttentionFactors f = attentionFactors(b, *this, FactorKind::Parallel);
  b.operand(f.query).operand(f.key).operand(f.key);
  if (getPositions())
    b.operand({f.query[0], f.query[1]});
  if (getBias())
    b.operand(f.bias);
  b.rule.operands.resize(getNumOperands()); // numbers have no dims
  return b.result(f.query).result(f.lse).rule;
}

/// Devices that share tokens share the rows and the pages of their sequences
/// likewise, each for itself: one factor has all three dims.
FactorRule CachedAttentionOp::getFactorRule() {
  RuleBuilder b;
  Shape q = shapeOf(getQuery()), pages = shapeOf(getKeys());
  int64_t groups = shapeOf(getKey())[2];
  int64_t tokens = b.rule.add(q[0]), one = b.whole(1);
  int64_t group = b.rule.add(groups), head = b.rule.add(q[2] / groups);
  int64_t channel = b.whole(q[3]);
  TensorFactors query{{tokens}, {one}, {group, head}, {channel}};
  TensorFactors key{{tokens}, {one}, {group}, {channel}};
  TensorFactors cache{{tokens}, {b.whole(pages[1])}, {group}, {channel}};
  TensorFactors place{{tokens}, {one}};
  TensorFactors table{{tokens}, {b.whole(shapeOf(getTable())[1])}};
  b.operand(query).operand(key).operand(key).operand(place).operand(place);
  b.operand(table).operand(cache).operand(cache);
  b.rule.operands.resize(getNumOperands()); // A number has no dims.
  if (getBias()) {
    TensorFactors bias{{b.whole(shapeOf(getBias())[0])}, {group, head}};
    b.rule.operands.back() = bias;
  }
  return b.result(query).result(cache).result(cache).rule;
}

FactorRule AttentionGradientOp::getFactorRule() {
  RuleBuilder b;
  AttentionFactors f = attentionFactors(b, *this, FactorKind::Reduced);
  b.operand(f.query).operand(f.query).operand(f.key).operand(f.key);
  b.operand(f.query).operand(f.lse);
  if (getPositions())
    b.operand({f.query[0], f.query[1]});
  if (getBias())
    b.operand(f.bias);
  b.rule.operands.resize(getNumOperands());
  b.result(f.query).result(f.key).result(f.key);
  if (getBias())
    b.result(f.bias);
  return b.rule;
}

//===----------------------------------------------------------------------===//
// Loss and norm
//===----------------------------------------------------------------------===//

/// A mean over all rows: the partial sums are divided by the whole count.
FactorRule CrossEntropyOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getLabels()), FactorKind::Reduced);
  int64_t vocab = b.whole(shapeOf(getLogits()).back());
  b.operand(with(rows, vocab)).operand(rows);
  if (getCount())
    b.operand({});
  b.result({}).result(rows);
  if (getPicked())
    b.result(rows);
  return b.rule;
}

FactorRule CrossEntropyGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getLabels()));
  TensorFactors logits = with(rows, b.rule.add(shapeOf(getLogits()).back()));
  b.operand({}).operand(logits).operand(rows).operand(rows);
  if (getCount())
    b.operand({});
  if (getFirstColumn())
    b.operand({});
  return b.result(logits).rule;
}

/// The parts of the vocabulary are a factor of their own: whoever splits the
/// logits splits both.
FactorRule CrossEntropyRowsOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getLabels()));
  int64_t vocab = b.reduced(shapeOf(getLogits()).back());
  int64_t parts = b.rule.add(shapeOf(getLse()).back());
  b.operand(with(rows, vocab)).operand(rows);
  if (getFirstColumn())
    b.operand({});
  return b.result(with(rows, parts)).result(rows).rule;
}

FactorRule MergeAttentionOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getInput()));
  TensorFactors lse{rows[0], rows[2], rows[1]};
  b.operand(rows).operand(lse).operand(rows).operand(lse);
  return b.result(rows).result(lse).rule;
}

FactorRule LogSumExpOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getResult()));
  int64_t whole = b.whole(shapeOf(getInput()).back());
  return b.operand(with(rows, whole)).result(rows).rule;
}

FactorRule CountLabelsOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getLabels()), FactorKind::Reduced);
  return b.operand(rows).result({}).rule;
}

FactorRule MeanLossOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(getLabels()), FactorKind::Reduced);
  return b.operand(rows)
      .operand(rows)
      .operand(rows)
      .operand({})
      .result({})
      .rule;
}

FactorRule GlobalNormOp::getFactorRule() {
  RuleBuilder b;
  for (Value grad : getGrads())
    b.operand(b.fresh(shapeOf(grad), FactorKind::Reduced));
  b.result({}).result({});
  b.rule.combines = {Combine::RootOfSquares, Combine::Greatest};
  return b.rule;
}

/// Scalars only: nothing to split.
static FactorRule scalarRule(Operation *op) {
  FactorRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  return rule;
}

FactorRule QuantizeScaleOp::getFactorRule() { return scalarRule(*this); }
FactorRule GradientScaleOp::getFactorRule() { return scalarRule(*this); }
FactorRule BiasCorrectionOp::getFactorRule() { return scalarRule(*this); }
FactorRule AdvanceStepOp::getFactorRule() { return scalarRule(*this); }
FactorRule LossScaleUpdateOp::getFactorRule() { return scalarRule(*this); }
