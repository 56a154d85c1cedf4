//===- matrix_peak.cpp - What the processor's multipliers can do ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Times loops of multiply-adds on registers, on every core at once, and
/// prints GFLOP/s as JSON: f32, and bf16 through the instruction that kernels
/// use (AMX tiles, AVX-512 dot products, or f32's own). HOCKET_CPU_ISA says for
/// which instruction set; without it, for the one that programs would use.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/Isa.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <immintrin.h>
#include <string>
#include <thread>
#include <vector>

using hocket::kernels::Isa;

namespace hocket::benchmarks {
double multiplyAdds(int64_t rounds, Isa isa); // Peak.cpp
} // namespace hocket::benchmarks

namespace {

using Loop = std::function<double(int64_t rounds)>; // returns the FLOPs done

[[gnu::target("avx512f,avx512bf16")]] double dotProducts(int64_t rounds) {
  __m512 sums[24];
  for (__m512 &sum : sums)
    asm volatile("vpxord %0, %0, %0" : "=v"(sum));
  __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f7f);
  __m512bh y = (__m512bh)_mm512_set1_epi16(0x3a83);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 24; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], x, y);
    asm volatile("" ::"v"(sums[0])); // keeps the loop
  }
  __m512 total = sums[0];
  for (__m512 sum : sums)
    total = _mm512_add_ps(total, sum);
  asm volatile("" ::"v"(total));
  return static_cast<double>(rounds) * 24 * 32 * 2;
}

/// Rows and bytes of the eight tile registers (Intel SDM 1, 18.3).
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::target("amx-tile,amx-bf16")]] double tileGemms(int64_t rounds) {
  TileShapes shapes;
  _tile_loadconfig(&shapes);
  alignas(64) static const uint16_t ones[16 * 32] = {0x3f80, 0x3a83};
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, 64);
  _tile_loadd(5, ones, 64);
  _tile_loadd(6, ones, 64);
  _tile_loadd(7, ones, 64);
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return static_cast<double>(rounds) * 4 * 16 * 16 * 32 * 2;
}

/// GFLOP/s of `loop` on `threads` threads, over 0.1 s.
double measureOnce(const Loop &loop, unsigned threads) {
  using Clock = std::chrono::steady_clock;
  std::atomic<double> total = 0;
  auto start = Clock::now(), end = start + std::chrono::milliseconds(100);
  auto work = [&] {
    double mine = 0;
    while (Clock::now() < end)
      mine += loop(20000);
    total += mine;
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back(work);
  for (std::thread &worker : workers)
    worker.join();
  std::chrono::duration<double> seconds = Clock::now() - start;
  return total / seconds.count() * 1e-9;
}

/// The best of several times: what another program takes is no part of a peak.
double measure(const Loop &loop, unsigned threads) {
  double best = 0;
  for (int round = 0; round < 8; ++round)
    best = std::max(best, measureOnce(loop, threads));
  return best;
}

} // namespace

int main() {
  Isa cap = Isa::Amx;
  const char *wanted = std::getenv("HOCKET_CPU_ISA");
  if (wanted && !hocket::kernels::parseIsa(wanted, cap)) {
    std::fprintf(stderr, "matrix_peak: no instruction set '%s'\n", wanted);
    return 2;
  }
  Isa isa = hocket::kernels::bestIsa(cap);
  unsigned threads = std::thread::hardware_concurrency();
  Loop floats = [isa](int64_t rounds) {
    return hocket::benchmarks::multiplyAdds(rounds, isa);
  };
  double fp32 = measure(floats, threads), bf16 = fp32;
  if (isa >= Isa::Avx512Bf16)
    bf16 = measure(isa == Isa::Amx ? tileGemms : dotProducts, threads);
  std::printf("{\"threads\": %u, \"isa\": \"%s\", \"fp32\": %.1f, \"bf16\": "
              "%.1f}\n",
              threads, std::string(hocket::kernels::nameOf(isa)).c_str(), fp32,
              bf16);
  return 0;
}
