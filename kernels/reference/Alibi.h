//===- Alibi.h - Slopes of heads --------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention with linear biases (Press et al., arXiv 2108.12409): the score of
/// a query and a key is less by their distance times a number of the head.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ALIBI_H
#define HOCKET_KERNELS_REFERENCE_ALIBI_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace hocket::kernels {

/// The slope of `head` of `heads`, as the paper's code and BLOOM have it: of
/// the first n, the greatest power of two, 2^(-8 (head + 1) / n); then every
/// second of those of 2 n heads, from the first on. 0 <= head < heads.
inline double alibiSlope(int64_t head, int64_t heads) {
  auto n = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  double steps = head < n ? 2.0 * static_cast<double>(head + 1)
                          : 2.0 * static_cast<double>(head - n) + 1;
  return std::exp2(-4 * steps / static_cast<double>(n));
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ALIBI_H
