//===- RandomState.h - NumPy's legacy generator -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of `numpy.random.RandomState(seed)` that Megatron's datasets use:
/// MT19937 (Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1),
/// 1998) seeded with one 32-bit word, and the legacy in-place shuffle. NumPy
/// promises that this stream never changes, so the same seed gives the same
/// order of samples here and there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_RANDOMSTATE_H
#define HOCKET_RUNTIME_DATA_SAMPLES_RANDOMSTATE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hocket::data {

class RandomState {
public:
  /// The generator that NumPy gives for `RandomState(seed)`.
  explicit RandomState(uint32_t seed);

  /// The next 32 random bits.
  uint32_t next32();

  /// Uniform in [0, max], by rejection under the smallest mask of ones that
  /// covers `max`. Draws nothing for max = 0.
  uint64_t interval(uint64_t max);

  /// NumPy's `random_sample`: uniform in [0, 1), 53 bits of two draws.
  double uniform();

  /// NumPy's `shuffle` of a one-dimensional array: for i from n-1 down to 1,
  /// exchanges i with interval(i).
  template <typename T> void shuffle(std::span<T> values) {
    for (size_t i = values.size(); i-- > 1;)
      std::swap(values[i], values[interval(i)]);
  }

private:
  static constexpr size_t length = 624;
  void refill();

  std::array<uint32_t, length> state;
  size_t position = length;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_RANDOMSTATE_H
