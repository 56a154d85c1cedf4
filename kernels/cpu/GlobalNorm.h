//===- GlobalNorm.h - Euclidean norm of many tensors on the CPU --*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/GlobalNorm.h, same arguments. The results
/// are bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_GLOBALNORM_H
#define HOCKET_KERNELS_CPU_GLOBALNORM_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/GlobalNorm.h"

namespace hocket::kernels {

/// Tensors are f32, bf16 or f16. Squares are summed in double over fixed
/// chunks of 16384 elements, and the chunks in order.
[[nodiscard]] KernelError globalNorm(const GlobalNormArguments &args,
                                     Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_GLOBALNORM_H
