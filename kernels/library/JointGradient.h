//===- JointGradient.h - Gradients that one kernel has ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_LIBRARY_JOINTGRADIENT_H
#define HOCKET_KERNELS_LIBRARY_JOINTGRADIENT_H

#include "kernels/library/Library.h"

namespace hocket::kernels {

/// Whether one kernel may find all gradients of an attention_backward of these
/// integers and floats (kernels/cuda/HopperJointAttention.cuh).
inline bool isJointGradient(std::span<const int64_t> integers,
                            std::span<const double> floats) {
  constexpr int64_t mostRows = 2048, headDim = 64;
  bool is16Bit =
      integers[0] == int64_t(DType::BF16) || integers[0] == int64_t(DType::F16);
  bool isWhole = integers.size() == 9, isCausal = integers[6] != 0;
  return isWhole && is16Bit && integers[2] <= mostRows &&
         integers[3] == integers[4] && integers[5] == headDim && isCausal &&
         integers[7] == 0 && floats[1] == 0;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_LIBRARY_JOINTGRADIENT_H
