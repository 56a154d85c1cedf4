//===- XfCosts.cpp - What every op costs ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/ScanFlops.h"
#include "dialects/xf/IR/XfConstraints.h"

using namespace mlir;
using namespace hocket::xf;

static double elementsOf(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type ? static_cast<double>(type.getNumElements()) : 1;
}

static double bytesOf(Value value) {
  return elementsOf(value) * elementOf(value).getIntOrFloatBitWidth() / 8;
}

/// Every operand read once, every result written once.
static OpCost costOf(Operation *op, double flops) {
  OpCost cost;
  cost.flops = flops;
  for (Value operand : op->getOperands())
    cost.bytesRead += bytesOf(operand);
  for (Value result : op->getResults())
    cost.bytesWritten += bytesOf(result);
  return cost;
}

/// `perElement` operations for each element of `value`.
static OpCost elementwise(Operation *op, Value value, double perElement) {
  return costOf(op, perElement * elementsOf(value));
}

/// The same elements seen otherwise: nothing moves.
static OpCost free(Operation *) { return {}; }

//===----------------------------------------------------------------------===//
// Rows of tables
//===----------------------------------------------------------------------===//

OpCost EmbeddingOp::getCost() {
  OpCost cost = costOf(*this, 0);
  cost.bytesRead = bytesOf(getIds()) + bytesOf(getResult());
  return cost;
}
OpCost EmbeddingGradientOp::getCost() {
  return elementwise(*this, getGrad(), 1);
}
OpCost PrefixOp::getCost() { return free(*this); }
OpCost PositionsOp::getCost() { return costOf(*this, 0); }
OpCost RelativeBucketsOp::getCost() { return costOf(*this, 0); }
OpCost PadRowsOp::getCost() { return costOf(*this, 0); }
OpCost ReshapeOp::getCost() { return free(*this); }
OpCost CastOp::getCost() { return costOf(*this, 0); }
OpCost ConstantOp::getCost() { return costOf(*this, 0); }

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

OpCost LinearOp::getCost() {
  double outs = static_cast<double>(shapeOf(getWeight())[0]);
  double flops = 2 * elementsOf(getInput()) * outs;
  return costOf(*this, flops + (getBias() ? elementsOf(getResult()) : 0));
}
OpCost LinearInputGradientOp::getCost() {
  double ins = static_cast<double>(shapeOf(getWeight())[1]);
  return costOf(*this, 2 * elementsOf(getGrad()) * ins);
}
OpCost LinearWeightGradientOp::getCost() {
  double ins = static_cast<double>(shapeOf(getInput()).back());
  return costOf(*this, 2 * elementsOf(getGrad()) * ins);
}

OpCost AmaxOp::getCost() { return elementwise(*this, getInput(), 2); }
OpCost QuantizeScaleOp::getCost() { return costOf(*this, 2); }
OpCost QuantizeOp::getCost() { return elementwise(*this, getInput(), 2); }
OpCost QuantizeBlocksOp::getCost() { return elementwise(*this, getInput(), 4); }
OpCost DequantizeBlocksOp::getCost() {
  return elementwise(*this, getCodes(), 1);
}

/// How many (query, key) pairs of one head see each other.
static double visiblePairs(double sequence, bool causal, double window) {
  if (!causal)
    return sequence * sequence;
  if (window <= 0 || window > sequence)
    window = sequence;
  return window * (window + 1) / 2 + (sequence - window) * window;
}

/// `gemms` GEMMs of one multiply-add per pair and channel: two in
/// the forward pass, five in the gradient (arXiv 2307.08691).
template <typename OpT> static OpCost attentionCost(OpT op, double gemms) {
  Shape q = shapeOf(op.getQuery());
  double queries = static_cast<double>(q[1]);
  double keys = static_cast<double>(shapeOf(op.getKey())[1]);
  double all = op.getWhole() ? static_cast<double>((*op.getWhole())[2])
                             : std::max(queries, keys);
  // Of a shard its share of the whole's.
  double pairs =
      visiblePairs(all, op.getCausal(), static_cast<double>(op.getWindow())) *
      (queries / all) * (keys / all);
  double channels = static_cast<double>(q[0] * q[2] * q[3]);
  return costOf(op, 2 * gemms * pairs * channels);
}
OpCost AttentionOp::getCost() { return attentionCost(*this, 2); }
OpCost AttentionGradientOp::getCost() { return attentionCost(*this, 5); }

/// Every token as if it were the last of a row.
OpCost CachedAttentionOp::getCost() {
  Shape q = shapeOf(getQuery());
  double positions =
      static_cast<double>(shapeOf(getTable())[1] * shapeOf(getKeys())[1]);
  double channels = static_cast<double>(q[0] * q[2] * q[3]);
  return costOf(*this, 2 * 2 * positions * channels);
}

//===----------------------------------------------------------------------===//
// State-space layers
//===----------------------------------------------------------------------===//

OpCost CausalConvOp::getCost() {
  return elementwise(*this, getInput(),
                     2 * static_cast<double>(shapeOf(getWeight())[1]));
}
OpCost CausalConvGradientOp::getCost() {
  return elementwise(*this, getInput(),
                     4 * static_cast<double>(shapeOf(getWeight())[1]));
}

/// `perState` operations for each number of a state and token.
template <typename OpT> static OpCost scanCost(OpT op, double perState) {
  return elementwise(op, op.getInput(),
                     perState *
                         static_cast<double>(shapeOf(op.getInMap()).back()));
}
OpCost StateScanOp::getCost() { return scanCost(*this, kScanFlops); }
OpCost StateScanGradientOp::getCost() {
  return scanCost(*this, kScanFlops + kScanBackFlops);
}

OpCost CachedConvOp::getCost() {
  return elementwise(*this, getInput(),
                     2 * static_cast<double>(shapeOf(getWeight())[1]));
}
OpCost CachedScanOp::getCost() { return scanCost(*this, kScanFlops); }

//===----------------------------------------------------------------------===//
// Elementwise and row by row: operations per element, as the formulas of the
// ops' descriptions count them; a transcendental function is one.
//===----------------------------------------------------------------------===//

OpCost NormOp::getCost() {
  return elementwise(*this, getInput(), getKind() == NormKind::Layer ? 7 : 4);
}
OpCost NormGradientOp::getCost() {
  return elementwise(*this, getInput(), getKind() == NormKind::Layer ? 17 : 12);
}
OpCost MergeAttentionOp::getCost() { return elementwise(*this, getInput(), 3); }
OpCost RopeTableOp::getCost() { return elementwise(*this, getResult(), 1.5); }
OpCost RopeTableAtOp::getCost() { return elementwise(*this, getResult(), 1.5); }
OpCost RopeOp::getCost() { return elementwise(*this, getInput(), 3); }

static double activationFlops(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::Gelu:
    return 5;
  case ActivationKind::GeluTanh:
    return 8;
  case ActivationKind::Silu:
    return 4;
  case ActivationKind::QuickGelu:
    return 5;
  case ActivationKind::Relu:
    return 1;
  case ActivationKind::ReluSquared:
    return 2;
  case ActivationKind::Tanh:
    return 1;
  }
}
OpCost ActivationOp::getCost() {
  return elementwise(*this, getInput(), activationFlops(getKind()));
}
OpCost ActivationGradientOp::getCost() {
  return elementwise(*this, getInput(), 2 * activationFlops(getKind()) + 1);
}
OpCost SoftcapOp::getCost() { return elementwise(*this, getInput(), 3); }
OpCost SoftcapGradientOp::getCost() {
  return elementwise(*this, getOutput(), 4);
}
OpCost GatedOp::getCost() {
  return elementwise(*this, getGate(), activationFlops(getKind()) + 1);
}
OpCost GatedGradientOp::getCost() {
  return elementwise(*this, getGate(), 2 * activationFlops(getKind()) + 3);
}
OpCost GatherChoicesOp::getCost() { return costOf(*this, 0); }
OpCost GatherChoicesGradientOp::getCost() { return costOf(*this, 0); }
OpCost SplitChunksOp::getCost() {
  return isView(*this) ? free(*this) : costOf(*this, 0);
}
OpCost JoinChunksOp::getCost() {
  return isView(*this) ? free(*this) : costOf(*this, 0);
}
OpCost JoinHeadsOp::getCost() { return costOf(*this, 0); }
OpCost PartHeadsOp::getCost() {
  OpCost cost = costOf(*this, 0);
  cost.bytesRead = cost.bytesWritten;
  return cost;
}
OpCost SumHeadsOp::getCost() {
  double heads = static_cast<double>(shapeOf(getInput())[2]);
  OpCost cost = elementwise(*this, getResult(), heads);
  cost.bytesRead = heads * cost.bytesWritten;
  return cost;
}
OpCost PlaceRowsOp::getCost() { return costOf(*this, 0); }
OpCost PlaceRowsGradientOp::getCost() { return costOf(*this, 0); }
OpCost PlacedRowsGradientOp::getCost() { return costOf(*this, 0); }
OpCost RowGateOp::getCost() { return elementwise(*this, getInput(), 1); }
OpCost RowGateGradientOp::getCost() {
  return elementwise(*this, getInput(), 3);
}
OpCost DropoutOp::getCost() { return elementwise(*this, getInput(), 1); }
OpCost AddOp::getCost() { return elementwise(*this, getLhs(), 1); }
OpCost MultiplyOp::getCost() { return elementwise(*this, getLhs(), 1); }
OpCost SumLeadingOp::getCost() { return elementwise(*this, getInput(), 1); }
OpCost CrossEntropyOp::getCost() { return elementwise(*this, getLogits(), 4); }
OpCost CrossEntropyRowsOp::getCost() {
  return elementwise(*this, getLogits(), 3);
}
OpCost LogSumExpOp::getCost() { return elementwise(*this, getInput(), 3); }
OpCost CountLabelsOp::getCost() { return elementwise(*this, getLabels(), 1); }
OpCost MeanLossOp::getCost() { return elementwise(*this, getLabels(), 2); }
OpCost CrossEntropyGradientOp::getCost() {
  return elementwise(*this, getLogits(), 3);
}

//===----------------------------------------------------------------------===//
// Mixtures of experts: rows of the buffer count, filled or not
//===----------------------------------------------------------------------===//

OpCost RouterOp::getCost() { return elementwise(*this, getLogits(), 3); }
/// About ten iterations, of three operations an element each.
OpCost SinkhornOp::getCost() { return elementwise(*this, getLogits(), 30); }
OpCost RouterGradientOp::getCost() {
  return elementwise(*this, getLogits(), 5);
}
OpCost RouterProbabilitiesOp::getCost() {
  return elementwise(*this, getLogits(), 4);
}
OpCost RouterProbabilitiesGradientOp::getCost() {
  return elementwise(*this, getLogits(), 7);
}
OpCost RouterZLossOp::getCost() { return elementwise(*this, getLogits(), 2); }
OpCost RouterZLossGradientOp::getCost() {
  return elementwise(*this, getLogits(), 4);
}
OpCost ExpertCountsOp::getCost() { return elementwise(*this, getExperts(), 1); }
OpCost BalanceBiasOp::getCost() { return elementwise(*this, getBias(), 4); }
OpCost ExpertOrderOp::getCost() { return elementwise(*this, getChoice(), 2); }

/// One multiply-add for each channel of each slot.
static OpCost slotCost(Operation *op, Value slots, Value rows) {
  return costOf(op, 2 * elementsOf(slots) *
                        static_cast<double>(shapeOf(rows).back()));
}
OpCost DispatchOp::getCost() {
  OpCost cost = costOf(*this, 0);
  if (getWeights())
    cost.flops = slotCost(*this, getSlots(), getInput()).flops / 2;
  return cost;
}
OpCost CombineOp::getCost() { return slotCost(*this, getSlots(), getRows()); }
OpCost CombineWeightGradientOp::getCost() {
  return slotCost(*this, getSlots(), getRows());
}

OpCost ExpertSegmentsOp::getCost() {
  return elementwise(*this, getRanges(), 1);
}
OpCost ExchangeRowsOp::getCost() { return costOf(*this, 0); }
OpCost ReturnRowsOp::getCost() { return costOf(*this, 0); }

/// One multiply-add for each element of the expected `rows` and channel of the
/// other operand.
template <typename OpT>
static OpCost groupedCost(OpT op, Value rows, int64_t channels) {
  double elements = elementsOf(rows);
  if (auto expected = static_cast<double>(op.getExpectedRows()); expected > 0)
    elements *= expected / static_cast<double>(shapeOf(rows)[1]);
  return costOf(op, 2 * elements * static_cast<double>(channels));
}
OpCost GroupedLinearOp::getCost() {
  return groupedCost(*this, getRows(), shapeOf(getWeight())[1]);
}
OpCost GroupedLinearInputGradientOp::getCost() {
  return groupedCost(*this, getGrad(), shapeOf(getWeight())[2]);
}
OpCost GroupedLinearWeightGradientOp::getCost() {
  return groupedCost(*this, getGrad(), shapeOf(getRows()).back());
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

OpCost GlobalNormOp::getCost() {
  double flops = 0;
  for (Value grad : getGrads())
    flops += 2 * elementsOf(grad);
  return costOf(*this, flops);
}
OpCost GradientScaleOp::getCost() { return costOf(*this, 6); }
OpCost BiasCorrectionOp::getCost() { return costOf(*this, 4); }
OpCost AdvanceStepOp::getCost() { return costOf(*this, 2); }
OpCost AdamWOp::getCost() { return elementwise(*this, getParam(), 16); }
OpCost SgdOp::getCost() { return elementwise(*this, getParam(), 7); }
OpCost LossScaleUpdateOp::getCost() { return costOf(*this, 4); }
