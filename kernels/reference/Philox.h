//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as
/// easy as 1, 2, 3", SC 2011), and the one way in which Hocket counts with it:
/// every random tensor is a *stream*, every element of it has a global index,
/// and the word of an element depends on (seed, stream, step, index) alone.
/// So no plan, no thread count and no order of execution changes a number.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_PHILOX_H
#define HOCKET_KERNELS_REFERENCE_PHILOX_H

#include <array>
#include <cstdint>

namespace hocket::kernels {

/// Ten rounds of Philox 4x32 over `counter` under `key`.
[[gnu::always_inline]] constexpr std::array<uint32_t, 4>
philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * c0;
    uint64_t p1 = uint64_t(0xCD9E8D57u) * c2;
    uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    uint32_t n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = uint32_t(p1), c2 = n2, c3 = uint32_t(p0);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// What identifies a random tensor of one training step.
struct RandomStream {
  uint64_t seed = 0;
  uint32_t stream = 0;
  uint32_t step = 0;
};

/// The four words of the elements 4*block .. 4*block+3.
[[gnu::always_inline]] constexpr std::array<uint32_t, 4>
randomBlock(const RandomStream &s, uint64_t block) {
  return philox4x32({uint32_t(block), uint32_t(block >> 32), s.stream, s.step},
                    {uint32_t(s.seed), uint32_t(s.seed >> 32)});
}

/// The word of element `index`.
[[gnu::always_inline]] constexpr uint32_t randomWord(const RandomStream &s,
                                                     uint64_t index) {
  std::array<uint32_t, 4> words = randomBlock(s, index >> 2);
  return words[index & 3];
}

/// An element is kept by dropout with probability `p` iff its word is at
/// least this: floor(p * 2^32). For 0 <= p < 1.
[[gnu::always_inline]] constexpr uint32_t dropoutThreshold(double p) {
  return p <= 0 ? 0u : static_cast<uint32_t>(p * 4294967296.0);
}

/// The bits of a word that jitter counts in: as many as a float holds.
inline constexpr int jitterBits = 24;

/// How far the numbers lie apart that jitter of half width `e` draws from.
constexpr double jitterStep(double e) { return e / (1 << (jitterBits - 1)); }

/// What jitter of half width `e` scales an element by: 1-e and as many steps as
/// the upper bits of its word say, so uniform in [1-e, 1+e). Kernels compute it
/// by one fused multiply-add in f32, alike on every target.
constexpr double jitterOf(uint32_t word, double e) {
  return (1 - e) + (word >> (32 - jitterBits)) * jitterStep(e);
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_PHILOX_H
