//===- XfGradients.cpp - How every op of the model builds its gradient ----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `grads` has one value a result, null where no gradient reaches it; the first
/// is never null. The log-sum-exp results of attention and cross-entropy carry
/// none.
///
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace hocket::xf;

/// The type of the gradient of a parameter: in f32 at least, so that nothing
/// is rounded between the GEMM and the accumulator.
static Type parameterGradient(Value parameter) {
  return RankedTensorType::get(shapeOf(parameter),
                               widened(elementOf(parameter)));
}

/// The sum of `grad` over the leading dims that `like` lacks, or `grad`.
static Value reduceTo(OpBuilder &builder, Value grad, Value like) {
  if (shapeOf(grad) == shapeOf(like))
    return grad;
  auto type = RankedTensorType::get(shapeOf(like), widened(elementOf(grad)));
  return builder.create<SumLeadingOp>(grad.getLoc(), type, grad);
}

/// A sum over sequences, as positions have it, is not rounded on its way.
SmallVector<Value> EmbeddingOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  return {Value(), builder.create<EmbeddingGradientOp>(
                       getLoc(), parameterGradient(getTable()), getIds(),
                       grads[0], Value())};
}

SmallVector<Value> PrefixOp::buildGradient(OpBuilder &builder,
                                           ValueRange grads) {
  auto type = RankedTensorType::get(shapeOf(getInput()), elementOf(grads[0]));
  return {builder.create<PadRowsOp>(getLoc(), type, grads[0])};
}

SmallVector<Value> PadRowsOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  auto type = RankedTensorType::get(shapeOf(getInput()), elementOf(grads[0]));
  return {builder.create<PrefixOp>(getLoc(), type, grads[0])};
}

/// `grad` in the 8 bits of gradients, which have more exponents than others
/// (arXiv 2209.05433), and its scale.
static std::pair<Value, Value> quantizedGradient(OpBuilder &builder,
                                                 Value grad) {
  Location loc = grad.getLoc();
  Type format = Float8E5M2Type::get(grad.getContext());
  auto scalar = RankedTensorType::get({}, widened(elementOf(grad)));
  Value amax = builder.create<AmaxOp>(loc, scalar, grad);
  Value scale = builder.create<QuantizeScaleOp>(loc, scalar, amax, format);
  auto type = RankedTensorType::get(shapeOf(grad), format);
  return {builder.create<QuantizeOp>(loc, type, grad, scale), scale};
}

/// What `value` was before it was put in blocks.
static Value beforeBlocks(Value value) {
  auto dequantized = value.getDefiningOp<DequantizeBlocksOp>();
  auto quantized =
      dequantized ? dequantized.getCodes().getDefiningOp<QuantizeBlocksOp>()
                  : QuantizeBlocksOp();
  return quantized ? quantized.getInput() : value;
}

/// `value` in blocks of `format`: codes where `at` stands, unless it has been
/// put in these blocks before, and what they stand for at the builder.
static Value inBlocks(OpBuilder &builder, OpBuilder at, Value value,
                      ArrayRef<int64_t> blocks, Type format) {
  QuantizeBlocksOp codes;
  for (Operation *user : value.getUsers())
    if (auto known = dyn_cast<QuantizeBlocksOp>(user))
      if (known.getBlocks() == blocks && elementOf(known.getCodes()) == format)
        codes = known;
  Location loc = value.getLoc();
  if (!codes) {
    SmallVector<int64_t> scales;
    for (auto [size, block] : llvm::zip_equal(shapeOf(value), blocks))
      scales.push_back((size - 1) / block + 1);
    codes = at.create<QuantizeBlocksOp>(
        loc, RankedTensorType::get(shapeOf(value), format),
        RankedTensorType::get(scales, at.getF32Type()), value,
        at.getDenseI64ArrayAttr(blocks));
  }
  return builder.create<DequantizeBlocksOp>(loc, value.getType(),
                                            codes.getCodes(), codes.getScales(),
                                            codes.getBlocksAttr());
}

/// The operands of the gradient's GEMMs in blocks along what each sums over:
/// the outputs and, of a sequence, the tokens. Codes of the forward pass are
/// made in it, so that backward keeps them in place of what they were made of.
static SmallVector<Value> gradientInBlocks(OpBuilder &builder, LinearOp op,
                                           Value grad) {
  Fp8Recipe recipe = *op.getFp8();
  Value input = beforeBlocks(op.getInput()),
        weight = beforeBlocks(op.getWeight());
  int64_t rank = static_cast<int64_t>(shapeOf(grad).size()),
          tokens = std::max<int64_t>(0, rank - 2);
  Type narrow = Float8E4M3FNType::get(grad.getContext()),
       wide = Float8E5M2Type::get(grad.getContext());
  OpBuilder forward(op);
  Value byOutput = inBlocks(builder, builder, grad,
                            tokenBlocks(recipe, rank, rank - 1), wide);
  Value byToken =
      inBlocks(builder, builder, grad, tokenBlocks(recipe, rank, tokens), wide);
  Value kept = inBlocks(builder, forward, input,
                        tokenBlocks(recipe, rank, tokens), narrow);
  Value turned =
      inBlocks(builder, forward, weight, weightBlocks(recipe, 2, 0), narrow);
  return {builder.create<LinearInputGradientOp>(op.getLoc(),
                                                op.getInput().getType(),
                                                byOutput, turned, ValueRange()),
          builder.create<LinearWeightGradientOp>(
              op.getLoc(),
              RankedTensorType::get(shapeOf(weight), widened(elementOf(grad))),
              byToken, kept, ValueRange())};
}

/// The result may be wider than what is multiplied. What is multiplied in 8
/// bits has a gradient of two such GEMMs.
SmallVector<Value> LinearOp::buildGradient(OpBuilder &builder,
                                           ValueRange grads) {
  bool narrow = !getScales().empty();
  Value like = narrow ? getResult() : getInput();
  Value grad = matching(builder, grads[0], like), factor = grad;
  if (getFp8()) {
    SmallVector<Value> result = gradientInBlocks(builder, *this, grad);
    if (getBias())
      result.push_back(builder.create<SumLeadingOp>(
          getLoc(), parameterGradient(getBias()), grad));
    return result;
  }
  SmallVector<Value> byInput, byWeight;
  if (narrow) {
    Value scale;
    std::tie(factor, scale) = quantizedGradient(builder, grad);
    byInput = {scale, getScales()[1]};
    byWeight = {scale, getScales()[0]};
  }
  auto input = RankedTensorType::get(shapeOf(getInput()), elementOf(like));
  auto weight =
      RankedTensorType::get(shapeOf(getWeight()), widened(elementOf(like)));
  SmallVector<Value> result{
      builder.create<LinearInputGradientOp>(getLoc(), input, factor,
                                            getWeight(), byInput),
      builder.create<LinearWeightGradientOp>(getLoc(), weight, factor,
                                             getInput(), byWeight)};
  if (getBias())
    result.push_back(builder.create<SumLeadingOp>(
        getLoc(), parameterGradient(getBias()), grad));
  result.resize(getNumOperands()); // scales have none
  return result;
}

SmallVector<Value> QuantizeOp::buildGradient(OpBuilder &builder,
                                             ValueRange grads) {
  return {grads[0], Value()};
}

SmallVector<Value> QuantizeBlocksOp::buildGradient(OpBuilder &,
                                                   ValueRange grads) {
  return {grads[0]};
}
SmallVector<Value> DequantizeBlocksOp::buildGradient(OpBuilder &,
                                                     ValueRange grads) {
  return {grads[0], Value()};
}

SmallVector<Value> NormOp::buildGradient(OpBuilder &builder, ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Type> types{getInput().getType(), parameterGradient(getWeight())};
  if (getBias())
    types.push_back(parameterGradient(getBias()));
  auto gradient = builder.create<NormGradientOp>(
      getLoc(), types, ValueRange{grad, getInput(), getWeight()});
  gradient.setKind(getKind());
  gradient.setEpsilonAttr(getEpsilonAttr());
  gradient.setZeroCentered(getZeroCentered());
  return SmallVector<Value>(gradient.getResults());
}

SmallVector<Value> RopeTableOp::buildGradient(OpBuilder &, ValueRange) {
  return SmallVector<Value>(getNumOperands());
}
SmallVector<Value> PositionsOp::buildGradient(OpBuilder &, ValueRange) {
  return SmallVector<Value>(getNumOperands());
}

SmallVector<Value> RelativeBucketsOp::buildGradient(OpBuilder &, ValueRange) {
  return {};
}

/// A rotation's gradient turns back.
SmallVector<Value> RopeOp::buildGradient(OpBuilder &builder, ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<RopeOp>(getLoc(), grad.getType(), grad, getTable(),
                                 !getInverse()),
          Value()};
}

SmallVector<Value> AttentionOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  Type biasGrad = getBias() ? getBias().getType() : Type();
  auto gradient = builder.create<AttentionGradientOp>(
      getLoc(), getQuery().getType(), getKey().getType(), getValue().getType(),
      biasGrad, grad, getQuery(), getKey(), getValue(), getResult(), getLse(),
      getPositions(), getBias(), getInstance(), getPlace(), getCausalAttr(),
      getWindowAttr(), getScaleAttr(), getSoftcapAttr(), getAlibiAttr(),
      getDropoutAttr(), getStreamAttr(), getPartAttr(), getRoundsAttr(),
      getWholeAttr(), getBehindAttr());
  SmallVector<Value> result(gradient.getResults().take_front(3));
  result.resize(getNumOperands()); // positions and numbers have none
  if (getBias())
    result[getBiasMutable()[0].getOperandNumber()] = gradient.getBiasGrad();
  return result;
}

SmallVector<Value> CausalConvOp::buildGradient(OpBuilder &builder,
                                               ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Type> types{getInput().getType(), parameterGradient(getWeight())};
  if (getBias())
    types.push_back(parameterGradient(getBias()));
  auto gradient = builder.create<CausalConvGradientOp>(
      getLoc(), types, ValueRange{grad, getInput(), getWeight()});
  return SmallVector<Value>(gradient.getResults());
}

SmallVector<Value> StateScanOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Type> types{getInput().getType(), getStep().getType(),
                          getInMap().getType(), getOutMap().getType()};
  for (Value numbers : {getDecay(), getStepBias(), getSkip()})
    types.push_back(parameterGradient(numbers));
  SmallVector<Value> operands{grad};
  llvm::append_range(operands, getOperands());
  auto gradient =
      builder.create<StateScanGradientOp>(getLoc(), types, operands);
  gradient.setLeastAttr(getLeastAttr());
  if (getMostAttr())
    gradient.setMostAttr(getMostAttr());
  return SmallVector<Value>(gradient.getResults());
}

SmallVector<Value> ActivationOp::buildGradient(OpBuilder &builder,
                                               ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<ActivationGradientOp>(
      getLoc(), getInput().getType(), grad, getInput(), getKindAttr())};
}

SmallVector<Value> SoftcapOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<SoftcapGradientOp>(getLoc(), getInput().getType(),
                                            grad, getResult(), getCapAttr())};
}

SmallVector<Value> GatedOp::buildGradient(OpBuilder &builder,
                                          ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  auto gradient = builder.create<GatedGradientOp>(
      getLoc(), getGate().getType(), getUp().getType(), grad, getGate(),
      getUp(), getKindAttr());
  return SmallVector<Value>(gradient.getResults());
}

SmallVector<Value> GatherChoicesOp::buildGradient(OpBuilder &builder,
                                                  ValueRange grads) {
  return {builder.create<GatherChoicesGradientOp>(
      getLoc(), getInput().getType(),
      matching(builder, grads[0], getResult()))};
}

SmallVector<Value> SplitChunksOp::buildGradient(OpBuilder &builder,
                                                ValueRange grads) {
  auto type = RankedTensorType::get(shapeOf(getInput()), elementOf(grads[0]));
  return {
      builder.create<JoinChunksOp>(getLoc(), type, grads[0], getShiftAttr())};
}

SmallVector<Value> JoinChunksOp::buildGradient(OpBuilder &builder,
                                               ValueRange grads) {
  auto type = RankedTensorType::get(shapeOf(getInput()), elementOf(grads[0]));
  return {
      builder.create<SplitChunksOp>(getLoc(), type, grads[0], getShiftAttr())};
}

SmallVector<Value> JoinHeadsOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  auto part = [&](Value like, int64_t first) -> Value {
    return builder.create<PartHeadsOp>(
        getLoc(), RankedTensorType::get(shapeOf(like), elementOf(grads[0])),
        grads[0], builder.getI64IntegerAttr(first));
  };
  if (!getFront())
    return {part(getInput(), 0)};
  Value input = part(getInput(), shapeOf(getFront()).back());
  if (shapeOf(getFront())[2] == shapeOf(getInput())[2])
    return {input, part(getFront(), 0)};
  auto type = RankedTensorType::get(shapeOf(getFront()), elementOf(grads[0]));
  return {input, builder.create<SumHeadsOp>(getLoc(), type, grads[0])};
}

SmallVector<Value> PartHeadsOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  Value grad = grads[0];
  SmallVector<int64_t> shape(shapeOf(grad));
  auto typeOf = [&](ArrayRef<int64_t> dims) {
    return RankedTensorType::get(dims, elementOf(grads[0]));
  };
  if (auto first = static_cast<int64_t>(getFirst()); first > 0) {
    SmallVector<int64_t> before = {shape[0], shape[1], 1, first};
    Value zeros = builder.create<ConstantOp>(getLoc(), typeOf(before),
                                             builder.getF64FloatAttr(0));
    shape.back() += first;
    grad = builder.create<JoinHeadsOp>(getLoc(), typeOf(shape), grad, zeros);
  }
  if (shape.back() == shapeOf(getInput()).back())
    return {grad};
  return {builder.create<JoinHeadsOp>(getLoc(), typeOf(shapeOf(getInput())),
                                      grad, Value())};
}

SmallVector<Value> PlaceRowsOp::buildGradient(OpBuilder &builder,
                                              ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  Shape source = shapeOf(getSource());
  int64_t sources = source[0] / shapeOf(getInput())[0] * source[1];
  return {builder.create<PlaceRowsGradientOp>(
              getLoc(), getInput().getType(), grad, getRows(),
              builder.getI64IntegerAttr(sources)),
          Value(),
          builder.create<PlacedRowsGradientOp>(getLoc(), getSource().getType(),
                                               grad, getRows())};
}

SmallVector<Value> RowGateOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  auto gradient = builder.create<RowGateGradientOp>(
      getLoc(), getInput().getType(), getGate().getType(), grad, getInput(),
      getGate());
  return SmallVector<Value>(gradient.getResults());
}

/// Linear in its input: the same factors, on the gradient.
SmallVector<Value> DropoutOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Value> result{
      builder.create<DropoutOp>(getLoc(), grad, getInstance(), getRateAttr(),
                                getStreamAttr(), getJitter())};
  if (getInstance())
    result.push_back(Value());
  return result;
}

SmallVector<Value> AddOp::buildGradient(OpBuilder &builder, ValueRange grads) {
  return {grads[0], reduceTo(builder, grads[0], getRhs())};
}

SmallVector<Value> MultiplyOp::buildGradient(OpBuilder &builder,
                                             ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  Value byRhs =
      builder.create<MultiplyOp>(getLoc(), grad.getType(), grad, getRhs());
  Value byLhs =
      builder.create<MultiplyOp>(getLoc(), grad.getType(), grad, getLhs());
  return {byRhs, reduceTo(builder, byLhs, getRhs())};
}

/// Every summed element has the sum's gradient.
SmallVector<Value> SumLeadingOp::buildGradient(OpBuilder &builder,
                                               ValueRange grads) {
  Value grad = matching(builder, grads[0], getInput());
  if (grad.getType() == getInput().getType())
    return {grad};
  Value zero = builder.create<ConstantOp>(getLoc(), getInput().getType(),
                                          builder.getF64FloatAttr(0));
  return {builder.create<AddOp>(getLoc(), zero.getType(), zero, grad)};
}

SmallVector<Value> ReshapeOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  auto type = RankedTensorType::get(shapeOf(getInput()), elementOf(grads[0]));
  return {builder.create<ReshapeOp>(getLoc(), type, grads[0])};
}

SmallVector<Value> CastOp::buildGradient(OpBuilder &builder, ValueRange grads) {
  return {matching(builder, grads[0], getInput())};
}

SmallVector<Value> ConstantOp::buildGradient(OpBuilder &, ValueRange) {
  return {};
}

SmallVector<Value> CrossEntropyOp::buildGradient(OpBuilder &builder,
                                                 ValueRange grads) {
  Value grad = matching(builder, grads[0], getLoss());
  SmallVector<Value> result{builder.create<CrossEntropyGradientOp>(
      getLoc(), getLogits().getType(), grad, getLogits(), getLabels(), getLse(),
      getCount(), Value(), getValidVocabAttr())};
  result.resize(getNumOperands());
  return result;
}

//===----------------------------------------------------------------------===//
// Mixtures of experts
//===----------------------------------------------------------------------===//

/// The bias takes part in the choice alone, which has no gradient.
SmallVector<Value> RouterOp::buildGradient(OpBuilder &builder,
                                           ValueRange grads) {
  Value grad = matching(builder, grads[0], getWeights());
  SmallVector<Value> result{builder.create<RouterGradientOp>(
      getLoc(), getLogits().getType(), grad, getLogits(), getExperts(),
      getScoresAttr(), getRenormaliseAttr(), getScaleAttr())};
  if (getBias())
    result.push_back(Value());
  return result;
}

SmallVector<Value> SinkhornOp::buildGradient(OpBuilder &, ValueRange) {
  return {Value()};
}

SmallVector<Value> RouterProbabilitiesOp::buildGradient(OpBuilder &builder,
                                                        ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<RouterProbabilitiesGradientOp>(
      getLoc(), getLogits().getType(), grad, getLogits(), getScoresAttr())};
}

SmallVector<Value> RouterZLossOp::buildGradient(OpBuilder &builder,
                                                ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<RouterZLossGradientOp>(getLoc(), getLogits().getType(),
                                                grad, getLogits())};
}

SmallVector<Value> ExpertCountsOp::buildGradient(OpBuilder &, ValueRange) {
  return {Value()};
}

SmallVector<Value> ExpertOrderOp::buildGradient(OpBuilder &, ValueRange) {
  return {Value()};
}

SmallVector<Value> ExpertSegmentsOp::buildGradient(OpBuilder &, ValueRange) {
  return {Value()};
}

SmallVector<Value> ExchangeRowsOp::buildGradient(OpBuilder &builder,
                                                 ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<ReturnRowsOp>(getLoc(), getRows().getType(), grad,
                                       getRanges(), getSegments(),
                                       getTopKAttr(), getRoomAttr()),
          Value(), Value()};
}

SmallVector<Value> ReturnRowsOp::buildGradient(OpBuilder &builder,
                                               ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  return {builder.create<ExchangeRowsOp>(getLoc(), getRows().getType(), grad,
                                         getRanges(), getSegments(),
                                         getTopKAttr(), getRoomAttr()),
          Value(), Value()};
}

/// Rows go back the way that tokens came.
SmallVector<Value> DispatchOp::buildGradient(OpBuilder &builder,
                                             ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Value> result{
      builder.create<CombineOp>(getLoc(), getInput().getType(), grad,
                                getSlots(), getWeights(), getPositionRuns()),
      Value()};
  if (getWeights())
    result.push_back(builder.create<CombineWeightGradientOp>(
        getLoc(), getWeights().getType(), getInput(), grad, getSlots(),
        getPositionRuns()));
  return result;
}

SmallVector<Value> CombineOp::buildGradient(OpBuilder &builder,
                                            ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  SmallVector<Value> result{
      builder.create<DispatchOp>(getLoc(), getRows().getType(), grad,
                                 getSlots(), getWeights(), getPositionRuns()),
      Value()};
  if (getWeights())
    result.push_back(builder.create<CombineWeightGradientOp>(
        getLoc(), getWeights().getType(), grad, getRows(), getSlots(),
        getPositionRuns()));
  return result;
}

SmallVector<Value> GroupedLinearOp::buildGradient(OpBuilder &builder,
                                                  ValueRange grads) {
  Value grad = matching(builder, grads[0], getResult());
  Value byRows = grad, weight = getWeight();
  if (getFp8()) {
    int64_t rank = static_cast<int64_t>(shapeOf(grad).size());
    byRows =
        inBlocks(builder, builder, grad, tokenBlocks(*getFp8(), rank, rank - 1),
                 Float8E5M2Type::get(grad.getContext()));
    weight = inBlocks(builder, OpBuilder(*this), beforeBlocks(weight),
                      weightBlocks(*getFp8(), 3, 1),
                      Float8E4M3FNType::get(grad.getContext()));
  }
  SmallVector<Value> result{builder.create<GroupedLinearInputGradientOp>(
                                getLoc(), getRows().getType(), byRows, weight,
                                getRanges(), getExpectedRows()),
                            builder.create<GroupedLinearWeightGradientOp>(
                                getLoc(), parameterGradient(getWeight()), grad,
                                beforeBlocks(getRows()), getRanges(),
                                getExpectedRows())};
  if (getRanges())
    result.push_back(Value());
  return result;
}
