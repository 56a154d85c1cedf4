//===- LibraryCases.h - Calls of every library op ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table of tests of kernels/cuda: every op, with every element type, at
/// sizes that leave uneven ends.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_CUDA_LIBRARYCASES_H
#define HOCKET_TEST_KERNELS_CUDA_LIBRARYCASES_H

#include "test/kernels/cuda/EmulatedLibrary.h"

namespace hocket::kernels::test {

std::vector<LibraryCase> denseCases();  // LibraryCases.cpp
std::vector<LibraryCase> expertCases(); // ExpertCases.cpp
std::vector<LibraryCase> stateCases();  // StateCases.cpp

/// A call whose data is wrong, and the fault word that it raises.
struct FaultCase {
  LibraryCase call;
  uint32_t fault;
};
std::vector<FaultCase> faultCases(); // FaultCases.cpp

// Element types as calls name them, and buffers.
inline constexpr int64_t f32 = 1, bf16 = 2, f16 = 3, i32 = 4, f64 = 5, e4m3 = 7,
                         e5m2 = 8;
inline Fill of(int64_t dtype, double scale = 1) {
  return {static_cast<DType>(dtype), scale};
}
/// Integers in [low, high).
inline Fill ids(int64_t low, int64_t high) {
  return {DType::I32, 1, int32_t(low), int32_t(high)};
}
inline Fill list(std::vector<int32_t> values) {
  return {DType::I32, 1, 0, 0, std::move(values)};
}
inline Fill workspace(Fill fill) {
  fill.isResult = false;
  return fill;
}

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_CUDA_LIBRARYCASES_H
