//===- ElementType.cpp - Element types of stored tensors ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ElementType.h"

#include "base/CheckedMath.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>

using namespace hocket;
using namespace hocket::checkpoint;

namespace {
struct Row {
  const char *name;
  uint64_t bytes;
};
} // namespace

/// One row per ElementType, in its order.
static constexpr Row rows[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8},
};

uint64_t checkpoint::elementBytes(ElementType type) {
  return rows[size_t(type)].bytes;
}

std::string_view checkpoint::elementName(ElementType type) {
  return rows[size_t(type)].name;
}

std::optional<ElementType> checkpoint::parseElementType(std::string_view name) {
  std::string upper;
  for (char c : name)
    upper.push_back(char(std::toupper(uint8_t(c))));
  for (size_t i = 0; i < std::size(rows); ++i)
    if (upper == rows[i].name)
      return ElementType(i);
  return std::nullopt;
}

std::string checkpoint::shapeText(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (uint64_t dim : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

std::optional<uint64_t> checkpoint::tensorBytes(std::span<const uint64_t> shape,
                                                ElementType type) {
  auto elements = checkedProduct(shape);
  return elements ? checkedMultiply(*elements, elementBytes(type))
                  : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static float fromBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// IEEE 754 binary16 to binary32, exact; NaN payloads are kept.
static float fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = float(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

static float fromF64(double value) { return float(value); }
static float fromF32(float value) { return value; }

template <typename T>
static std::vector<float> convert(std::span<const uint8_t> bytes,
                                  float (*toFloat)(T)) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = toFloat(element);
  }
  return values;
}

std::optional<std::vector<float>>
checkpoint::toFloats(std::span<const uint8_t> bytes, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return convert<float>(bytes, fromF32);
  case ElementType::F64:
    return convert<double>(bytes, fromF64);
  case ElementType::F16:
    return convert<uint16_t>(bytes, fromF16);
  case ElementType::BF16:
    return convert<uint16_t>(bytes, fromBf16);
  default:
    return std::nullopt;
  }
}

static uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40); // Also where the payload is cut off.
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000);
  float magnitude = std::abs(value);
  if (std::isnan(value))
    return uint16_t(sign | 0x7e00 | (bits >> 13 & 0x3ff));
  if (magnitude >= 65520) // Half a step above the greatest.
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) // Multiples of 2^-24.
    return uint16_t(sign | uint16_t(std::nearbyint(magnitude * 0x1p24f)));
  bits &= 0x7fffffff;
  bits += 0xfff + (bits >> 13 & 1);
  return uint16_t(sign | uint16_t((bits >> 13) - (112 << 10)));
}

std::optional<std::vector<uint8_t>>
checkpoint::fromFloats(std::span<const float> values, ElementType type) {
  bool isBf16 = type == ElementType::BF16;
  if (!isBf16 && type != ElementType::F16 && type != ElementType::F32)
    return std::nullopt;
  std::vector<uint8_t> bytes(values.size() * elementBytes(type));
  if (type == ElementType::F32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  uint16_t infinity = isBf16 ? 0x7f80 : 0x7c00;
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t element = isBf16 ? toBf16(values[i]) : toF16(values[i]);
    if ((element & 0x7fff) == infinity && !std::isinf(values[i]))
      return std::nullopt;
    std::memcpy(&bytes[2 * i], &element, 2);
  }
  return bytes;
}
