//===- GlobalNorm.h - Euclidean norm of many tensors ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The square root of the sum of the squares of all elements of all tensors,
/// as gradient clipping wants it, and whether any element is not finite, as
/// loss scaling wants it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_GLOBALNORM_H
#define HOCKET_KERNELS_REFERENCE_GLOBALNORM_H

#include "kernels/reference/Element.h"

#include <span>

namespace hocket::kernels {

struct GlobalNormArguments {
  struct Tensor {
    ConstView values;
    int64_t count = 0;
  };
  std::span<const Tensor> tensors;
  View norm;      ///< [1]; cpu: f32
  View nonfinite; ///< [1], 1 if any element is infinite or NaN, else 0
};

namespace reference {
[[nodiscard]] KernelError globalNorm(const GlobalNormArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_GLOBALNORM_H
