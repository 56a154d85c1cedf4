//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Attention.h"

#include <cmath>
#include <limits>
#include <vector>

namespace hocket::kernels {
namespace {

/// Where the rows of one query and of its keys start.
struct Row {
  const AttentionShape &s;
  int64_t b, h, i;

  int64_t query() const {
    return ((b * s.queries + i) * s.heads + h) * s.headDim;
  }
  int64_t key(int64_t j) const {
    int64_t g = h / (s.heads / s.kvHeads);
    return ((b * s.keys + j) * s.kvHeads + g) * s.headDim;
  }
  int64_t statistic() const { return (b * s.heads + h) * s.queries + i; }
  int64_t position() const { return positionOf(s, s.place.firstQuery, i); }
  bool sees(int64_t j) const {
    int64_t key = positionOf(s, s.place.firstKey, j);
    return key >= firstKey(s, b, i, position()) &&
           key < lastKey(s, b, i, position());
  }
  int64_t bias(int64_t j) const {
    int64_t key = positionOf(s, s.place.firstKey, j);
    return biasRow(s, key - position()) * s.heads + h;
  }
  double mask(int64_t j) const {
    if (s.dropout <= 0)
      return 1;
    int64_t element =
        randomElement(s, b, h, position(), positionOf(s, s.place.firstKey, j));
    bool kept = randomWord(s.random, element) >= dropoutThreshold(s.dropout);
    return kept ? 1 / (1 - static_cast<double>(s.dropout)) : 0;
  }
};

/// Of a query and key `j`, with their product.
double scoreOf(const Row &row, int64_t j, double product) {
  const AttentionShape &s = row.s;
  double score = cappedScore(s.softcap, static_cast<double>(s.scale) * product);
  if (s.bias)
    return score + static_cast<double>(s.bias[row.bias(j)]);
  if (!s.alibi)
    return score;
  int64_t key = positionOf(s, s.place.firstKey, j);
  return score - slopeOf(s, row.h) * static_cast<double>(row.position() - key);
}

template <typename Fn> void forEachRow(const AttentionShape &s, Fn fn) {
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i)
        fn(Row{s, b, h, i});
}

double dot(ConstView a, int64_t i, ConstView b, int64_t j, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += load(a, i + c) * load(b, j + c);
  return sum;
}

/// y[at + c] += factor * x[from + c].
void add(View y, int64_t at, double factor, ConstView x, int64_t from,
         int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    store(y, at + c, load(y, at + c) + factor * load(x, from + c));
}

void clear(View y, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    store(y, i, 0);
}

/// Calls `fn` with the keys that a query sees.
template <typename Fn> void forEachKey(const Row &row, Fn fn) {
  for (int64_t j = 0; j < row.s.keys; ++j)
    if (row.sees(j))
      fn(j);
}

/// Sums in double whatever the type of the result.
struct Accumulator {
  std::vector<double> sums;
  View result;
  Accumulator(View result, int64_t n) : sums(n), result(result) {}
  operator View() { return {sums.data(), DType::F64}; }
  ~Accumulator() {
    for (size_t i = 0; i < sums.size(); ++i)
      store(result, static_cast<int64_t>(i), sums[i]);
  }
};

} // namespace

KernelError reference::attentionForward(const AttentionForwardArguments &args) {
  const AttentionShape &s = args.shape;
  Accumulator o(args.o, s.batch * s.queries * s.heads * s.headDim);
  std::vector<double> scores(s.keys);
  forEachRow(s, [&](Row row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    forEachKey(row, [&](int64_t j) {
      scores[j] = scoreOf(
          row, j, dot(args.q, row.query(), args.k, row.key(j), s.headDim));
      largest = std::max(largest, scores[j]);
    });
    forEachKey(row, [&](int64_t j) { sum += std::exp(scores[j] - largest); });
    double lse = largest + std::log(sum);
    forEachKey(row, [&](int64_t j) {
      add(o, row.query(), row.mask(j) * std::exp(scores[j] - lse), args.v,
          row.key(j), s.headDim);
    });
    store(args.lse, row.statistic(), lse);
  });
  return nullptr;
}

KernelError
reference::attentionBackward(const AttentionBackwardArguments &args) {
  const AttentionShape &s = args.shape;
  int64_t keys = s.batch * s.keys * s.kvHeads * s.headDim;
  Accumulator dq(args.dq, s.batch * s.queries * s.heads * s.headDim);
  Accumulator dk(args.dk, keys), dv(args.dv, keys);
  Accumulator dBias({args.dBias, DType::F32},
                    s.bias ? (2 * s.reach + 1) * s.heads : 0);
  clear(args.delta, s.batch * s.heads * s.queries);
  double scale = s.scale;
  forEachRow(s, [&](Row row) {
    double lse = load(args.lse, row.statistic());
    double delta = dot(args.dO, row.query(), args.o, row.query(), s.headDim);
    store(args.delta, row.statistic(), delta);
    forEachKey(row, [&](int64_t j) {
      int64_t key = row.key(j);
      double score =
          scoreOf(row, j, dot(args.q, row.query(), args.k, key, s.headDim));
      double share = s.softcap > 0 ? score / s.softcap : 0;
      double p = std::exp(score - lse), mask = row.mask(j);
      double dp = mask * dot(args.dO, row.query(), args.v, key, s.headDim);
      double ds = p * (dp - delta) * (1 - share * share);
      if (s.bias)
        dBias.sums[row.bias(j)] += ds;
      add(dq, row.query(), scale * ds, args.k, key, s.headDim);
      add(dk, key, scale * ds, args.q, row.query(), s.headDim);
      add(dv, key, mask * p, args.dO, row.query(), s.headDim);
    });
  });
  return nullptr;
}

} // namespace hocket::kernels
