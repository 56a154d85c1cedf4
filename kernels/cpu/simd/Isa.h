//===- Isa.h - Instruction sets of this processor ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instruction sets that kernels are written for, and which of them the
/// processor and the operating system offer.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_ISA_H
#define HOCKET_KERNELS_CPU_SIMD_ISA_H

#include <string_view>

namespace hocket::kernels {

/// Each level includes those before it.
enum class Isa {
  Avx2,       ///< x86-64-v3: AVX2, FMA, F16C
  Avx512,     ///< x86-64-v4: AVX-512 F, BW, DQ, VL
  Avx512Bf16, ///< AVX-512 BF16: dot products of pairs
  Amx,        ///< AMX tiles with bf16
};

/// Whether this machine runs `isa`. Asking for Amx asks the operating system
/// for the tile registers (once per process it is granted to all threads).
bool cpuSupports(Isa isa);

/// The best level this machine runs that is at most `cap`; Avx2 where there
/// is none (every kernel then reports an error). Dot products of pairs do the
/// work of two multiply-adds of floats in the time of one on AMD's processors;
/// on Intel's that were measured in the time of four, so there only a cap that
/// names them asks for them.
Isa bestIsa(Isa cap = Isa::Amx);

/// "avx2", "avx512", "avx512_bf16", "amx".
std::string_view nameOf(Isa isa);
/// The reverse; false if `name` is none of them.
bool parseIsa(std::string_view name, Isa &isa);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_SIMD_ISA_H
