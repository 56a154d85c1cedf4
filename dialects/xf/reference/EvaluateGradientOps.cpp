//===- EvaluateGradientOps.cpp - Reference evaluation of gradients --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"
#include "dialects/xf/reference/PlacedRows.h"
#include "dialects/xf/reference/ScalarMath.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

LogicalResult EmbeddingGradientOp::evaluate(EvaluationContext &,
                                            Tensors operands,
                                            Results &results) {
  const ReferenceTensor &ids = operands[0], &grad = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = result.dim(1);
  int64_t first =
      getFirstRow() ? static_cast<int64_t>(operands[2][0]) : int64_t(0);
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = static_cast<int64_t>(ids[i]) - first;
    if (getFirstRow() && (row < 0 || row >= result.dim(0)))
      continue;
    if (row < 0 || row >= result.dim(0))
      return emitOpError("is given the id ")
             << row << " for a table of " << result.dim(0) << " rows";
    for (int64_t j = 0; j < width; ++j)
      result[row * width + j] += grad[i * width + j];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult PadRowsOp::evaluate(EvaluationContext &, Tensors operands,
                                  Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  for (int64_t i = 0; i < operands[0].size(); ++i)
    result[i] = operands[0][i];
  results.push_back(std::move(result));
  return success();
}

/// What the sums of a GEMM are times: its last operands are its scales.
static double scaleOf(Tensors operands, size_t scales) {
  double scale = 1;
  for (const ReferenceTensor &one : operands.take_back(scales))
    scale *= one[0];
  return scale;
}

static void multiply(ReferenceTensor &tensor, double factor) {
  for (double &value : tensor.values)
    value *= factor;
}

LogicalResult LinearInputGradientOp::evaluate(EvaluationContext &,
                                              Tensors operands,
                                              Results &results) {
  const ReferenceTensor &grad = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = weight.dim(0), ins = weight.dim(1);
  for (int64_t row = 0; row < grad.size() / outs; ++row)
    for (int64_t o = 0; o < outs; ++o)
      for (int64_t i = 0; i < ins; ++i)
        result[row * ins + i] += grad[row * outs + o] * weight[o * ins + i];
  multiply(result, scaleOf(operands, getScales().size()));
  results.push_back(std::move(result));
  return success();
}

LogicalResult LinearWeightGradientOp::evaluate(EvaluationContext &,
                                               Tensors operands,
                                               Results &results) {
  const ReferenceTensor &grad = operands[0], &input = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = result.dim(0), ins = result.dim(1);
  for (int64_t row = 0; row < grad.size() / outs; ++row)
    for (int64_t o = 0; o < outs; ++o)
      for (int64_t i = 0; i < ins; ++i)
        result[o * ins + i] += grad[row * outs + o] * input[row * ins + i];
  multiply(result, scaleOf(operands, getScales().size()));
  results.push_back(std::move(result));
  return success();
}

LogicalResult AmaxOp::evaluate(EvaluationContext &, Tensors operands,
                               Results &results) {
  double greatest = 0;
  for (double value : operands[0].values)
    if (std::isnan(value) || std::abs(value) > greatest)
      greatest = std::abs(value);
  results.emplace_back(ArrayRef<int64_t>{}, greatest);
  return success();
}

LogicalResult QuantizeScaleOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  double scale = operands[0][0] / largestOf(getFormat());
  results.emplace_back(ArrayRef<int64_t>{}, scale < 0x1p-126 ? 1 : scale);
  return success();
}

LogicalResult QuantizeOp::evaluate(EvaluationContext &context, Tensors operands,
                                   Results &results) {
  ReferenceTensor result = operands[0];
  double most = largestOf(elementOf(getResult()));
  auto kept = [&](double x) {
    return context.rounding == Rounding::All ? static_cast<float>(x) : x;
  };
  double inverse = kept(1 / operands[1][0]);
  for (double &value : result.values)
    value = std::clamp(kept(value * inverse), -most, most);
  results.push_back(std::move(result));
  return success();
}

/// Calls `visit` with the index of every element, and of its block.
template <typename Visit>
static void ofBlocks(Shape shape, ArrayRef<int64_t> blocks,
                     const Visit &visit) {
  SmallVector<int64_t> at(shape.size());
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, block = 0;
    for (size_t d = shape.size(); d-- > 0; left /= shape[d])
      at[d] = left % shape[d];
    for (size_t d = 0; d < shape.size(); ++d)
      block = block * ((shape[d] - 1) / blocks[d] + 1) + at[d] / blocks[d];
    visit(i, block);
  }
}

LogicalResult QuantizeBlocksOp::evaluate(EvaluationContext &, Tensors operands,
                                         Results &results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor codes = input, scales = zerosOf(getScales().getType());
  double largest = largestOf(elementOf(getCodes()));
  Shape shape = shapeOf(getInput());
  ofBlocks(shape, getBlocks(), [&](int64_t i, int64_t block) {
    double magnitude = std::abs(input[i]);
    bool isGreater = magnitude > scales[block] || !std::isfinite(magnitude);
    if (isGreater && !std::isnan(scales[block]))
      scales[block] = std::isfinite(magnitude) ? magnitude : std::nan("");
  });
  for (double &scale : scales.values) {
    double greatest = scale;
    for (scale = std::isnan(scale) ? scale : 0x1p-126;
         scale * largest < greatest;)
      scale *= 2;
  }
  ofBlocks(shape, getBlocks(), [&](int64_t i, int64_t block) {
    codes[i] = input[i] / scales[block];
  });
  results.push_back(std::move(codes));
  results.push_back(std::move(scales));
  return success();
}

LogicalResult DequantizeBlocksOp::evaluate(EvaluationContext &,
                                           Tensors operands, Results &results) {
  ReferenceTensor result = operands[0];
  ofBlocks(shapeOf(getCodes()), getBlocks(),
           [&](int64_t i, int64_t block) { result[i] *= operands[1][block]; });
  results.push_back(std::move(result));
  return success();
}

/// With `h` the normalised row and `g` the gradient times what scales it, both
/// kinds give `dx = (g - mean(g) [layer only] - h mean(g h)) / sqrt(var +
/// epsilon)`.
LogicalResult NormGradientOp::evaluate(EvaluationContext &, Tensors operands,
                                       Results &results) {
  const ReferenceTensor &grad = operands[0], &input = operands[1],
                        &weight = operands[2];
  bool layer = getKind() == NormKind::Layer;
  for (Value result : getResults())
    results.push_back(zerosOf(result.getType()));
  int64_t width = input.dim(-1);
  std::vector<double> h(width);
  double offset = getZeroCentered() ? 1 : 0;
  for (int64_t base = 0; base < input.size(); base += width) {
    double mean = 0, square = 0, meanG = 0, meanGH = 0;
    for (int64_t i = 0; layer && i < width; ++i)
      mean += input[base + i] / width;
    for (int64_t i = 0; i < width; ++i)
      square += (input[base + i] - mean) * (input[base + i] - mean) / width;
    double inverse = 1 / std::sqrt(square + getEpsilon().convertToDouble());
    for (int64_t i = 0; i < width; ++i) {
      h[i] = (input[base + i] - mean) * inverse;
      double g = grad[base + i] * (weight[i] + offset);
      meanG += layer ? g / width : 0;
      meanGH += g * h[i] / width;
      results[1][i] += grad[base + i] * h[i];
      if (getBiasGrad())
        results[2][i] += grad[base + i];
    }
    for (int64_t i = 0; i < width; ++i)
      results[0][base + i] =
          (grad[base + i] * (weight[i] + offset) - meanG - h[i] * meanGH) *
          inverse;
  }
  return success();
}

LogicalResult ActivationGradientOp::evaluate(EvaluationContext &,
                                             Tensors operands,
                                             Results &results) {
  ReferenceTensor result = operands[0];
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] *= activateGradient(getKind(), operands[1][i]);
  results.push_back(std::move(result));
  return success();
}

LogicalResult SoftcapGradientOp::evaluate(EvaluationContext &, Tensors operands,
                                          Results &results) {
  ReferenceTensor result = operands[0];
  double cap = getCap().convertToDouble();
  for (int64_t i = 0; i < result.size(); ++i) {
    double share = operands[1][i] / cap;
    result[i] *= 1 - share * share;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult GatedGradientOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  ReferenceTensor gate = operands[0], up = operands[0];
  for (int64_t i = 0; i < gate.size(); ++i) {
    gate[i] *= operands[2][i] * activateGradient(getKind(), operands[1][i]);
    up[i] *= activate(getKind(), operands[1][i]);
  }
  results.push_back(std::move(gate));
  results.push_back(std::move(up));
  return success();
}

LogicalResult SumHeadsOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t heads = operands[0].dim(2), whole = operands[0].dim(3);
  int64_t width = result.dim(3);
  for (int64_t i = 0; i < result.size(); ++i)
    for (int64_t h = 0; h < heads; ++h)
      result[i] += operands[0][(i / width * heads + h) * whole + i % width];
  results.push_back(std::move(result));
  return success();
}

LogicalResult GatherChoicesGradientOp::evaluate(EvaluationContext &,
                                                Tensors operands,
                                                Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t rows = result.dim(0), positions = result.dim(1),
          choices = operands[0].dim(2);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t s = 0; s < positions; ++s)
      result[row * positions + s] =
          operands[0][((row - row % choices) * positions + s) * choices +
                      row % choices];
  results.push_back(std::move(result));
  return success();
}

LogicalResult PlaceRowsGradientOp::evaluate(EvaluationContext &,
                                            Tensors operands,
                                            Results &results) {
  ReferenceTensor result = operands[0];
  int64_t width = result.dim(2);
  for (int64_t i = 0; i < result.size(); ++i)
    if (operands[1][i / width] >= 0)
      result[i] = 0;
  results.push_back(std::move(result));
  return success();
}

LogicalResult PlacedRowsGradientOp::evaluate(EvaluationContext &,
                                             Tensors operands,
                                             Results &results) {
  const ReferenceTensor &grad = operands[0], &rows = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = grad.dim(2);
  auto add = [&](int64_t token, int64_t to) {
    for (int64_t h = 0; h < width; ++h)
      result[to * width + h] += grad[token * width + h];
  };
  if (failed(eachPlacedRow(*this, rows, result, add)))
    return failure();
  results.push_back(std::move(result));
  return success();
}

LogicalResult RowGateGradientOp::evaluate(EvaluationContext &, Tensors operands,
                                          Results &results) {
  ReferenceTensor input = operands[0], gate = operands[2];
  int64_t width = input.dim(-1);
  for (int64_t row = 0; row < gate.size(); ++row) {
    double open = 1 / (1 + std::exp(-operands[2][row])), sum = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      sum += operands[0][i] * operands[1][i];
      input[i] *= open;
    }
    gate[row] = open * (1 - open) * sum;
  }
  results.push_back(std::move(input));
  results.push_back(std::move(gate));
  return success();
}

LogicalResult CrossEntropyGradientOp::evaluate(EvaluationContext &,
                                               Tensors operands,
                                               Results &results) {
  const ReferenceTensor &logits = operands[1], &labels = operands[2],
                        &lse = operands[3];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t vocab = logits.dim(-1), valid = getValidVocab(), first = 0;
  double count = 0;
  for (double label : labels.values)
    count += label >= 0;
  if (getCount())
    count = operands[4][0];
  if (getFirstColumn())
    first = static_cast<int64_t>(operands.back()[0]);
  for (int64_t row = 0; row < labels.size(); ++row) {
    int64_t label = static_cast<int64_t>(labels[row]);
    if (label >= valid)
      return emitOpError("is given the label ")
             << label << " of a vocabulary of " << valid;
    int64_t end = std::min(vocab, valid - first);
    for (int64_t c = 0; label >= 0 && c < end; ++c)
      result[row * vocab + c] =
          operands[0][0] / count *
          (std::exp(logits[row * vocab + c] - lse[row]) - (first + c == label));
  }
  results.push_back(std::move(result));
  return success();
}
