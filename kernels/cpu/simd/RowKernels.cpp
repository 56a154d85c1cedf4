//===- RowKernels.cpp - Copies, rotations and reductions of rows ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/Kernels.h"
#include "kernels/cpu/simd/VectorMath.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

void copyRow(ConstView from, int64_t start, View to, int64_t at, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth)
    storeFirst(to, at + i, loadFirst(from, start + i, n - i), n - i);
}

void addRow(ConstView from, int64_t start, float *to, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth)
    storeFirst(to + i,
               add(loadFirst(to + i, n - i), loadFirst(from, start + i, n - i)),
               n - i);
}

void ropeToken(const RopeArguments &args, int64_t token) {
  int64_t half = args.rotated / 2;
  auto *table = static_cast<const float *>(args.table.data) +
                token % args.sequence * args.rotated;
  for (int64_t i = 0; i < half; i += kWidth) {
    int64_t n = half - i < kWidth ? half - i : kWidth;
    alignas(64) float c[kWidth] = {}, s[kWidth] = {};
    for (int64_t lane = 0; lane < n; ++lane) {
      c[lane] = table[2 * (i + lane)];
      s[lane] = table[2 * (i + lane) + 1];
    }
    Vec cosine = load(c);
    Vec sine = args.inverse ? sub(zero(), load(s)) : load(s);
    for (int64_t h = 0; h < args.heads; ++h) {
      int64_t at = (token * args.heads + h) * args.headDim + i;
      Vec x0 = loadFirst(args.x, at, n), x1 = loadFirst(args.x, at + half, n);
      storeFirst(args.y, at, fnma(x1, sine, mul(x0, cosine)), n);
      storeFirst(args.y, at + half, fma(x0, sine, mul(x1, cosine)), n);
    }
  }
  if (args.y.data == args.x.data)
    return;
  for (int64_t h = 0; h < args.heads; ++h)
    for (int64_t i = args.rotated; i < args.headDim; i += kWidth) {
      int64_t n = args.headDim - i < kWidth ? args.headDim - i : kWidth;
      int64_t at = (token * args.heads + h) * args.headDim + i;
      storeFirst(args.y, at, loadFirst(args.x, at, n), n);
    }
}

/// Lanes from n on are -infinity.
HOCKET_INLINE Vec loadLogits(ConstView v, int64_t i, int64_t n) {
  Vec x = loadFirst(v, i, n);
  if (n >= kWidth)
    return x;
  alignas(64) float lanes[kWidth];
  store(lanes, x);
  for (int64_t lane = n; lane < kWidth; ++lane)
    lanes[lane] = -__builtin_inff();
  return load(lanes);
}

ExpSum expSum(ConstView logits, int64_t start, int64_t n) {
  Vec largest = broadcast(-__builtin_inff());
  for (int64_t i = 0; i < n; i += kWidth)
    largest = max(largest, loadLogits(logits, start + i, n - i));
  float top = maxOf(largest);
  // Four sums, each a quarter as long.
  Vec sums[4] = {zero(), zero(), zero(), zero()};
  for (int64_t i = 0, turn = 0; i < n; i += kWidth, ++turn) {
    Vec x = loadLogits(logits, start + i, n - i);
    sums[turn % 4] = add(sums[turn % 4], exp(sub(x, broadcast(top))));
  }
  return {top, sumOf(add(add(sums[0], sums[1]), add(sums[2], sums[3])))};
}

void softmaxGradient(const CrossEntropyBackwardArguments &args, int64_t token,
                     float mean) {
  int64_t row = token * args.vocab;
  int64_t label = args.labels[token] - args.firstColumn;
  int64_t valid = args.validColumns();
  float factor = args.labels[token] >= 0 ? mean : 0.0f;
  Vec lse = broadcast(static_cast<const float *>(args.lse.data)[token]);
  for (int64_t i = 0; i < args.vocab; i += kWidth) {
    int64_t n = args.vocab - i;
    Vec gradient = zero();
    if (factor != 0 && i < valid) {
      Vec x = loadLogits(args.logits, row + i, valid - i < n ? valid - i : n);
      gradient = exp(sub(x, lse));
      if (label >= i && label < i + kWidth) {
        alignas(64) float lanes[kWidth];
        store(lanes, gradient);
        lanes[label - i] -= 1;
        gradient = load(lanes);
      }
      gradient = mul(gradient, broadcast(factor));
    }
    storeFirst(args.dlogits, row + i, gradient, n);
  }
}

/// Several parts at a time, so that no sum waits for itself and memory is read
/// in as many places at once: one alone comes slower than it can be added.
double sumOfSquares(ConstView values, int64_t start, int64_t n) {
  constexpr int64_t parts = 4, ahead = 256;
  const auto *bytes = static_cast<const char *>(values.data);
  int64_t element = bytesOf(values.dtype);
  int64_t size = (n / parts + kWidth - 1) / kWidth * kWidth;
  DoubleSum sums[parts];
  for (int64_t i = 0; i < size; i += kWidth)
#pragma unroll
    for (int64_t part = 0; part < parts; ++part) {
      int64_t at = part * size + i;
      __builtin_prefetch(bytes + (start + at + ahead) * element);
      if (at < n)
        addSquares(sums[part], loadFirst(values, start + at, n - at));
    }
  double sum = 0;
  for (int64_t at = parts * size; at < n; at += kWidth)
    addSquares(sums[0], loadFirst(values, start + at, n - at));
  for (const DoubleSum &part : sums)
    sum += sumOf(part);
  return sum;
}

} // namespace

const RowKernels rowKernels = {copyRow, addRow,          ropeToken,
                               expSum,  softmaxGradient, sumOfSquares};

} // namespace hocket::kernels::HOCKET_ISA
