//===- Peak.cpp - The processor's multiply-add peak -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/Isa.h"
#include <cstdint>

#include <immintrin.h>

namespace hocket::benchmarks {
namespace {

[[gnu::target("avx512f")]] double multiplyAddsAvx512(int64_t rounds) {
  __m512 sums[24];
  for (__m512 &sum : sums)
    asm volatile("vpxord %0, %0, %0" : "=v"(sum)); // not known to be equal
  __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 24; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], x, y);
    asm volatile("" ::"v"(sums[0])); // keeps the loop
  }
  __m512 total = sums[0];
  for (__m512 sum : sums)
    total = _mm512_add_ps(total, sum);
  asm volatile("" ::"v"(total));
  return static_cast<double>(rounds) * 24 * 16 * 2;
}

[[gnu::target("avx2,fma")]] double multiplyAddsAvx2(int64_t rounds) {
  __m256 sums[12];
  for (__m256 &sum : sums)
    asm volatile("vxorps %0, %0, %0" : "=x"(sum)); // not known to be equal
  __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 12; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], x, y);
    asm volatile("" ::"x"(sums[0]));
  }
  __m256 total = sums[0];
  for (__m256 sum : sums)
    total = _mm256_add_ps(total, sum);
  asm volatile("" ::"x"(total));
  return static_cast<double>(rounds) * 12 * 8 * 2;
}

} // namespace

/// Multiplies and adds on registers only, with the vectors of `isa`; returns
/// how many FLOPs that were.
double multiplyAdds(int64_t rounds, kernels::Isa isa) {
  return isa >= kernels::Isa::Avx512 ? multiplyAddsAvx512(rounds)
                                     : multiplyAddsAvx2(rounds);
}

} // namespace hocket::benchmarks
