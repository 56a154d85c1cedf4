//===- ElementTypeTest.cpp - Names, sizes and conversion ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ElementType.h"

#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace hocket::checkpoint;

TEST(ElementType, NamesAndSizes) {
  for (int i = 0; i <= int(ElementType::U64); ++i)
    EXPECT_EQ(parseElementType(elementName(ElementType(i))), ElementType(i));
  EXPECT_EQ(parseElementType("bf16"), ElementType::BF16);
  EXPECT_EQ(parseElementType("F31"), std::nullopt);
  EXPECT_EQ(elementBytes(ElementType::F8E4M3), 1u);
  EXPECT_EQ(elementBytes(ElementType::U64), 8u);
}

TEST(ElementType, SizesOfTensors) {
  std::vector<uint64_t> shape = {3, 5};
  EXPECT_EQ(tensorBytes(shape, ElementType::BF16), 30u);
  EXPECT_EQ(tensorBytes({}, ElementType::F64), 8u);
  shape = {1ull << 32, 1ull << 32};
  EXPECT_EQ(tensorBytes(shape, ElementType::U8), std::nullopt);
  shape = {1ull << 62};
  EXPECT_EQ(tensorBytes(shape, ElementType::F32), std::nullopt);
  EXPECT_EQ(shapeText(shape), "[4611686018427387904]");
}

/// One element of two bytes as f32.
static float convert(uint16_t bits, ElementType type) {
  uint8_t bytes[2] = {uint8_t(bits), uint8_t(bits >> 8)};
  return toFloats(bytes, type)->front();
}

// Against the definition: (-1)^s 2^(e-15) (1 + f / 1024), 2^-24 f if e = 0.
TEST(ElementType, ConvertsEveryHalf) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float value = convert(uint16_t(bits), ElementType::F16);
    if (exponent == 31 && fraction) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    double expected = exponent == 31 ? std::numeric_limits<double>::infinity()
                      : exponent ? std::ldexp(1024 + fraction, exponent - 25)
                                 : std::ldexp(fraction, -24);
    EXPECT_EQ(double(value), bits & 0x8000 ? -expected : expected) << bits;
    EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0);
  }
}

TEST(ElementType, ConvertsTheOthers) {
  EXPECT_EQ(convert(0x3fc0, ElementType::BF16), 1.5f);
  EXPECT_EQ(convert(0xff80, ElementType::BF16),
            -std::numeric_limits<float>::infinity());
  auto bytes = std::bit_cast<std::array<uint8_t, 8>>(-0.1);
  EXPECT_EQ(toFloats(bytes, ElementType::F64)->front(), -0.1f);
  EXPECT_EQ(toFloats(bytes, ElementType::I64), std::nullopt);
}

namespace {
uint16_t rounded(float value, ElementType type) {
  auto bytes = fromFloats({&value, 1}, type);
  EXPECT_TRUE(bytes) << value;
  return bytes ? uint16_t((*bytes)[0] | (*bytes)[1] << 8) : uint16_t(0);
}

float widened(uint16_t bits, ElementType type) {
  const uint8_t bytes[] = {uint8_t(bits), uint8_t(bits >> 8)};
  return (*toFloats(bytes, type))[0];
}
} // namespace

// Every number of the type stays; what lies between two goes to the nearer, and
// to the even one from their middle.
TEST(ElementType, RoundsToTheNearest) {
  for (ElementType type : {ElementType::F16, ElementType::BF16}) {
    uint16_t infinity = type == ElementType::F16 ? 0x7c00 : 0x7f80;
    for (uint16_t sign : {0, 0x8000})
      for (uint16_t bits = 0; bits < infinity; ++bits) {
        float value = widened(sign | bits, type);
        ASSERT_EQ(rounded(value, type), sign | bits);
        if (bits + 1 == infinity)
          continue;
        float next = widened(uint16_t(sign | (bits + 1)), type);
        float middle = value + (next - value) / 2;
        if (middle == value || middle == next)
          continue; // f32 has no number between the two.
        uint16_t even = bits + (bits & 1);
        ASSERT_EQ(rounded(middle, type), sign | even) << middle;
        ASSERT_EQ(rounded(std::nextafter(middle, value), type), sign | bits);
        ASSERT_EQ(rounded(std::nextafter(middle, next), type),
                  sign | uint16_t(bits + 1));
      }
    EXPECT_EQ(rounded(std::numeric_limits<float>::infinity(), type), infinity);
    EXPECT_TRUE(std::isnan(widened(rounded(std::nanf(""), type), type)));
    float most = std::numeric_limits<float>::max();
    EXPECT_FALSE(fromFloats({&most, 1}, type));
  }
  float small = 65519.996f, large = 65520;
  EXPECT_EQ(rounded(small, ElementType::F16), 0x7bff);
  EXPECT_FALSE(fromFloats({&large, 1}, ElementType::F16));
}
