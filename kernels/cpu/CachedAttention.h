//===- CachedAttention.h - Attention over kept keys, on CPUs ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_CACHEDATTENTION_H
#define HOCKET_KERNELS_CPU_CACHEDATTENTION_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/CachedAttention.h"

namespace hocket::kernels {

/// The fast version of kernels/reference/CachedAttention.h, by the kernel of
/// attentionForward(): of a token it gives the bits that attention over the
/// whole sequence gives, whichever tokens stand beside it. All tensors have one
/// type, f32, bf16 or f16; sums are f32.
[[nodiscard]] KernelError cachedAttention(const CachedAttentionArguments &args,
                                          Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_CACHEDATTENTION_H
