//===- CheckedMath.h - Sizes that may not overflow --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes and offsets that come from a file are multiplied and added through
/// these functions only; an overflow is `nullopt`, never a small number.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_CHECKEDMATH_H
#define HOCKET_BASE_CHECKEDMATH_H

#include <cstdint>
#include <optional>

namespace hocket {

/// a + b, unless it exceeds 2^64 - 1.
inline std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return std::nullopt;
  return sum;
}

/// a * b, unless it exceeds 2^64 - 1.
inline std::optional<uint64_t> checkedMultiply(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

/// The product of all `dims`, each a uint64_t; 1 for none. A zero dim gives 0
/// only if the product of the others does not overflow.
template <typename Range>
std::optional<uint64_t> checkedProduct(const Range &dims) {
  uint64_t product = 1;
  bool zero = false;
  for (uint64_t dim : dims) {
    if (dim == 0) {
      zero = true;
      continue;
    }
    if (__builtin_mul_overflow(product, dim, &product))
      return std::nullopt;
  }
  return zero ? 0 : product;
}

/// The least multiple of `alignment` that is at least `value`.
inline std::optional<uint64_t> checkedAlign(uint64_t value,
                                            uint64_t alignment) {
  if (alignment == 0)
    return std::nullopt;
  uint64_t rest = value % alignment;
  return rest == 0 ? value : checkedAdd(value, alignment - rest);
}

/// Whether [offset, offset + size) lies inside [0, limit).
inline bool rangeInside(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

} // namespace hocket

#endif // HOCKET_BASE_CHECKEDMATH_H
