//===- NormalValues.cpp - Normally distributed numbers --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/NormalValues.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <numbers>

using namespace hocket;

// The same source for what processors have. In each function multiplications
// and additions stay apart, so that all of these give the same bits.
#define HOCKET_FOR_EACH_PROCESSOR                                              \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

namespace {

constexpr size_t most = 256; ///< pairs at a time

struct Pairs {
  double radius[most], angle[most]; ///< at first uniform in (0, 1) and [0, 1)
  double even[most], odd[most];
};

/// The natural logarithm of a normal number above 0: 2 artanh(s) of the
/// mantissa in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1), by its series.
[[gnu::always_inline]] inline double naturalLogarithm(double x) {
#pragma clang fp contract(off)
  auto bits = std::bit_cast<uint64_t>(x);
  // Counted from the mantissa of sqrt(1/2): the exponent that is left.
  constexpr uint64_t root = 0x3FE6A09E667F3BCDULL;
  uint64_t offset = bits - root;
  auto exponent = int64_t(offset) >> 52;
  auto m = std::bit_cast<double>(bits - (uint64_t(exponent) << 52));
  double s = (m - 1) / (m + 1), t = s * s;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2)
    series = series * t + 1.0 / k;
  // ln 2 in two parts, the first with few bits.
  constexpr double high = 0x1.62e42fefa38p-1, low = 0x1.ef35793c7673p-45;
  double e = double(int32_t(exponent));
  return e * high + (2 * s + (2 * s * (t * series) + e * low));
}

/// std::sqrt() may set errno, which keeps loops from being vectorized.
[[gnu::always_inline]] inline double squareRoot(double x) {
  return __builtin_elementwise_sqrt(x);
}

/// cos and sin of 2 pi `turn`, in [0, 1), by their series on an eighth of a
/// turn about the nearest quarter.
[[gnu::always_inline]] inline void cosineAndSine(double turn, double &cosine,
                                                 double &sine) {
#pragma clang fp contract(off)
  auto quarter = int32_t((turn + 0.125) * 4);
  double x = 2 * std::numbers::pi * (turn - double(quarter) * 0.25);
  double t = x * x;
  constexpr double c[] = {
      1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
      1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -1.0 / 2};
  constexpr double s[] = {1.0 / 355687428096000,
                          -1.0 / 1307674368000,
                          1.0 / 6227020800,
                          -1.0 / 39916800,
                          1.0 / 362880,
                          -1.0 / 5040,
                          1.0 / 120,
                          -1.0 / 6};
  double cosines = 0, sines = 0;
  for (size_t i = 0; i < std::size(c); ++i) {
    cosines = cosines * t + c[i];
    sines = sines * t + s[i];
  }
  double near = cosines * t + 1, across = x * (sines * t) + x;
  double first = quarter % 2 ? across : near;
  double second = quarter % 2 ? near : across;
  cosine = (quarter + 1) % 4 >= 2 ? -first : first;
  sine = quarter % 4 >= 2 ? -second : second;
}

/// Pairs of the blocks from `block` on.
HOCKET_FOR_EACH_PROCESSOR
void makePairs(const kernels::RandomStream &stream, uint64_t block,
               size_t count, Pairs &pairs) {
#pragma clang fp contract(off)
  constexpr double scale = 0x1p-64, wordScale = 0x1p32;
  for (size_t i = 0; i < count; ++i) {
    auto words = kernels::randomBlock(stream, block + i);
    double u = double(words[0]) * wordScale + double(words[1]);
    double v = double(words[2]) * wordScale + double(words[3]);
    pairs.radius[i] = (u + 0.5) * scale;
    pairs.angle[i] = v * scale;
  }
  for (size_t i = 0; i < count; ++i)
    pairs.radius[i] = squareRoot(-2 * naturalLogarithm(pairs.radius[i]));
  for (size_t i = 0; i < count; ++i) {
    double cosine, sine;
    // A v whose bits are all set rounds up to a whole turn.
    cosineAndSine(pairs.angle[i], cosine, sine);
    pairs.even[i] = pairs.radius[i] * cosine;
    pairs.odd[i] = pairs.radius[i] * sine;
  }
}

} // namespace

void hocket::standardNormalValues(const kernels::RandomStream &stream,
                                  uint64_t first, std::span<double> values) {
  Pairs pairs;
  for (size_t done = 0; done < values.size();) {
    uint64_t element = first + done, block = element / 2;
    size_t skipped = element % 2;
    size_t wanted = std::min(values.size() - done, 2 * most - skipped);
    makePairs(stream, block, (skipped + wanted + 1) / 2, pairs);
    for (size_t i = 0; i < wanted; ++i) {
      size_t at = skipped + i;
      values[done + i] = at % 2 ? pairs.odd[at / 2] : pairs.even[at / 2];
    }
    done += wanted;
  }
}
