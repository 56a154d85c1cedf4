//===- EvaluateAttention.cpp - Reference evaluation of attention ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfOps.h"
#include "dialects/xf/reference/ScalarMath.h"
#include "kernels/reference/Alibi.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

namespace {
/// One call's sizes and mask, the same forward and backward.
struct Attention {
  int64_t batch, queries, keys, heads, groups, width;
  double scale, softcap;
  bool alibi;
  double dropout;
  bool causal;
  int64_t window;
  uint32_t stream;
  SmallVector<int64_t, 3> whole; ///< sequences, heads, positions
  SmallVector<int64_t, 4> place; ///< first query, key, sequence, head
  int64_t part, rounds;
  const ReferenceTensor *positions; ///< As the op has them; null: none.
  const ReferenceTensor *bias;      ///< Likewise.
  const EvaluationContext &context;

  int64_t query(int64_t b, int64_t s, int64_t h) const {
    return ((b * queries + s) * heads + h) * width;
  }
  int64_t key(int64_t b, int64_t s, int64_t h) const {
    return ((b * keys + s) * groups + h / (heads / groups)) * width;
  }
  int64_t queryPosition(int64_t i) const {
    return storedPosition(place[0] + i, part, rounds, whole[2]);
  }
  int64_t keyPosition(int64_t j) const {
    return storedPosition(place[1] + j, part, rounds, whole[2]);
  }
  bool sees(int64_t b, int64_t query, int64_t key) const {
    int64_t i = queryPosition(query), j = keyPosition(key);
    double bound = positions ? (*positions)[b * queries + query] : 0;
    if (positions && (causal ? double(j) < double(i) - bound : j >= bound))
      return false;
    return !(causal && j > i) && !(window > 0 && j <= i - window);
  }
  double score(const ReferenceTensor &q, const ReferenceTensor &k, int64_t b,
               int64_t h, int64_t i, int64_t j) const {
    int64_t qAt = query(b, i, h), kAt = key(b, j, h);
    double sum = 0;
    for (int64_t d = 0; d < width; ++d)
      sum += q[qAt + d] * k[kAt + d];
    if (bias)
      return sum * scale + (*bias)[biasOf(h, i, j)];
    if (alibi)
      return sum * scale -
             hocket::kernels::alibiSlope(place[3] + h, whole[1]) *
                 static_cast<double>(queryPosition(i) - keyPosition(j));
    return softcap > 0 ? softcap * std::tanh(sum * scale / softcap)
                       : sum * scale;
  }
  /// Where the bias of a query and a key is.
  int64_t biasOf(int64_t h, int64_t query, int64_t key) const {
    int64_t reach = bias->dim(0) / 2;
    int64_t behind = keyPosition(key) - queryPosition(query);
    return (std::clamp(behind, -reach, reach) + reach) * heads + h;
  }
  /// The derivative of a score by the sum that it is made of.
  double slope(double score) const {
    double share = softcap > 0 ? score / softcap : 0;
    return (1 - share * share) * scale;
  }
  /// Dropout's factor of probability (b, h, i, j).
  double keep(int64_t b, int64_t h, int64_t query, int64_t key) const {
    int64_t i = queryPosition(query), j = keyPosition(key);
    int64_t elements = whole[0] * whole[1] * whole[2] * whole[2];
    int64_t row = (place[2] + b) * whole[1] + place[3] + h;
    int64_t index = (row * whole[2] + i) * whole[2] + j;
    return context.keepScale(dropout, stream, elements, index);
  }
};
} // namespace

template <typename OpT>
static Attention attentionOf(OpT op, Tensors operands, unsigned tensors,
                             const EvaluationContext &context) {
  auto q = cast<ShapedType>(op.getQuery().getType()).getShape();
  auto k = cast<ShapedType>(op.getKey().getType()).getShape();
  unsigned bias = tensors + bool(op.getPositions());
  uint32_t stream = static_cast<uint32_t>(op.getStream()) * 65536;
  if (op.getInstance())
    stream += static_cast<uint32_t>(operands[bias + bool(op.getBias())][0]);
  SmallVector<int64_t, 3> whole{q[0], q[2], std::max(q[1], k[1])};
  SmallVector<int64_t, 4> place(4, 0);
  if (op.getWhole()) {
    whole.assign(op.getWhole()->begin(), op.getWhole()->end());
    for (auto [to, from] : llvm::zip(place, operands.take_back(4)))
      to = static_cast<int64_t>(from[0]);
    int64_t behind = op.getBehind();
    place[1] = (place[1] + whole[2] - behind) % whole[2];
  }
  return {q[0],
          q[1],
          k[1],
          q[2],
          k[2],
          q[3],
          op.getScale().convertToDouble(),
          op.getSoftcap().convertToDouble(),
          op.getAlibi(),
          op.getDropout().convertToDouble(),
          op.getCausal(),
          static_cast<int64_t>(op.getWindow()),
          stream,
          whole,
          place,
          static_cast<int64_t>(op.getPart()),
          static_cast<int64_t>(op.getRounds()),
          op.getPositions() ? &operands[tensors] : nullptr,
          op.getBias() ? &operands[bias] : nullptr,
          context};
}

/// One query row: its log-sum-exp, and its output row added to `result`.
static double attend(const Attention &a, Tensors operands, int64_t b, int64_t h,
                     int64_t i, ReferenceTensor &result) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2];
  std::vector<double> scores(a.keys, -HUGE_VAL);
  double greatest = -HUGE_VAL, sum = 0;
  for (int64_t j = 0; j < a.keys; ++j)
    if (a.sees(b, i, j)) {
      scores[j] = a.score(q, k, b, h, i, j);
      greatest = std::max(greatest, scores[j]);
    }
  for (int64_t j = 0; j < a.keys; ++j)
    if (a.sees(b, i, j))
      sum += std::exp(scores[j] - greatest);
  double lse = greatest + std::log(sum);
  for (int64_t j = 0; j < a.keys; ++j) {
    if (!a.sees(b, i, j))
      continue;
    double p = std::exp(scores[j] - lse) * a.keep(b, h, i, j);
    for (int64_t d = 0; d < a.width; ++d)
      result[a.query(b, i, h) + d] += p * v[a.key(b, j, h) + d];
  }
  return lse;
}

LogicalResult AttentionOp::evaluate(EvaluationContext &context,
                                    Tensors operands, Results &results) {
  Attention a = attentionOf(*this, operands, 3, context);
  ReferenceTensor result = zerosOf(getResult().getType());
  ReferenceTensor lse = zerosOf(getLse().getType());
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i)
        lse[(b * a.heads + h) * a.queries + i] =
            attend(a, operands, b, h, i, result);
  results.push_back(std::move(result));
  results.push_back(std::move(lse));
  return success();
}

/// Adds one query row's part to the gradients. Operands are grad, query, key,
/// value, output, lse; gradients by query, key, value and bias.
static void attendGradient(const Attention &a, Tensors operands, int64_t b,
                           int64_t h, int64_t i, Results &gradients) {
  const ReferenceTensor &grad = operands[0], &q = operands[1], &k = operands[2],
                        &v = operands[3], &output = operands[4],
                        &lse = operands[5];
  int64_t row = a.query(b, i, h);
  double delta = 0;
  for (int64_t d = 0; d < a.width; ++d)
    delta += grad[row + d] * output[row + d];
  for (int64_t j = 0; j < a.keys; ++j) {
    if (!a.sees(b, i, j))
      continue;
    int64_t column = a.key(b, j, h);
    double score = a.score(q, k, b, h, i, j);
    double p = std::exp(score - lse[(b * a.heads + h) * a.queries + i]);
    double keep = a.keep(b, h, i, j), dp = 0;
    for (int64_t d = 0; d < a.width; ++d) {
      dp += grad[row + d] * v[column + d];
      gradients[2][column + d] += p * keep * grad[row + d];
    }
    double ds = p * (keep * dp - delta);
    if (a.bias)
      gradients[3][a.biasOf(h, i, j)] += ds;
    ds *= a.slope(score);
    for (int64_t d = 0; d < a.width; ++d) {
      gradients[0][row + d] += ds * k[column + d];
      gradients[1][column + d] += ds * q[row + d];
    }
  }
}

LogicalResult AttentionGradientOp::evaluate(EvaluationContext &context,
                                            Tensors operands,
                                            Results &results) {
  Attention a = attentionOf(*this, operands, 6, context);
  for (Value result : getResults())
    results.push_back(zerosOf(result.getType()));
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i)
        attendGradient(a, operands, b, h, i, results);
  return success();
}
