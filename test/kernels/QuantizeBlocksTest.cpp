//===- QuantizeBlocksTest.cpp - 8 bits with a scale a block ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/QuantizeBlocks.h"
#include "test/kernels/TestWorkers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace hocket::kernels::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float scaleOf(float magnitude, DType format) {
  return std::bit_cast<float>(blockScaleBits(std::bit_cast<uint32_t>(magnitude),
                                             largestExponent(format)));
}

/// The least power of two that is enough, around every power of two and every
/// place where one more is needed.
TEST(QuantizeBlocks, ScalesAreTheLeastPowersOfTwoThatAreEnough) {
  for (DType format : {DType::F8E4M3, DType::F8E5M2}) {
    double largest = format == DType::F8E4M3 ? 448 : 57344;
    for (int exponent = -140; exponent < 128; ++exponent)
      for (double fraction : {1.0, 1.5, 1.75, 1.9}) {
        auto middle = static_cast<float>(std::ldexp(fraction, exponent));
        for (float magnitude : {std::nextafter(middle, 0.0f), middle,
                                std::nextafter(middle, kInfinity)}) {
          if (std::isinf(magnitude))
            continue;
          double scale = scaleOf(magnitude, format);
          EXPECT_LE(magnitude, scale * largest) << magnitude;
          EXPECT_EQ(std::ldexp(1.0, std::ilogb(scale)), scale);
          if (scale > 0x1p-126)
            EXPECT_GT(magnitude, scale / 2 * largest) << magnitude;
        }
      }
    EXPECT_EQ(scaleOf(0, format), 0x1p-126f);
    EXPECT_TRUE(std::isnan(scaleOf(kInfinity, format)));
    EXPECT_TRUE(std::isnan(scaleOf(std::nanf(""), format)));
  }
}

struct Tensor {
  std::vector<uint8_t> x, codes, y;
  std::vector<float> scales;
};

/// Numbers of all magnitudes, a block of zeros, an infinity and a NaN.
std::vector<uint8_t> someNumbers(int64_t count, DType dtype) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<uint8_t> bytes(static_cast<size_t>(count * bytesOf(dtype)));
  View view{bytes.data(), dtype};
  for (int64_t i = 0; i < count; ++i)
    store(view, i, i % 1000 < 140 ? 0 : std::exp2(3 * normal(random)) - 2);
  if (count > 2000) {
    store(view, 1500, kInfinity);
    store(view, 1900, std::nan(""));
  }
  return bytes;
}

template <typename Quantize, typename Dequantize>
Tensor run(const BlockShape &shape, DType wide, DType narrow,
           const Quantize &quantize, const Dequantize &dequantize) {
  int64_t count = shape.outer * shape.rows * shape.columns;
  Tensor t{someNumbers(count, wide), {}, {}, {}};
  t.codes.resize(static_cast<size_t>(count));
  t.y.resize(t.x.size());
  t.scales.resize(
      static_cast<size_t>(shape.outer * shape.down() * shape.across()));
  EXPECT_EQ(quantize(QuantizeBlocksArguments{shape,
                                             {t.x.data(), wide},
                                             {t.codes.data(), narrow},
                                             t.scales.data()}),
            nullptr);
  EXPECT_EQ(dequantize(DequantizeBlocksArguments{shape,
                                                 {t.codes.data(), narrow},
                                                 t.scales.data(),
                                                 {t.y.data(), wide}}),
            nullptr);
  return t;
}

TEST(QuantizeBlocks, GiveTheBitsOfAPlainLoop) {
  TestWorkers workers(3);
  for (auto [wide, narrow] : {std::pair(DType::BF16, DType::F8E4M3),
                              {DType::F32, DType::F8E5M2},
                              {DType::F16, DType::F8E4M3}})
    for (auto [m, n] : {std::pair<int64_t, int64_t>(1, 128),
                        {1, 32},
                        {128, 1},
                        {32, 1},
                        {128, 128},
                        {1, 1024},
                        {3, 5}})
      for (auto [rows, columns] :
           {std::pair<int64_t, int64_t>(1, 1), {33, 200}, {130, 1300}}) {
        BlockShape shape{2, rows, columns, m, n};
        Tensor expected = run(shape, wide, narrow, reference::quantizeBlocks,
                              reference::dequantizeBlocks);
        Tensor got = run(
            shape, wide, narrow,
            [&](const auto &args) { return quantizeBlocks(args, workers); },
            [&](const auto &args) { return dequantizeBlocks(args, workers); });
        EXPECT_EQ(got.codes, expected.codes) << m << " x " << n;
        for (size_t i = 0; i < got.scales.size(); ++i)
          EXPECT_TRUE(
              got.scales[i] == expected.scales[i] ||
              (std::isnan(got.scales[i]) && std::isnan(expected.scales[i])));
        View mine{got.y.data(), wide}, theirs{expected.y.data(), wide};
        for (int64_t i = 0; i < 2 * rows * columns; ++i) {
          double a = load(mine, i), b = load(theirs, i);
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i;
        }
      }
}

/// bf16 has every number that a block gives back: a GEMM of such numbers is
/// one of codes and scales. Rounding changes a normal one by half of its last
/// bit at most, a small one by half of the least step.
TEST(QuantizeBlocks, GiveNumbersBackThatBf16Has) {
  BlockShape shape{1, 40, 640, 1, 128};
  for (DType narrow : {DType::F8E4M3, DType::F8E5M2}) {
    bool isE4m3 = narrow == DType::F8E4M3;
    Tensor t = run(shape, DType::F32, narrow, reference::quantizeBlocks,
                   reference::dequantizeBlocks);
    View x{t.x.data(), DType::F32}, y{t.y.data(), DType::F32};
    for (int64_t i = 0; i < shape.rows * shape.columns; ++i) {
      double number = load(y, i), from = load(x, i);
      double scale = t.scales[size_t(i / shape.columns * shape.across() +
                                     i % shape.columns / 128)];
      if (std::isnan(scale))
        continue;
      EXPECT_EQ(bf16ToFloat(floatToBf16(float(number))), number);
      double step = scale * (isE4m3 ? 0x1p-9 : 0x1p-16);
      double half = std::abs(from) * (isE4m3 ? 0x1p-4 : 0x1p-3);
      EXPECT_LE(std::abs(number - from), std::max(half, step / 2));
    }
  }
}

} // namespace
} // namespace hocket::kernels::test
