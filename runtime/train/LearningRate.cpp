//===- LearningRate.cpp - Learning rate schedules -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace hocket;

/// `part` of `whole`, from 0 to 1; 1 where there is nothing to divide.
static double fraction(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 1.0;
}

/// The factor of (peak - minimum) after warm-up, before the end of decay.
static double decayFactor(const program::LearningRate &schedule, double t) {
  double warmup = double(schedule.warmup_steps());
  double decay = double(schedule.decay_steps());
  if (schedule.schedule() == "wsd") {
    double last = double(schedule.wsd_decay_steps());
    double start = decay - last;
    return t <= start ? 1 : 2 * std::pow(0.5, fraction(t - start, last)) - 1;
  }
  double ratio = fraction(t - warmup, decay - warmup);
  if (schedule.schedule() == "linear")
    return 1 - ratio;
  return (std::cos(std::numbers::pi * ratio) + 1) / 2;
}

double hocket::learningRateAt(const program::LearningRate &schedule,
                              uint64_t stepsDone) {
  const std::string &name = schedule.schedule();
  double t = double(stepsDone), warmup = double(schedule.warmup_steps());
  double peak = schedule.peak(), minimum = schedule.minimum();
  if (schedule.warmup_steps() > 0 && stepsDone <= schedule.warmup_steps())
    return peak * t / warmup;
  bool decays = name == "linear" || name == "cosine" ||
                name == "inverse_sqrt" || name == "wsd";
  if (!decays)
    return peak;
  if (stepsDone > schedule.decay_steps())
    return minimum;
  if (name == "inverse_sqrt")
    return std::max(minimum,
                    peak * std::sqrt(std::max(warmup, 1.0) / std::max(t, 1.0)));
  return minimum + (peak - minimum) * decayFactor(schedule, t);
}
