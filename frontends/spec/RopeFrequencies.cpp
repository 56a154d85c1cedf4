//===- RopeFrequencies.cpp - Frequencies of the rotary embedding ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/RopeFrequencies.h"

#include <cmath>
#include <numbers>

using namespace hocket::spec;

/// Short wavelengths stay, long ones are divided by the factor, and between
/// the two limits the divisor changes smoothly.
static double scaleLlama3(double frequency, const Rope::Llama3 &scaling) {
  double turns = static_cast<double>(scaling.original_max_positions()) *
                 frequency / (2 * std::numbers::pi);
  double low = scaling.low_freq_factor(), high = scaling.high_freq_factor();
  if (turns > high)
    return frequency;
  if (turns < low)
    return frequency / scaling.factor();
  double smooth = (turns - low) / (high - low);
  return (1 - smooth) * frequency / scaling.factor() + smooth * frequency;
}

std::vector<double> hocket::spec::inverseFrequencies(const Rope &rope,
                                                     int64_t headDim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < headDim / 2; ++i) {
    double exponent =
        -2.0 * static_cast<double>(i) / static_cast<double>(headDim);
    double frequency = std::pow(rope.theta(), exponent);
    if (rope.scaling().has_linear())
      frequency /= rope.scaling().linear().factor();
    else if (rope.scaling().has_llama3())
      frequency = scaleLlama3(frequency, rope.scaling().llama3());
    frequencies.push_back(frequency);
  }
  return frequencies;
}
