//===- QuantizeBlocks.h - 8 bits with a scale a block -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Blocks of a tensor in 8 bits, each with a scale of its own, and back:
///   scale = the least power of two with largest magnitude <= scale * largest
///   code  = round(x / scale), to nearest even
///   y     = code * scale
/// `largest` is the format's largest finite number (448 in e4m3, 57344 in
/// e5m2), so that nothing saturates. That is how Transformer Engine computes
/// the scales of MXFP8, and of Float8BlockScaling unless it is told to keep f32
/// (NVTE_FP8_BLOCK_SCALING_FP32_SCALES): arXiv 2506.08027 rounds up what the
/// OCP MX specification v1.0 (section 6.3) rounds down and then clips. A scale
/// is at least 2^-126; it is not a number where the block has an infinity or
/// NaN.
///
/// Products with a power of two are exact, so that bf16 has every y that is not
/// subnormal, and a GEMM of such y is that of the codes with the scales in
/// place.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_QUANTIZEBLOCKS_H
#define HOCKET_KERNELS_REFERENCE_QUANTIZEBLOCKS_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

/// A tensor [outer, rows, columns] in blocks of blockRows x blockColumns, of
/// which the last ones of a dim may be smaller; none spans two of `outer`.
struct BlockShape {
  int64_t outer = 0, rows = 0, columns = 0, blockRows = 1, blockColumns = 1;

  /// The scales are [outer, down, across].
  int64_t down() const { return (rows + blockRows - 1) / blockRows; }
  int64_t across() const { return (columns + blockColumns - 1) / blockColumns; }
};

struct QuantizeBlocksArguments {
  BlockShape shape;
  ConstView x; ///< f32, bf16 or f16
  View codes;  ///< f8e4m3 or f8e5m2
  float *scales = nullptr;
};

struct DequantizeBlocksArguments {
  BlockShape shape;
  ConstView codes;
  const float *scales = nullptr;
  View y; ///< f32, bf16 or f16
};

/// The scale of a block from the bits of its largest magnitude, as f32. Both
/// formats' largest number is 1.75 times a power of two, `exponent`: magnitudes
/// with more than that in the fraction need the next one.
[[gnu::always_inline]] constexpr uint32_t blockScaleBits(uint32_t magnitude,
                                                         uint32_t exponent) {
  if (magnitude >= 0x7f800000u)
    return 0x7fc00000u;
  uint32_t power = (magnitude + 0x1fffffu) >> 23;
  return (power > exponent ? power - exponent : 1u) << 23;
}

/// What x is multiplied with to be divided by that scale.
[[gnu::always_inline]] constexpr uint32_t inverseScaleBits(uint32_t scale) {
  return scale >= 0x7f800000u ? scale : (254u << 23) - scale;
}

/// The exponent of a format's largest number.
constexpr uint32_t largestExponent(DType format) {
  return format == DType::F8E4M3 ? 8 : 15;
}

namespace reference {
[[nodiscard]] KernelError quantizeBlocks(const QuantizeBlocksArguments &args);
[[nodiscard]] KernelError
dequantizeBlocks(const DequantizeBlocksArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_QUANTIZEBLOCKS_H
