//===- Rope.h - Rotary position embedding on the CPU ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/Rope.h, same arguments. The results are
/// bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_ROPE_H
#define HOCKET_KERNELS_CPU_ROPE_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/Rope.h"

namespace hocket::kernels {

/// The table is f32; angles are computed in double.
[[nodiscard]] KernelError ropeTable(const RopeTableArguments &args,
                                    Workers &workers);
/// x and y have one type, f32, bf16 or f16; headDim is even.
[[nodiscard]] KernelError rope(const RopeArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_ROPE_H
