//===- RopeFrequencies.cpp - Frequencies of the rotary embedding ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/RopeFrequencies.h"

#include <algorithm>
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

namespace {
/// YaRN's ramp (section 3.2 of the paper, with the bounds of its code): 0 where
/// a pair keeps its frequency, 1 where it is divided.
class YarnRamp {
public:
  YarnRamp(const Rope &rope, double dim)
      : theta(rope.theta()), dim(dim),
        positions(static_cast<double>(
            rope.scaling().yarn().original_max_positions())),
        low(std::floor(pairOf(rope.scaling().yarn().beta_fast()))),
        high(std::ceil(pairOf(rope.scaling().yarn().beta_slow()))) {
    low = std::max(low, 0.0);
    high = std::min(high, dim - 1);
    if (low == high)
      high += 0.001;
  }

  double at(int64_t pair) const {
    return std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0,
                      1.0);
  }

private:
  /// The pair, as a real number, that turns so often in the original context.
  double pairOf(double turns) const {
    return dim * std::log(positions / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(theta));
  }

  double theta, dim, positions, low, high;
};
} // namespace

int64_t hocket::spec::ropeHeadDim(const Model &model) {
  return model.has_latent_attention()
             ? model.latent_attention().qk_rope_head_dim()
             : model.head_dim();
}

int64_t hocket::spec::rotatedDim(const Rope &rope, int64_t headDim) {
  return static_cast<int64_t>(static_cast<double>(headDim) *
                              rope.rotary_percent());
}

bool hocket::spec::scalesByLength(const Rope &rope, int64_t length) {
  return rope.scaling().has_dynamic() &&
         length > rope.scaling().dynamic().original_max_positions();
}

/// Theta as sequences of `length` have it, where `dim` elements of a head turn.
static double thetaAt(const Rope &rope, double dim, int64_t length) {
  if (!scalesByLength(rope, length))
    return rope.theta();
  const Rope::Dynamic &dynamic = rope.scaling().dynamic();
  double longer = static_cast<double>(length) /
                  static_cast<double>(dynamic.original_max_positions());
  double growth = dynamic.factor() * longer - (dynamic.factor() - 1);
  return rope.theta() * std::pow(growth, dim / (dim - 2));
}

std::vector<double> hocket::spec::inverseFrequencies(const Rope &rope,
                                                     int64_t headDim,
                                                     int64_t length) {
  int64_t rotated = rotatedDim(rope, headDim);
  auto dim = static_cast<double>(rotated);
  const Rope::Scaling &scaling = rope.scaling();
  YarnRamp ramp(rope, dim);
  double theta = thetaAt(rope, dim, length);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rotated / 2; ++i) {
    double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / dim);
    if (scaling.has_linear())
      frequency /= scaling.linear().factor();
    else if (scaling.has_llama3())
      frequency = scaleLlama3(frequency, scaling.llama3());
    else if (scaling.has_yarn())
      frequency *= (1 - ramp.at(i)) + ramp.at(i) / scaling.yarn().factor();
    frequencies.push_back(frequency);
  }
  return frequencies;
}

double hocket::spec::ropeScoreFactor(const Rope &rope) {
  if (!rope.scaling().has_yarn())
    return 1;
  const Rope::Yarn &yarn = rope.scaling().yarn();
  double factor = yarn.has_attention_factor()
                      ? yarn.attention_factor()
                      : 0.1 * std::log(yarn.factor()) + 1;
  return factor * factor;
}
