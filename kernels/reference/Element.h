//===- Element.h - Element types and untyped views --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element types that kernels read and write, their exact conversions,
/// and views: a pointer with its element type. Dimensions are fields of each
/// op's argument struct, row-major and dense throughout.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ELEMENT_H
#define HOCKET_KERNELS_REFERENCE_ELEMENT_H

#include <bit>
#include <cstdint>

namespace hocket::kernels {

/// Element types; the values are those of program.proto's DType.
enum class DType : int32_t {
  F32 = 1,
  BF16 = 2,
  F16 = 3,
  I32 = 4,
  F64 = 5,
  F8E4M3 = 7,
  F8E5M2 = 8,
};

/// Whether it is one of the two 8-bit formats (Micikevicius et al., "FP8
/// formats for deep learning", 2022): operands of GEMMs, nothing else.
[[gnu::always_inline]] constexpr bool isF8(DType dtype) {
  return dtype == DType::F8E4M3 || dtype == DType::F8E5M2;
}

/// Null: done. Otherwise what was wrong, a string that lives forever; nothing
/// was read or written out of bounds, results are unspecified.
using KernelError = const char *;

/// Bytes of one element.
[[gnu::always_inline]] constexpr int64_t bytesOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::F64:
    return 8;
  case DType::F8E4M3:
  case DType::F8E5M2:
    return 1;
  }
  return 0;
}

/// A mutable dense array of `dtype`; owns nothing.
struct View {
  void *data = nullptr;
  DType dtype = DType::F32;
  explicit operator bool() const { return data != nullptr; }
};

/// A constant one.
struct ConstView {
  const void *data = nullptr;
  DType dtype = DType::F32;
  ConstView() = default;
  ConstView(const void *data, DType dtype) : data(data), dtype(dtype) {}
  ConstView(View v) : data(v.data), dtype(v.dtype) {}
  explicit operator bool() const { return data != nullptr; }
};

// The conversions below are inlined always: they are used in sources that are
// compiled for different instruction sets, and a linker must never pick one
// source's copy for all.

[[gnu::always_inline]] constexpr float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Round to nearest, ties to even; a NaN stays a (quiet) NaN.
[[gnu::always_inline]] constexpr uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t((bits >> 16) | 0x40u);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

[[gnu::always_inline]] constexpr float f16ToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) { // zero or subnormal: mantissa * 2^-24, exactly
    float magnitude = float(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (mantissa << 13));
}

/// Round to nearest, ties to even; overflow becomes infinity.
[[gnu::always_inline]] constexpr uint16_t floatToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return uint16_t(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) // 65520 and above round to infinity
    return uint16_t(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // below 2^-14: a multiple of 2^-24
    // Adding 0.5 aligns the last bit of the sum with 2^-24, so the addition
    // itself rounds as wanted.
    float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

/// An 8-bit format: `mantissa` bits behind the point, an exponent of 7 less
/// that many bits, and a largest finite code. Codes above it are infinities and
/// NaN.
struct F8Format {
  uint32_t mantissa, bias, largest;
};

/// No infinities, one NaN (0x7f); up to 448, down to 2^-9.
inline constexpr F8Format kE4M3 = {3, 7, 0x7e};
/// As IEEE 754's half cut in two; up to 57344, down to 2^-16.
inline constexpr F8Format kE5M2 = {2, 15, 0x7b};

/// Round to nearest, ties to even; what is beyond the largest finite number,
/// infinity too, becomes that number. NaN becomes 0x7f.
[[gnu::always_inline]] constexpr uint8_t floatToF8(float value, F8Format to) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffffu, sign = (bits >> 24) & 0x80u;
  if (magnitude > 0x7f800000u)
    return 0x7f;
  uint32_t shift = 23 - to.mantissa, code = 0;
  if (magnitude < (128 - to.bias) << 23) {
    // Subnormal: adding a number whose last bit is worth the smallest step
    // makes the addition itself round as wanted.
    uint32_t step = (128 - to.bias + shift) << 23;
    float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(step);
    code = std::bit_cast<uint32_t>(sum) - step;
  } else {
    uint32_t half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1u);
    code = (magnitude + half - ((127 - to.bias) << 23)) >> shift;
  }
  return uint8_t(sign | (code > to.largest ? to.largest : code));
}

[[gnu::always_inline]] constexpr uint8_t floatToE4m3(float value) {
  return floatToF8(value, kE4M3);
}
[[gnu::always_inline]] constexpr uint8_t floatToE5m2(float value) {
  return floatToF8(value, kE5M2);
}

[[gnu::always_inline]] constexpr float e4m3ToFloat(uint8_t code) {
  if ((code & 0x7fu) == 0x7fu)
    return std::bit_cast<float>(uint32_t(code & 0x80u) << 24 | 0x7fc00000u);
  // The same bits in a half stand for 2^-8 of the number: biases differ by 8.
  return f16ToFloat(uint16_t((code & 0x80u) << 8 | (code & 0x7fu) << 7)) *
         0x1p8f;
}

[[gnu::always_inline]] constexpr float e5m2ToFloat(uint8_t code) {
  return f16ToFloat(uint16_t(code << 8));
}

/// Element `i`, as a double.
inline double load(ConstView v, int64_t i) {
  switch (v.dtype) {
  case DType::F32:
    return static_cast<const float *>(v.data)[i];
  case DType::BF16:
    return bf16ToFloat(static_cast<const uint16_t *>(v.data)[i]);
  case DType::F16:
    return f16ToFloat(static_cast<const uint16_t *>(v.data)[i]);
  case DType::I32:
    return static_cast<const int32_t *>(v.data)[i];
  case DType::F64:
    return static_cast<const double *>(v.data)[i];
  case DType::F8E4M3:
    return e4m3ToFloat(static_cast<const uint8_t *>(v.data)[i]);
  case DType::F8E5M2:
    return e5m2ToFloat(static_cast<const uint8_t *>(v.data)[i]);
  }
  return 0;
}

/// Rounds `x` to the element type and stores it at `i`.
inline void store(View v, int64_t i, double x) {
  switch (v.dtype) {
  case DType::F32:
    static_cast<float *>(v.data)[i] = static_cast<float>(x);
    break;
  case DType::BF16:
    static_cast<uint16_t *>(v.data)[i] = floatToBf16(static_cast<float>(x));
    break;
  case DType::F16:
    static_cast<uint16_t *>(v.data)[i] = floatToF16(static_cast<float>(x));
    break;
  case DType::I32:
    static_cast<int32_t *>(v.data)[i] = static_cast<int32_t>(x);
    break;
  case DType::F64:
    static_cast<double *>(v.data)[i] = x;
    break;
  case DType::F8E4M3:
    static_cast<uint8_t *>(v.data)[i] = floatToE4m3(static_cast<float>(x));
    break;
  case DType::F8E5M2:
    static_cast<uint8_t *>(v.data)[i] = floatToE5m2(static_cast<float>(x));
    break;
  }
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ELEMENT_H
