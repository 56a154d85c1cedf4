//===- EvaluateRouterOps.cpp - Reference evaluation of routers ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfOps.h"
#include "kernels/reference/Router.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;
using Row = std::vector<double>;

/// Added to a sum of scores before it divides: all of them may be 0.
static constexpr double tiny = 1e-20;

static Row logitsOf(const ReferenceTensor &logits, int64_t token) {
  auto begin = logits.values.begin() + token * logits.dim(-1);
  return Row(begin, begin + logits.dim(-1));
}

static double logSumExp(const Row &logits) {
  double greatest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (double logit : logits)
    sum += std::exp(logit - greatest);
  return greatest + std::log(sum);
}

/// The softmax or the sigmoids of one token's logits.
static Row scoresOf(const Row &logits, RouterScores kind) {
  double shift = kind == RouterScores::Softmax ? logSumExp(logits) : 0;
  Row scores;
  for (double logit : logits)
    scores.push_back(kind == RouterScores::Softmax
                         ? std::exp(logit - shift)
                         : 1 / (1 + std::exp(-logit)));
  return scores;
}

/// The scores divided by their sum.
static Row normalised(Row scores) {
  double sum = std::accumulate(scores.begin(), scores.end(), tiny);
  for (double &score : scores)
    score /= sum;
  return scores;
}

/// The gradient by one token's logits from that by its scores.
static Row throughScores(const Row &grad, const Row &scores,
                         RouterScores kind) {
  double mean = 0;
  for (size_t e = 0; e < grad.size(); ++e)
    mean += grad[e] * scores[e];
  Row result;
  for (size_t e = 0; e < grad.size(); ++e)
    result.push_back(kind == RouterScores::Softmax
                         ? scores[e] * (grad[e] - mean)
                         : scores[e] * (1 - scores[e]) * grad[e]);
  return result;
}

/// The indices of the `count` greatest, the greatest first, of equals the
/// first.
static std::vector<int64_t> greatest(const Row &values, int64_t count) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  order.resize(count);
  return order;
}

/// The experts of one token by its biased scores.
static std::vector<int64_t> chooseExperts(RouterOp op, Row biased) {
  auto topK = static_cast<int64_t>(op.getTopK());
  auto groups = static_cast<int64_t>(op.getGroups());
  auto kept = static_cast<int64_t>(op.getTopkGroups());
  int64_t length = static_cast<int64_t>(biased.size()) / groups;
  Row worth;
  for (int64_t g = 0; g < groups; ++g) {
    Row group(biased.begin() + g * length, biased.begin() + (g + 1) * length);
    double sum = 0;
    int64_t counted = std::min(std::max<int64_t>(1, topK / kept), length);
    for (int64_t e : greatest(group, counted))
      sum += group[e];
    worth.push_back(sum);
  }
  std::vector<int64_t> open = greatest(worth, kept);
  for (int64_t e = 0; e < groups * length; ++e)
    if (std::find(open.begin(), open.end(), e / length) == open.end())
      biased[e] = -HUGE_VAL;
  return greatest(biased, topK);
}

/// What decides with a bias: scores and the bias, or logits and their
/// sequence's.
static Row biasedOf(RouterOp op, Tensors operands, int64_t token,
                    const Row &scores) {
  bool bySequence =
      cast<RankedTensorType>(op.getBias().getType()).getRank() > 1;
  Row row = bySequence ? logitsOf(operands[0], token) : scores;
  auto first = operands[1].values.begin();
  if (bySequence) {
    int64_t width = operands[0].dim(-1);
    int64_t each = operands[0].size() / width / operands[1].dim(0);
    first += token / each * width;
  }
  for (double &x : row)
    x += *first++;
  return row;
}

LogicalResult RouterOp::evaluate(EvaluationContext &, Tensors operands,
                                 Results &results) {
  ReferenceTensor weights = zerosOf(getWeights().getType());
  ReferenceTensor experts = zerosOf(getExperts().getType());
  int64_t topK = weights.dim(-1);
  for (int64_t t = 0; t < weights.size() / topK; ++t) {
    Row scores = scoresOf(logitsOf(operands[0], t), getScores());
    Row biased = scores;
    if (getBias())
      biased = biasedOf(*this, operands, t, scores);
    std::vector<int64_t> chosen = chooseExperts(*this, biased);
    double sum = tiny;
    for (int64_t expert : chosen)
      sum += scores[expert];
    double factor = getScale().convertToDouble() / (getRenormalise() ? sum : 1);
    for (int64_t j = 0; j < topK; ++j) {
      experts[t * topK + j] = static_cast<double>(chosen[j]);
      weights[t * topK + j] = scores[chosen[j]] * factor;
    }
  }
  results.push_back(std::move(weights));
  results.push_back(std::move(experts));
  return success();
}

/// Without the overflow of exp, as rows' scales do not count: by the greatest
/// logit of each row.
LogicalResult SinkhornOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  using namespace hocket::kernels;
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t sequences = result.dim(0), experts = result.dim(1);
  int64_t tokens = operands[0].dim(1);
  for (int64_t s = 0; s < sequences; ++s) {
    std::vector<Row> matrix;
    for (int64_t t = 0; t < tokens; ++t) {
      Row row = logitsOf(operands[0], s * tokens + t);
      double most = *std::max_element(row.begin(), row.end());
      for (double &x : row)
        x = std::exp(x - most);
      matrix.push_back(row);
    }
    Row columns(experts, 1.0);
    double change = HUGE_VAL;
    for (int round = 0; round < kSinkhornRounds && change > kSinkhornTolerance;
         ++round) {
      Row sums(experts, 0.0);
      for (const Row &row : matrix) {
        double dot = std::inner_product(row.begin(), row.end(), columns.begin(),
                                        kSinkhornTiny);
        for (int64_t e = 0; e < experts; ++e)
          sums[e] += row[e] / (static_cast<double>(tokens) * dot);
      }
      change = 0;
      for (int64_t e = 0; e < experts; ++e) {
        double next =
            1 / (static_cast<double>(experts) * (sums[e] + kSinkhornTiny));
        change += std::abs(next - columns[e]) / static_cast<double>(experts);
        columns[e] = next;
      }
    }
    for (int64_t e = 0; e < experts; ++e)
      result[s * experts + e] = std::log(columns[e]);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult RouterGradientOp::evaluate(EvaluationContext &, Tensors operands,
                                         Results &results) {
  const ReferenceTensor &grad = operands[0], &chosen = operands[2];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t topK = grad.dim(-1), experts = result.dim(-1);
  double scale = getScale().convertToDouble();
  for (int64_t t = 0; t < grad.size() / topK; ++t) {
    Row scores = scoresOf(logitsOf(operands[1], t), getScores());
    double sum = tiny, dot = 0;
    for (int64_t at = t * topK; at < (t + 1) * topK; ++at) {
      double score = scores[static_cast<int64_t>(chosen[at])];
      sum += score;
      dot += grad[at] * score;
    }
    Row scoreGrad(experts, 0.0);
    for (int64_t at = t * topK; at < (t + 1) * topK; ++at)
      scoreGrad[static_cast<int64_t>(chosen[at])] =
          getRenormalise() ? scale * (grad[at] - dot / sum) / sum
                           : scale * grad[at];
    Row row = throughScores(scoreGrad, scores, getScores());
    std::copy(row.begin(), row.end(), result.values.begin() + t * experts);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult RouterProbabilitiesOp::evaluate(EvaluationContext &,
                                              Tensors operands,
                                              Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t experts = result.dim(-1), tokens = operands[0].size() / experts;
  int64_t each = tokens / (result.size() / experts);
  for (int64_t t = 0; t < tokens; ++t) {
    Row row = normalised(scoresOf(logitsOf(operands[0], t), getScores()));
    for (int64_t e = 0; e < experts; ++e)
      result[t / each * experts + e] += row[e];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult RouterProbabilitiesGradientOp::evaluate(EvaluationContext &,
                                                      Tensors operands,
                                                      Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t experts = result.dim(-1), tokens = result.size() / experts;
  int64_t each = tokens / (operands[0].size() / experts);
  for (int64_t t = 0; t < tokens; ++t) {
    Row scores = scoresOf(logitsOf(operands[1], t), getScores());
    Row share = normalised(scores);
    int64_t own = t / each * experts; // the gradients by its sequence's sums
    double mean = 0;
    for (int64_t e = 0; e < experts; ++e)
      mean += operands[0][own + e] * share[e];
    for (int64_t e = 0; e < experts; ++e)
      result[t * experts + e] =
          share[e] * (operands[0][own + e] - mean) *
          (getScores() == RouterScores::Sigmoid ? 1 - scores[e] : 1);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult RouterZLossOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  double sum = 0;
  for (int64_t t = 0; t < operands[0].size() / operands[0].dim(-1); ++t)
    sum += std::pow(logSumExp(logitsOf(operands[0], t)), 2);
  results.push_back(ReferenceTensor(ArrayRef<int64_t>{}, sum));
  return success();
}

LogicalResult RouterZLossGradientOp::evaluate(EvaluationContext &,
                                              Tensors operands,
                                              Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t experts = result.dim(-1);
  for (int64_t t = 0; t < result.size() / experts; ++t) {
    Row logits = logitsOf(operands[1], t);
    double lse = logSumExp(logits);
    for (int64_t e = 0; e < experts; ++e)
      result[t * experts + e] =
          2 * operands[0][0] * lse * std::exp(logits[e] - lse);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult ExpertCountsOp::evaluate(EvaluationContext &, Tensors operands,
                                       Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t experts = result.dim(-1);
  int64_t each = operands[0].size() / (result.size() / experts);
  for (int64_t i = 0; i < operands[0].size(); ++i) {
    double expert = operands[0][i];
    if (expert < 0 || expert >= static_cast<double>(experts))
      return emitOpError("is given the expert ") << expert << " of " << experts;
    result[i / each * experts + static_cast<int64_t>(expert)] += 1;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult BalanceBiasOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  ReferenceTensor result = operands[0];
  const ReferenceTensor &counts = operands[1];
  double mean =
      std::accumulate(counts.values.begin(), counts.values.end(), 0.0) /
      static_cast<double>(counts.size());
  for (int64_t e = 0; operands[2][0] == 0 && e < result.size(); ++e)
    result[e] +=
        getRate().convertToDouble() * ((counts[e] < mean) - (counts[e] > mean));
  results.push_back(std::move(result));
  return success();
}
