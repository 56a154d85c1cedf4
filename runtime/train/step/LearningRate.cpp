//===- LearningRate.cpp - Learning rate schedules -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/LearningRate.h"

#include "base/Format.h"
#include "runtime/program/Entries.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace hocket;

/// `part` of `whole`, from 0 to 1; 1 where there is nothing to divide.
static double fraction(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 1.0;
}

namespace {
/// Of a schedule's parts, in steps or in samples.
struct Lengths {
  uint64_t warmup = 0, decay = 0, wsdDecay = 0;

  explicit Lengths(const program::LearningRate &schedule)
      : warmup(schedule.warmup_steps()), decay(schedule.decay_steps()),
        wsdDecay(schedule.wsd_decay_steps()) {
    if (!isInSamples(schedule))
      return;
    warmup = schedule.warmup_samples();
    decay = schedule.decay_samples();
    wsdDecay = schedule.wsd_decay_samples();
  }
};
} // namespace

bool hocket::isInSamples(const program::LearningRate &schedule) {
  return schedule.decay_samples() > 0;
}

/// The factor of (peak - minimum) after warm-up, before the end of decay.
static double decayFactor(const std::string &schedule, const Lengths &lengths,
                          double t) {
  double warmup = double(lengths.warmup), decay = double(lengths.decay);
  if (schedule == "wsd") {
    double last = double(lengths.wsdDecay);
    double start = decay - last;
    return t <= start ? 1 : 2 * std::pow(0.5, fraction(t - start, last)) - 1;
  }
  double ratio = fraction(t - warmup, decay - warmup);
  if (schedule == "linear")
    return 1 - ratio;
  return (std::cos(std::numbers::pi * ratio) + 1) / 2;
}

static bool decays(const std::string &name) {
  return name == "linear" || name == "cosine" || name == "inverse_sqrt" ||
         name == "wsd";
}

double hocket::learningRateAt(const program::LearningRate &schedule,
                              uint64_t done) {
  const std::string &name = schedule.schedule();
  Lengths lengths(schedule);
  double t = double(done), warmup = double(lengths.warmup);
  double peak = schedule.peak(), minimum = schedule.minimum();
  if (lengths.warmup > 0 && done <= lengths.warmup)
    return peak * t / warmup;
  if (!decays(name))
    return peak;
  if (done > lengths.decay)
    return minimum;
  if (name == "inverse_sqrt")
    return std::max(minimum,
                    peak * std::sqrt(std::max(warmup, 1.0) / std::max(t, 1.0)));
  return minimum + (peak - minimum) * decayFactor(name, lengths, t);
}

std::optional<uint64_t>
hocket::firstStepAfterDecay(const program::TrainingInfo &training) {
  const program::LearningRate &schedule = training.learning_rate();
  if (!decays(schedule.schedule()) || schedule.peak() <= schedule.minimum())
    return std::nullopt;
  // Some schedules arrive at the minimum with the end of the decay.
  uint64_t end = Lengths(schedule).decay;
  if (learningRateAt(schedule, end) > schedule.minimum())
    ++end;
  if (!isInSamples(schedule))
    return end + 1;
  BatchSizes sizes = batchSizesOf(training);
  uint64_t steps = sizes.stepsIn(end);
  return steps + (sizes.samplesIn(steps) < end ? 2 : 1);
}

std::optional<std::string>
hocket::decayNotice(const program::TrainingInfo &training, uint64_t first,
                    uint64_t last) {
  const program::LearningRate &schedule = training.learning_rate();
  std::optional<uint64_t> after = firstStepAfterDecay(training);
  if (!after || *after > last || first > last)
    return std::nullopt;
  first = std::max(first, *after);
  std::string steps = "step " + formatGrouped(last) + " trains";
  if (first < last)
    steps = "steps " + formatGrouped(first) + " to " + formatGrouped(last) +
            " train";
  bool inSamples = isInSamples(schedule);
  uint64_t reach =
      inSamples ? batchSizesOf(training).samplesIn(last).value_or(0) : last;
  return steps +
         formatText(" at learning rate %g: its decay ends after %s %llu. To "
                    "stretch it, compile with --set "
                    "training.learning_rate.decay_%s=%llu",
                    schedule.minimum(), inSamples ? "sample" : "step",
                    (unsigned long long)Lengths(schedule).decay,
                    inSamples ? "samples" : "steps", (unsigned long long)reach);
}
