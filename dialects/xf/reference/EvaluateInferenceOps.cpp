//===- EvaluateInferenceOps.cpp - Reference evaluation of writing ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"
#include "dialects/xf/reference/ScalarMath.h"
#include "kernels/reference/Alibi.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

LogicalResult RopeTableAtOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t pairs = result.dim(-2);
  for (int64_t t = 0; t < operands[0].size(); ++t)
    for (int64_t i = 0; i < pairs; ++i) {
      double angle = operands[0][t] * getInverseFrequencies()[i];
      result[(t * pairs + i) * 2] = std::cos(angle);
      result[(t * pairs + i) * 2 + 1] = std::sin(angle);
    }
  results.push_back(std::move(result));
  return success();
}

namespace {

/// One evaluation of the op.
struct CachedAttention {
  CachedAttentionOp op;
  Tensors operands;
  ReferenceTensor keys, values, result;
  int64_t heads, groups, width, page;

  CachedAttention(CachedAttentionOp op, Tensors operands)
      : op(op), operands(operands), keys(operands[6]), values(operands[7]),
        result(zerosOf(op.getResult().getType())), heads(operands[0].dim(2)),
        groups(operands[1].dim(2)), width(operands[0].dim(3)),
        page(operands[6].dim(1)) {}

  int64_t position(int64_t t) const {
    return static_cast<int64_t>(operands[3][t]);
  }
  int64_t row(int64_t t) const { return static_cast<int64_t>(operands[4][t]); }

  /// Where head `g` of position `p` of `row` is kept; -1 if nowhere.
  int64_t entry(int64_t row, int64_t p, int64_t g) const {
    const ReferenceTensor &table = operands[5];
    if (row < 0 || row >= table.dim(0) || p < 0 || p / page >= table.dim(1))
      return -1;
    auto at = static_cast<int64_t>(table[row * table.dim(1) + p / page]);
    if (at < 0 || at >= keys.dim(0))
      return -1;
    return ((at * page + p % page) * groups + g) * width;
  }

  LogicalResult keep(int64_t t) {
    for (int64_t g = 0; g < groups; ++g) {
      int64_t to = entry(row(t), position(t), g);
      if (to < 0)
        return op.emitOpError("is given a token that no page is for");
      for (int64_t c = 0; c < width; ++c) {
        keys[to + c] = operands[1][(t * groups + g) * width + c];
        values[to + c] = operands[2][(t * groups + g) * width + c];
      }
    }
    return success();
  }

  double slopeOf(int64_t h) {
    if (!op.getFirstHead())
      return hocket::kernels::alibiSlope(h, heads);
    return hocket::kernels::alibiSlope(
        static_cast<int64_t>(operands[8][0]) + h,
        static_cast<int64_t>(op.getWholeHeads()));
  }

  /// Of a key so far before its query.
  double biasOf(int64_t h, int64_t before) {
    if (!op.getBias())
      return 0;
    const ReferenceTensor &bias = operands.back();
    int64_t reach = bias.dim(0) / 2;
    return bias[(reach - std::min(before, reach)) * heads + h];
  }

  void attend(int64_t t, int64_t h) {
    int64_t last = position(t), window = op.getWindow(), g = h * groups / heads;
    int64_t first = window > 0 ? std::max<int64_t>(0, last - window + 1) : 0;
    int64_t query = (t * heads + h) * width;
    double scale = op.getScale().convertToDouble(), sum = 0;
    double cap = op.getSoftcap().convertToDouble();
    SmallVector<double> weights;
    for (int64_t p = first; p <= last; ++p) {
      double score = 0;
      for (int64_t c = 0; c < width; ++c)
        score += operands[0][query + c] * keys[entry(row(t), p, g) + c];
      score *= scale;
      if (op.getAlibi())
        score -= slopeOf(h) * static_cast<double>(last - p);
      score += biasOf(h, last - p);
      weights.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
    }
    double greatest = *llvm::max_element(weights);
    for (double &weight : weights)
      sum += weight = std::exp(weight - greatest);
    for (int64_t p = first; p <= last; ++p)
      for (int64_t c = 0; c < width; ++c)
        result[query + c] +=
            weights[p - first] / sum * values[entry(row(t), p, g) + c];
  }
};

} // namespace

LogicalResult CachedAttentionOp::evaluate(EvaluationContext &, Tensors operands,
                                          Results &results) {
  CachedAttention attention(*this, operands);
  int64_t tokens = operands[0].dim(0);
  for (int64_t t = 0; t < tokens; ++t)
    if (attention.row(t) != -1 && failed(attention.keep(t)))
      return failure();
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; attention.row(t) != -1 && h < attention.heads; ++h)
      attention.attend(t, h);
  results.push_back(std::move(attention.result));
  results.push_back(std::move(attention.keys));
  results.push_back(std::move(attention.values));
  return success();
}
