//===- XfSequenceFactorRules.cpp - Rules of ops on whole sequences --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/RuleBuilder.h"
#include "dialects/xf/IR/XfConstraints.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace hocket::xf;

//===----------------------------------------------------------------------===//
// Rows that come of others
//===----------------------------------------------------------------------===//

/// Ranks have whole questions.
static FactorRule choicesRule(Value from, Value to) {
  RuleBuilder b;
  TensorFactors rows = b.fresh(shapeOf(from).drop_back());
  return b.operand(with(rows, b.whole(shapeOf(from).back())))
      .result(with(rows, b.whole(shapeOf(to).back())))
      .rule;
}

FactorRule GatherChoicesOp::getFactorRule() {
  return choicesRule(getInput(), getResult());
}
FactorRule GatherChoicesGradientOp::getFactorRule() {
  return choicesRule(getGrad(), getResult());
}

/// Rows may come of the chunk before: chunks of a sequence stay together.
static void chunkFactors(RuleBuilder &b, Value whole, Value chunks,
                         TensorFactors &from, TensorFactors &to) {
  Shape sequences = shapeOf(whole), parts = shapeOf(chunks);
  int64_t sequence = b.rule.add(sequences[0]);
  TensorFactors rest = b.fresh(sequences.drop_front(2));
  from = {{sequence}, {b.whole(sequences[1])}};
  to = {{sequence, b.whole(parts[0] / sequences[0])}, {b.whole(parts[1])}};
  llvm::append_range(from, rest);
  llvm::append_range(to, rest);
}

FactorRule SplitChunksOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors whole, chunks;
  chunkFactors(b, getInput(), getResult(), whole, chunks);
  return b.operand(whole).result(chunks).rule;
}
FactorRule JoinChunksOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors whole, chunks;
  chunkFactors(b, getResult(), getInput(), whole, chunks);
  return b.operand(chunks).result(whole).rule;
}

/// Channels are whole; a front of one head is that of all.
FactorRule JoinHeadsOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors heads = b.fresh(shapeOf(getInput()).drop_back());
  b.operand(with(heads, b.whole(shapeOf(getInput()).back())));
  if (getFront()) {
    TensorFactors front = heads;
    if (shapeOf(getFront())[2] != shapeOf(getInput())[2])
      front.back() = {b.whole(1)};
    b.operand(with(front, b.whole(shapeOf(getFront()).back())));
  }
  return b.result(with(heads, b.whole(shapeOf(getResult()).back()))).rule;
}

FactorRule PartHeadsOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors heads = b.fresh(shapeOf(getInput()).drop_back());
  return b.operand(with(heads, b.whole(shapeOf(getInput()).back())))
      .result(with(heads, b.whole(shapeOf(getResult()).back())))
      .rule;
}

FactorRule SumHeadsOp::getFactorRule() {
  RuleBuilder b;
  Shape input = shapeOf(getInput());
  TensorFactors tokens = b.fresh(input.take_front(2));
  TensorFactors heads = with(tokens, b.reduced(input[2]));
  TensorFactors one = with(tokens, b.whole(1));
  return b.operand(with(heads, b.whole(input.back())))
      .result(with(one, b.whole(shapeOf(getResult()).back())))
      .rule;
}

namespace {
/// The factors of tokens and of what stands for some of them: sequence,
/// position, channel; block of a sequence, row of a block.
struct PlacedFactors {
  TensorFactors tokens, rows, source;
};
} // namespace

/// `shared` is the kind of what the gradient of a source sums over. Devices
/// that share the tokens of a sequence have all of its sources.
static PlacedFactors placedFactors(RuleBuilder &b, Value tokens, Value source,
                                   FactorKind shared) {
  Shape to = shapeOf(tokens), from = shapeOf(source);
  int64_t sequence = b.rule.add(to[0]), position = b.rule.add(to[1], shared);
  int64_t channel = b.rule.add(to[2]);
  return {
      {{sequence}, {position}, {channel}},
      {{sequence}, {position}},
      {{sequence, b.whole(from[0] / to[0])}, {b.whole(from[1])}, {channel}}};
}

FactorRule PlaceRowsOp::getFactorRule() {
  RuleBuilder b;
  PlacedFactors f =
      placedFactors(b, getInput(), getSource(), FactorKind::Parallel);
  return b.operand(f.tokens)
      .operand(f.rows)
      .operand(f.source)
      .result(f.tokens)
      .rule;
}
FactorRule PlaceRowsGradientOp::getFactorRule() {
  RuleBuilder b;
  TensorFactors tokens = b.fresh(shapeOf(getGrad()));
  TensorFactors rows{tokens[0], tokens[1]};
  return b.operand(tokens).operand(rows).result(tokens).rule;
}
FactorRule PlacedRowsGradientOp::getFactorRule() {
  RuleBuilder b;
  PlacedFactors f =
      placedFactors(b, getGrad(), getResult(), FactorKind::Reduced);
  return b.operand(f.tokens).operand(f.rows).result(f.source).rule;
}

//===----------------------------------------------------------------------===//
// State-space layers: tokens of a sequence are whole
//===----------------------------------------------------------------------===//

FactorRule CausalConvOp::getFactorRule() {
  RuleBuilder b;
  Shape input = shapeOf(getInput());
  int64_t batch = b.rule.add(input[0]), position = b.whole(input[1]);
  int64_t channel = b.rule.add(input[2]);
  TensorFactors rows{{batch}, {position}, {channel}};
  b.operand(rows).operand({{channel}, {b.whole(shapeOf(getWeight())[1])}});
  if (getBias())
    b.operand({{channel}});
  return b.result(rows).rule;
}

FactorRule CausalConvGradientOp::getFactorRule() {
  RuleBuilder b;
  Shape input = shapeOf(getInput());
  int64_t batch = b.reduced(input[0]), position = b.whole(input[1]);
  int64_t channel = b.rule.add(input[2]);
  TensorFactors rows{{batch}, {position}, {channel}};
  TensorFactors weight{{channel}, {b.whole(shapeOf(getWeight())[1])}};
  b.operand(rows).operand(rows).operand(weight).result(rows).result(weight);
  if (getBiasGrad())
    b.result({{channel}});
  return b.rule;
}

namespace {
/// The factors of the recurrence's operands, in their order: batch, position,
/// group, head of its group, channel of a head, channel of a state.
struct ScanFactors {
  TensorFactors input, step, map, numbers;

  template <typename AddFn> void addTo(AddFn add) const {
    for (const TensorFactors *each :
         {&input, &step, &map, &map, &numbers, &numbers, &numbers})
      add(*each);
  }
};
} // namespace

/// `shared` is the kind of what gradients sum over.
template <typename OpT>
static ScanFactors scanFactors(RuleBuilder &b, OpT op, FactorKind shared) {
  Shape x = shapeOf(op.getInput()), map = shapeOf(op.getInMap());
  int64_t batch = b.rule.add(x[0], shared), position = b.whole(x[1]);
  int64_t group = b.rule.add(map[2]), head = b.rule.add(x[2] / map[2], shared);
  return {{{batch}, {position}, {group, head}, {b.whole(x[3])}},
          {{batch}, {position}, {group, head}},
          {{batch}, {position}, {group}, {b.whole(map[3])}},
          {{group, head}}};
}

FactorRule StateScanOp::getFactorRule() {
  RuleBuilder b;
  ScanFactors f = scanFactors(b, *this, FactorKind::Parallel);
  f.addTo([&](const TensorFactors &each) { b.operand(each); });
  return b.result(f.input).rule;
}

FactorRule StateScanGradientOp::getFactorRule() {
  RuleBuilder b;
  ScanFactors f = scanFactors(b, *this, FactorKind::Reduced);
  b.operand(f.input);
  f.addTo([&](const TensorFactors &each) { b.operand(each).result(each); });
  return b.rule;
}

/// As for attention, devices that share tokens share the rows of the cache
/// likewise.
FactorRule CachedConvOp::getFactorRule() {
  RuleBuilder b;
  Shape input = shapeOf(getInput());
  int64_t tokens = b.rule.add(input[0]), one = b.whole(1);
  int64_t channel = b.rule.add(input[2]);
  TensorFactors row{{tokens}, {one}, {channel}}, place{{tokens}, {one}};
  TensorFactors cache{{tokens}, {b.whole(shapeOf(getCache())[1])}, {channel}};
  b.operand(row).operand({{channel}, {b.whole(shapeOf(getWeight())[1])}});
  b.operand(place).operand(place);
  if (getBias())
    b.operand({{channel}});
  return b.operand(cache).result(row).result(cache).rule;
}

FactorRule CachedScanOp::getFactorRule() {
  RuleBuilder b;
  ScanFactors f = scanFactors(b, *this, FactorKind::Parallel);
  TensorFactors place{f.input[0], f.input[1]};
  TensorFactors state{f.input[0], f.input[2], f.input[3], f.map[3]};
  f.addTo([&](const TensorFactors &each) { b.operand(each); });
  b.operand(place).operand(place).operand(state);
  return b.result(f.input).result(state).rule;
}
