//===- Embedding.h - Embedding lookup and gradient on the CPU ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fast versions of kernels/reference/Embedding.h, same arguments. The results
/// are bitwise equal for any number of workers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_EMBEDDING_H
#define HOCKET_KERNELS_CPU_EMBEDDING_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/Embedding.h"

namespace hocket::kernels {

/// table and out are f32, bf16 or f16.
[[nodiscard]] KernelError embedding(const EmbeddingArguments &args,
                                    Workers &workers);
/// dy is f32, bf16 or f16; dtable is f32.
[[nodiscard]] KernelError
embeddingGradient(const EmbeddingGradientArguments &args, Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_EMBEDDING_H
