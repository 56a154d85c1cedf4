//===- EvaluateStateOps.cpp - State-space layers in f64 -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The recurrence as it is written, token by token, and its gradient with every
/// state kept.
///
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

//===----------------------------------------------------------------------===//
// The convolution
//===----------------------------------------------------------------------===//

namespace {
/// Calls `visit(output, input, weight)` with the indices of each product.
template <typename VisitFn>
void visitTaps(const ReferenceTensor &input, const ReferenceTensor &weight,
               VisitFn visit) {
  int64_t rows = input.dim(1), channels = input.dim(2), taps = weight.dim(1);
  for (int64_t at = 0; at < input.size(); ++at) {
    int64_t c = at % channels, s = at / channels % rows;
    for (int64_t k = std::max<int64_t>(0, taps - 1 - s); k < taps; ++k)
      visit(at, at - (taps - 1 - k) * channels, c * taps + k);
  }
}
} // namespace

LogicalResult CausalConvOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  const ReferenceTensor &input = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  if (getBias())
    for (int64_t i = 0; i < result.size(); ++i)
      result[i] = operands[2][i % input.dim(2)];
  visitTaps(input, weight, [&](int64_t out, int64_t in, int64_t w) {
    result[out] += weight[w] * input[in];
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult CausalConvGradientOp::evaluate(EvaluationContext &,
                                             Tensors operands,
                                             Results &results) {
  const ReferenceTensor &grad = operands[0], &input = operands[1],
                        &weight = operands[2];
  for (Value result : getResults())
    results.push_back(zerosOf(result.getType()));
  visitTaps(input, weight, [&](int64_t out, int64_t in, int64_t w) {
    results[0][in] += weight[w] * grad[out];
    results[1][w] += input[in] * grad[out];
  });
  if (getBiasGrad())
    for (int64_t i = 0; i < grad.size(); ++i)
      results[2][i % input.dim(2)] += grad[i];
  return success();
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

namespace {
/// One head of one sequence. `operands` are those of xf.state_scan.
class HeadScan {
public:
  HeadScan(Tensors operands, double least, std::optional<double> most,
           int64_t sequence, int64_t head)
      : operands(operands), least(least),
        most(most.value_or(std::numeric_limits<double>::infinity())),
        sequence(sequence), head(head), rows(operands[0].dim(1)),
        heads(operands[0].dim(2)), width(operands[0].dim(3)),
        groups(operands[2].dim(2)), state(operands[2].dim(3)) {}

  void forward(ReferenceTensor &result);
  /// Takes token `s` into the state and tells what it gives.
  void take(std::vector<double> &h, int64_t s, ReferenceTensor &result) const;
  /// Adds to the gradients, one an operand.
  void backward(const ReferenceTensor &grad, Results &grads);

private:
  int64_t stepAt(int64_t s) const {
    return (sequence * rows + s) * heads + head;
  }
  int64_t inputAt(int64_t s) const { return stepAt(s) * width; }
  int64_t mapAt(int64_t s) const {
    return ((sequence * rows + s) * groups + head / (heads / groups)) * state;
  }
  double raw(int64_t s) const {
    return operands[1][stepAt(s)] + operands[5][head];
  }
  double softplus(int64_t s) const {
    double x = raw(s);
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  double step(int64_t s) const {
    return std::min(std::max(softplus(s), least), most);
  }
  double rate() const { return -std::exp(operands[4][head]); }
  void advance(std::vector<double> &h, int64_t s) const;

  Tensors operands;
  double least, most;
  int64_t sequence, head, rows, heads, width, groups, state;
};
} // namespace

void HeadScan::advance(std::vector<double> &h, int64_t s) const {
  double d = step(s), keep = std::exp(rate() * d);
  for (int64_t p = 0; p < width; ++p)
    for (int64_t n = 0; n < state; ++n)
      h[p * state + n] =
          keep * h[p * state + n] +
          d * operands[0][inputAt(s) + p] * operands[2][mapAt(s) + n];
}

void HeadScan::take(std::vector<double> &h, int64_t s,
                    ReferenceTensor &result) const {
  advance(h, s);
  for (int64_t p = 0; p < width; ++p) {
    double sum = operands[6][head] * operands[0][inputAt(s) + p];
    for (int64_t n = 0; n < state; ++n)
      sum += h[p * state + n] * operands[3][mapAt(s) + n];
    result[inputAt(s) + p] = sum;
  }
}

void HeadScan::forward(ReferenceTensor &result) {
  std::vector<double> h(width * state);
  for (int64_t s = 0; s < rows; ++s)
    take(h, s, result);
}

void HeadScan::backward(const ReferenceTensor &grad, Results &grads) {
  // kept[s]: the state before token s.
  std::vector<std::vector<double>> kept(1, std::vector<double>(width * state));
  for (int64_t s = 0; s < rows; ++s) {
    kept.push_back(kept.back());
    advance(kept.back(), s);
  }
  std::vector<double> g(width * state); // by the state behind token s
  for (int64_t s = rows - 1; s >= 0; --s) {
    double d = step(s), keep = std::exp(rate() * d), byStep = 0, byKeep = 0;
    for (int64_t p = 0; p < width; ++p) {
      double dy = grad[inputAt(s) + p], x = operands[0][inputAt(s) + p];
      grads[6][head] += dy * x;
      grads[0][inputAt(s) + p] += operands[6][head] * dy;
      for (int64_t n = 0; n < state; ++n) {
        int64_t i = p * state + n;
        double b = operands[2][mapAt(s) + n];
        grads[3][mapAt(s) + n] += dy * kept[s + 1][i];
        g[i] += dy * operands[3][mapAt(s) + n];
        grads[0][inputAt(s) + p] += g[i] * d * b;
        grads[2][mapAt(s) + n] += g[i] * d * x;
        byStep += g[i] * x * b;
        byKeep += g[i] * kept[s][i];
        g[i] *= keep;
      }
    }
    byStep += byKeep * keep * rate();
    grads[4][head] += byKeep * keep * d * rate();
    double free = softplus(s);
    if (free < least || free > most)
      continue;
    double byRaw = byStep / (1 + std::exp(-raw(s)));
    grads[1][stepAt(s)] += byRaw;
    grads[5][head] += byRaw;
  }
}

/// Calls `visit` with every head of every sequence.
template <typename OpT, typename VisitFn>
static void visitHeads(OpT op, Tensors operands, VisitFn visit) {
  std::optional<double> most;
  if (op.getMost())
    most = op.getMost()->convertToDouble();
  for (int64_t b = 0; b < operands[0].dim(0); ++b)
    for (int64_t h = 0; h < operands[0].dim(2); ++h)
      visit(HeadScan(operands, op.getLeast().convertToDouble(), most, b, h));
}

LogicalResult StateScanOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  visitHeads(*this, operands, [&](HeadScan head) { head.forward(result); });
  results.push_back(std::move(result));
  return success();
}

LogicalResult StateScanGradientOp::evaluate(EvaluationContext &,
                                            Tensors operands,
                                            Results &results) {
  for (Value result : getResults())
    results.push_back(zerosOf(result.getType()));
  visitHeads(*this, operands.drop_front(),
             [&](HeadScan head) { head.backward(operands[0], results); });
  return success();
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

/// Calls `visit` with the token, the row and the position of all but padding.
template <typename OpT, typename VisitFn>
static LogicalResult visitTokens(OpT op, const ReferenceTensor &positions,
                                 const ReferenceTensor &rows, int64_t rowCount,
                                 VisitFn visit) {
  std::vector<int64_t> last(rowCount, -1);
  for (int64_t t = 0; t < rows.size(); ++t) {
    auto row = static_cast<int64_t>(rows[t]);
    auto position = static_cast<int64_t>(positions[t]);
    if (row == -1)
      continue;
    if (row < 0 || row >= rowCount || position < 0)
      return op.emitOpError("is given a token that no row is for");
    if (last[row] >= 0 && position != last[row] + 1)
      return op.emitOpError("is given tokens of a row out of order");
    last[row] = position;
    visit(t, row, position);
  }
  return success();
}

LogicalResult CachedConvOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  const ReferenceTensor &input = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  ReferenceTensor cache = operands.back();
  int64_t channels = input.dim(2), kept = weight.dim(1) - 1;
  auto take = [&](int64_t t, int64_t row, int64_t position) {
    for (int64_t c = 0; c < channels; ++c) {
      auto entry = [&](int64_t p) {
        return (row * kept + p % kept) * channels + c;
      };
      double own = input[t * channels + c],
             sum = getBias() ? operands[4][c] : 0;
      sum += weight[c * (kept + 1) + kept] * own;
      for (int64_t back = 1; back <= std::min(kept, position); ++back)
        sum += weight[c * (kept + 1) + kept - back] *
               cache[entry(position - back)];
      result[t * channels + c] = sum;
      cache[entry(position)] = own;
    }
  };
  if (failed(visitTokens(*this, operands[2], operands[3], cache.dim(0), take)))
    return failure();
  results.push_back(std::move(result));
  results.push_back(std::move(cache));
  return success();
}

LogicalResult CachedScanOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  ReferenceTensor states = operands[9];
  int64_t heads = states.dim(1), size = states.dim(2) * states.dim(3);
  std::optional<double> most;
  if (getMost())
    most = getMost()->convertToDouble();
  double least = getLeast().convertToDouble();
  auto take = [&](int64_t t, int64_t row, int64_t position) {
    for (int64_t h = 0; h < heads; ++h) {
      // Of the token, which is a sequence of its own.
      HeadScan head(operands, least, most, t, h);
      std::vector<double> state(size);
      int64_t first = (row * heads + h) * size;
      for (int64_t i = 0; position > 0 && i < size; ++i)
        state[i] = states[first + i];
      head.take(state, 0, result);
      for (int64_t i = 0; i < size; ++i)
        states[first + i] = state[i];
    }
  };
  if (failed(visitTokens(*this, operands[7], operands[8], states.dim(0), take)))
    return failure();
  results.push_back(std::move(result));
  results.push_back(std::move(states));
  return success();
}
