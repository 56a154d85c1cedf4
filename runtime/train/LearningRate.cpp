//===- LearningRate.cpp - Learning rate schedules -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LearningRate.h"

#include "runtime/base/Format.h"

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

static bool decays(const std::string &name) {
  return name == "linear" || name == "cosine" || name == "inverse_sqrt" ||
         name == "wsd";
}

double hocket::learningRateAt(const program::LearningRate &schedule,
                              uint64_t stepsDone) {
  const std::string &name = schedule.schedule();
  double t = double(stepsDone), warmup = double(schedule.warmup_steps());
  double peak = schedule.peak(), minimum = schedule.minimum();
  if (schedule.warmup_steps() > 0 && stepsDone <= schedule.warmup_steps())
    return peak * t / warmup;
  if (!decays(name))
    return peak;
  if (stepsDone > schedule.decay_steps())
    return minimum;
  if (name == "inverse_sqrt")
    return std::max(minimum,
                    peak * std::sqrt(std::max(warmup, 1.0) / std::max(t, 1.0)));
  return minimum + (peak - minimum) * decayFactor(schedule, t);
}

std::optional<uint64_t>
hocket::firstStepAfterDecay(const program::LearningRate &schedule) {
  if (!decays(schedule.schedule()) || schedule.peak() <= schedule.minimum())
    return std::nullopt;
  // Some schedules arrive at the minimum with the last step of the decay.
  uint64_t end = schedule.decay_steps();
  return learningRateAt(schedule, end) <= schedule.minimum() ? end + 1
                                                             : end + 2;
}

std::optional<std::string>
hocket::decayNotice(const program::LearningRate &schedule, uint64_t first,
                    uint64_t last) {
  std::optional<uint64_t> after = firstStepAfterDecay(schedule);
  if (!after || *after > last || first > last)
    return std::nullopt;
  first = std::max(first, *after);
  std::string steps = "step " + formatGrouped(last) + " trains";
  if (first < last)
    steps = "steps " + formatGrouped(first) + " to " + formatGrouped(last) +
            " train";
  return steps +
         formatText(" at learning rate %g: its decay ends after step %llu. To "
                    "stretch it, compile with --set "
                    "training.learning_rate.decay_steps=%llu",
                    schedule.minimum(),
                    (unsigned long long)schedule.decay_steps(),
                    (unsigned long long)last);
}
