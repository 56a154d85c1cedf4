//===- F8Gemms.h - Which 8-bit operands a GPU multiplies --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What cuBLASLt asks of operands with 8-bit elements ("To use FP8 kernels" in
/// its documentation), for the compiler that lays them out and for the driver:
/// m, n and k are multiples of 16, and on most GPUs both factors have their
/// inner dimension running fastest (its "TN" format): A is stored [m, k] and B
/// [n, k].
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_F8GEMMS_H
#define HOCKET_KERNELS_CUDA_F8GEMMS_H

#include <cstdint>

namespace hocket::kernels {

/// How factors may be stored.
enum class F8Layouts { None, InnerFastest, Any };

/// Of a GPU of this compute capability; 90 is 9.0. Ada (89), Hopper (90) and
/// the smaller Blackwells (120) want "TN", Blackwells of data centers do not.
constexpr F8Layouts f8LayoutsOf(int capability) {
  if (capability < 89)
    return F8Layouts::None;
  return capability / 10 == 10 ? F8Layouts::Any : F8Layouts::InnerFastest;
}

/// What m, n and k are multiples of.
inline constexpr uint64_t kF8Multiple = 16;

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CUDA_F8GEMMS_H
