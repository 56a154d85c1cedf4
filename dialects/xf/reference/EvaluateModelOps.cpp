//===- EvaluateModelOps.cpp - Reference evaluation of the forward pass ----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"
#include "dialects/xf/IR/XfOps.h"
#include "dialects/xf/reference/PlacedRows.h"
#include "dialects/xf/reference/ScalarMath.h"
#include "kernels/reference/RelativeBuckets.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

LogicalResult EmbeddingOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  const ReferenceTensor &ids = operands[0], &table = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = table.dim(1);
  int64_t first =
      getFirstRow() ? static_cast<int64_t>(operands[2][0]) : int64_t(0);
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = static_cast<int64_t>(ids[i]) - first;
    if (getFirstRow() && (row < 0 || row >= table.dim(0)))
      continue;
    if (row < 0 || row >= table.dim(0))
      return emitOpError("is given the id ")
             << row << " for a table of " << table.dim(0) << " rows";
    for (int64_t j = 0; j < width; ++j)
      result[i * width + j] = table[row * width + j];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult PrefixOp::evaluate(EvaluationContext &, Tensors operands,
                                 Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] = operands[0][i];
  results.push_back(std::move(result));
  return success();
}

LogicalResult LinearOp::evaluate(EvaluationContext &, Tensors operands,
                                 Results &results) {
  const ReferenceTensor &input = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = weight.dim(0), ins = weight.dim(1);
  for (int64_t row = 0; row < input.size() / ins; ++row)
    for (int64_t o = 0; o < outs; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < ins; ++i)
        sum += input[row * ins + i] * weight[o * ins + i];
      for (const ReferenceTensor &scale :
           operands.take_back(getScales().size()))
        sum *= scale[0];
      result[row * outs + o] = sum + (getBias() ? operands[2][o] : 0);
    }
  results.push_back(std::move(result));
  return success();
}

LogicalResult NormOp::evaluate(EvaluationContext &, Tensors operands,
                               Results &results) {
  const ReferenceTensor &input = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = input.dim(-1);
  double epsilon = getEpsilon().convertToDouble();
  double offset = getZeroCentered() ? 1 : 0;
  for (int64_t base = 0; base < input.size(); base += width) {
    double mean = 0, square = 0;
    if (getKind() == NormKind::Layer)
      for (int64_t i = 0; i < width; ++i)
        mean += input[base + i] / width;
    for (int64_t i = 0; i < width; ++i)
      square += (input[base + i] - mean) * (input[base + i] - mean) / width;
    for (int64_t i = 0; i < width; ++i)
      result[base + i] = (input[base + i] - mean) /
                             std::sqrt(square + epsilon) *
                             (weight[i] + offset) +
                         (getBias() ? operands[2][i] : 0);
  }
  results.push_back(std::move(result));
  return success();
}

/// The position of row `row` of what `op` makes, perhaps a shard.
template <typename OpT>
static int64_t positionOf(OpT op, Tensors operands, int64_t row) {
  int64_t first = operands.empty() ? 0 : static_cast<int64_t>(operands[0][0]);
  int64_t rows = cast<ShapedType>(op.getType()).getDimSize(0);
  int64_t whole = op.getWhole() > 0 ? op.getWhole() : rows;
  return storedPosition(first + row, op.getPart(), op.getRounds(), whole);
}

LogicalResult PositionsOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  for (int64_t s = 0; s < result.size(); ++s)
    result[s] = static_cast<double>(positionOf(*this, operands, s));
  results.push_back(std::move(result));
  return success();
}

LogicalResult RelativeBucketsOp::evaluate(EvaluationContext &, Tensors,
                                          Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  auto reach = static_cast<int64_t>(getMaxDistance());
  hocket::kernels::RelativeBuckets buckets{static_cast<int64_t>(getBuckets()),
                                           reach, getBothDirections()};
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<double>(buckets.of(i - reach));
  results.push_back(std::move(result));
  return success();
}

LogicalResult RopeTableOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t pairs = result.dim(1);
  for (int64_t s = 0; s < result.dim(0); ++s)
    for (int64_t i = 0; i < pairs; ++i) {
      double position = static_cast<double>(positionOf(*this, operands, s));
      double angle = position * getInverseFrequencies()[i];
      result[(s * pairs + i) * 2] = std::cos(angle);
      result[(s * pairs + i) * 2 + 1] = std::sin(angle);
    }
  results.push_back(std::move(result));
  return success();
}

LogicalResult RopeOp::evaluate(EvaluationContext &, Tensors operands,
                               Results &results) {
  const ReferenceTensor &input = operands[0], &table = operands[1];
  ReferenceTensor result = input;
  int64_t heads = input.dim(2), width = input.dim(3), half = table.dim(-2);
  for (int64_t head = 0; head < input.size() / width; ++head) {
    int64_t position = head / heads;
    if (table.shape.size() == 3)
      position %= input.dim(1);
    for (int64_t i = 0; i < half; ++i) {
      double c = table[(position * half + i) * 2];
      double s = table[(position * half + i) * 2 + 1] * (getInverse() ? -1 : 1);
      double x1 = input[head * width + i];
      double x2 = input[head * width + half + i];
      result[head * width + i] = x1 * c - x2 * s;
      result[head * width + half + i] = x2 * c + x1 * s;
    }
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult ActivationOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  ReferenceTensor result = operands[0];
  for (double &value : result.values)
    value = activate(getKind(), value);
  results.push_back(std::move(result));
  return success();
}

LogicalResult SoftcapOp::evaluate(EvaluationContext &, Tensors operands,
                                  Results &results) {
  ReferenceTensor result = operands[0];
  double cap = getCap().convertToDouble();
  for (double &value : result.values)
    value = cap * std::tanh(value / cap);
  results.push_back(std::move(result));
  return success();
}

LogicalResult GatedOp::evaluate(EvaluationContext &, Tensors operands,
                                Results &results) {
  ReferenceTensor result = operands[1];
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] *= activate(getKind(), operands[0][i]);
  results.push_back(std::move(result));
  return success();
}

LogicalResult GatherChoicesOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t rows = result.dim(0), positions = result.dim(1),
          choices = result.dim(2);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t s = 0; s < positions; ++s)
      result[((row - row % choices) * positions + s) * choices +
             row % choices] = operands[0][row * positions + s];
  results.push_back(std::move(result));
  return success();
}

/// Rows of sequences of `rows`, of `input` from `first` on; zeros elsewhere.
static void shiftRows(const ReferenceTensor &input, int64_t sequences,
                      int64_t first, ReferenceTensor &result) {
  int64_t each = result.size() / sequences;
  for (int64_t i = 0; i < result.size(); ++i)
    if (int64_t at = i % each + first; at >= 0 && at < each)
      result[i] = input[i + first];
}

LogicalResult SplitChunksOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t sequences = operands[0].dim(0);
  int64_t row = operands[0].size() / sequences / operands[0].dim(1);
  shiftRows(operands[0], sequences, int64_t(getShift()) * row, result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult JoinChunksOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t sequences = result.dim(0);
  int64_t row = result.size() / sequences / result.dim(1);
  shiftRows(operands[0], sequences, -int64_t(getShift()) * row, result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult JoinHeadsOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t heads = result.dim(2), width = result.dim(3);
  int64_t own = operands[0].dim(3);
  int64_t before = getFront() ? operands[1].dim(3) : 0;
  bool shared = getFront() && operands[1].dim(2) != heads;
  for (int64_t i = 0; i < result.size() / width; ++i) {
    for (int64_t c = 0; c < before; ++c)
      result[i * width + c] =
          operands[1][(shared ? i / heads : i) * before + c];
    for (int64_t c = 0; c < own; ++c)
      result[i * width + before + c] = operands[0][i * own + c];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult PartHeadsOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = result.dim(3), whole = operands[0].dim(3);
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] =
        operands[0][i / width * whole + int64_t(getFirst()) + i % width];
  results.push_back(std::move(result));
  return success();
}

LogicalResult PlaceRowsOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  const ReferenceTensor &rows = operands[1], &source = operands[2];
  ReferenceTensor result = operands[0];
  int64_t width = result.dim(2);
  auto copy = [&](int64_t token, int64_t from) {
    for (int64_t h = 0; h < width; ++h)
      result[token * width + h] = source[from * width + h];
  };
  if (failed(eachPlacedRow(*this, rows, source, copy)))
    return failure();
  results.push_back(std::move(result));
  return success();
}

LogicalResult RowGateOp::evaluate(EvaluationContext &, Tensors operands,
                                  Results &results) {
  ReferenceTensor result = operands[0];
  int64_t width = result.dim(-1);
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] /= 1 + std::exp(-operands[1][i / width]);
  results.push_back(std::move(result));
  return success();
}

LogicalResult DropoutOp::evaluate(EvaluationContext &context, Tensors operands,
                                  Results &results) {
  ReferenceTensor result = operands[0];
  uint32_t stream = static_cast<uint32_t>(getStream()) * 65536;
  if (getInstance())
    stream += static_cast<uint32_t>(operands[1][0]);
  double rate = getRate().convertToDouble();
  SmallVector<int64_t> starts;
  for (const ReferenceTensor &start : operands.take_back(getAt().size()))
    starts.push_back(static_cast<int64_t>(start[0]));
  kernels::ShardShape shard = shardOf(*this);
  int64_t elements = 1;
  for (int64_t size : shard.whole)
    elements *= size;
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t at = kernels::wholeElement(shard, starts, i);
    result[i] *= getJitter() ? context.jitter(rate, stream, elements, at)
                             : context.keepScale(rate, stream, elements, at);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult AddOp::evaluate(EvaluationContext &, Tensors operands,
                              Results &results) {
  ReferenceTensor result = operands[0];
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] += operands[1][i % operands[1].size()];
  results.push_back(std::move(result));
  return success();
}

LogicalResult MultiplyOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  ReferenceTensor result = operands[0];
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] *= operands[1][i % operands[1].size()];
  results.push_back(std::move(result));
  return success();
}

LogicalResult SumLeadingOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  for (int64_t i = 0; i < operands[0].size(); ++i)
    result[i % result.size()] += operands[0][i];
  results.push_back(std::move(result));
  return success();
}

LogicalResult ReshapeOp::evaluate(EvaluationContext &, Tensors operands,
                                  Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  result.values = operands[0].values;
  results.push_back(std::move(result));
  return success();
}

LogicalResult CastOp::evaluate(EvaluationContext &, Tensors operands,
                               Results &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult ConstantOp::evaluate(EvaluationContext &, Tensors,
                                   Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  result.values.assign(result.size(), getValue().convertToDouble());
  results.push_back(std::move(result));
  return success();
}

LogicalResult CrossEntropyOp::evaluate(EvaluationContext &, Tensors operands,
                                       Results &results) {
  const ReferenceTensor &logits = operands[0], &labels = operands[1];
  int64_t vocab = logits.dim(-1), valid = getValidVocab(), count = 0;
  double loss = 0;
  ReferenceTensor lse = zerosOf(getLse().getType()), picked = lse;
  for (int64_t row = 0; row < labels.size(); ++row) {
    double greatest = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < valid; ++c)
      greatest = std::max(greatest, logits[row * vocab + c]);
    for (int64_t c = 0; c < valid; ++c)
      sum += std::exp(logits[row * vocab + c] - greatest);
    lse[row] = greatest + std::log(sum);
    int64_t label = static_cast<int64_t>(labels[row]);
    if (label < -1 || label >= valid)
      return emitOpError("is given the label ")
             << label << " of a vocabulary of " << valid;
    if (label >= 0) {
      picked[row] = logits[row * vocab + label];
      loss += lse[row] - picked[row];
      ++count;
    }
  }
  double of = getCount() ? operands[2][0] : static_cast<double>(count);
  results.push_back(
      ReferenceTensor(ArrayRef<int64_t>{}, of > 0 ? loss / of : 0));
  results.push_back(std::move(lse));
  if (getPicked())
    results.push_back(std::move(picked));
  return success();
}
