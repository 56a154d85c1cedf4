//===- Experts.h - Tokens to experts, and back, on the CPU ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/Experts.h, same arguments. Every expert
/// has a GEMM of Gemm.h. The results are bitwise equal for any
/// number of workers. The orders and counts are cheap and have no version of
/// their own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_EXPERTS_H
#define HOCKET_KERNELS_CPU_EXPERTS_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/Experts.h"

namespace hocket::kernels {

// Tokens and rows are f32, bf16 or f16.
[[nodiscard]] KernelError dispatch(const DispatchArguments &args,
                                   Workers &workers);
[[nodiscard]] KernelError combine(const CombineArguments &args,
                                  Workers &workers);
[[nodiscard]] KernelError
combineWeightGradient(const CombineWeightGradientArguments &args,
                      Workers &workers);

[[nodiscard]] KernelError groupedLinear(const GroupedLinearArguments &args,
                                        Workers &workers);
[[nodiscard]] KernelError
groupedLinearInputGradient(const GroupedInputGradientArguments &args,
                           Workers &workers);
/// dweight is f32.
[[nodiscard]] KernelError
groupedLinearWeightGradient(const GroupedWeightGradientArguments &args,
                            Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_EXPERTS_H
