//===- RandomState.cpp - NumPy's legacy generator -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RandomState.h"

#include <bit>

using namespace hocket::data;

RandomState::RandomState(uint32_t seed) {
  // Knuth's linear recurrence (The Art of Computer Programming 2, 3.3.4).
  for (size_t i = 0; i < length; ++i) {
    state[i] = seed;
    seed = 1812433253u * (seed ^ (seed >> 30)) + uint32_t(i) + 1;
  }
}

void RandomState::refill() {
  constexpr size_t middle = 397;
  for (size_t i = 0; i < length; ++i) {
    uint32_t joined =
        (state[i] & 0x80000000u) | (state[(i + 1) % length] & 0x7fffffffu);
    uint32_t twist = (joined & 1) ? 0x9908b0dfu : 0;
    state[i] = state[(i + middle) % length] ^ (joined >> 1) ^ twist;
  }
  position = 0;
}

uint32_t RandomState::next32() {
  if (position == length)
    refill();
  uint32_t y = state[position++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t RandomState::interval(uint64_t max) {
  if (max == 0)
    return 0;
  uint64_t mask = ~uint64_t(0) >> std::countl_zero(max);
  uint64_t value;
  do {
    value = next32();
    if (max > 0xffffffffu)
      value = (value << 32) | next32();
    value &= mask;
  } while (value > max);
  return value;
}

double RandomState::uniform() {
  uint64_t high = next32() >> 5, low = next32() >> 6;
  return double(high << 26 | low) / 9007199254740992.0; // 2^53
}
