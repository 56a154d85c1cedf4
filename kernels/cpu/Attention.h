//===- Attention.h - Attention on the CPU -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/Attention.h, same arguments. The results
/// are bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_ATTENTION_H
#define HOCKET_KERNELS_CPU_ATTENTION_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/Attention.h"

namespace hocket::kernels {

/// Never holds a [sequence, sequence] matrix: key blocks stream past a block of
/// queries with a running maximum and sum (Milakov and Gimelshein, 2018; Dao
/// et al., 2022), and blocks that the mask hides are skipped. q, k, v, o have
/// one type, f32, bf16 or f16; sums are f32.
[[nodiscard]] KernelError
attentionForward(const AttentionForwardArguments &args, Workers &workers);
/// All of q, k, v, o, dO, dq, dk, dv have one type, as above.
[[nodiscard]] KernelError
attentionBackward(const AttentionBackwardArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_ATTENTION_H
