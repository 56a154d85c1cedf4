//===- Gemm.h - GEMMs on the CPU --------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fast version of kernels/reference/Gemm.h: packed panels and cache
/// blocking after Goto and van de Geijn, "Anatomy of high-performance matrix
/// multiplication" (2008), with our own microkernels. A and B are f32, bf16 or
/// f16, also mixed, or both of 8 bits; sums are f32 in a fixed order, so that
/// any number of workers gives the same bits. No processor multiplies 8-bit
/// floats: they are widened while they are packed, exactly, to bf16 for AMX and
/// else to f32.
///
/// The packed form of op(B) is a row of panels, 32 columns each, zero-padded
/// to 32 columns and to an even k:
///   B f32 or f16: f32  [ceil(n / 32)][k + k % 2][32]
///   B bf16:       bf16 [ceil(n / 32)][(k + k % 2) / 2][32][2], pairs of k
/// There is none of a B of 8 bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_GEMM_H
#define HOCKET_KERNELS_CPU_GEMM_H

#include "kernels/cpu/simd/Kernels.h"
#include "kernels/library/Library.h"
#include "kernels/reference/Gemm.h"

namespace hocket::kernels {

/// D, bias, auxiliary and residual are each f32, bf16 or f16. residual may be
/// d; any other overlap of d with an input is an error of the caller.
[[nodiscard]] KernelError gemm(const GemmArguments &args, Workers &workers);

[[nodiscard]] KernelError gemmPack(const GemmPackArguments &args,
                                   Workers &workers);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_GEMM_H
