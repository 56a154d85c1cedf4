//===- PlacedRows.h - Rows in the place of tokens on the CPU ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/PlacedRows.h, same arguments, with the
/// bits of that reference for any number of workers. Tensors are f32, bf16 or
/// f16.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_PLACEDROWS_H
#define HOCKET_KERNELS_CPU_PLACEDROWS_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/PlacedRows.h"

namespace hocket::kernels {

[[nodiscard]] KernelError placeRows(const PlaceRowsArguments &args,
                                    Workers &workers);
[[nodiscard]] KernelError
placedRowsGradient(const PlacedRowsGradientArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_PLACEDROWS_H
