//===- Progress.cpp - What a run reports, for people ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/Progress.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <cmath>

using namespace hocket;

/// What is no number has no sign either: "nan", not "-nan".
static double shown(double value) {
  return std::isnan(value) ? std::nan("") : value;
}

Progress::Progress(uint64_t interval, uint64_t totalSteps, BatchSizes sizes)
    : interval(interval ? interval : 10), totalSteps(totalSteps),
      sizes(std::move(sizes)) {}

double Progress::secondsLeft(double perStep) const {
  if (totalSteps <= latest.step)
    return 0;
  uint64_t all = sizes.samplesIn(totalSteps).value_or(UINT64_MAX),
           done = sizes.samplesIn(latest.step).value_or(0),
           before = sizes.samplesIn(latest.step - 1).value_or(0);
  return double(all - done) / double(done - before) * perStep;
}

std::optional<std::string> Progress::add(const StepRecord &record) {
  ++added;
  recentSeconds =
      added <= 2 ? record.seconds : 0.9 * recentSeconds + 0.1 * record.seconds;
  latest = record;
  ++steps;
  seconds += record.seconds;
  tokens += record.tokensPerSecond * record.seconds;
  if (std::isfinite(record.loss))
    lossSum += record.loss;
  else
    ++nanSteps;
  skippedSteps += record.skipped.value_or(false);
  reruns += record.rerun;
  if (added > 1 && record.step % interval != 0 && record.step != totalSteps)
    return std::nullopt;
  std::string text = line(record);
  steps = skippedSteps = nanSteps = reruns = 0;
  lossSum = seconds = tokens = 0;
  return text;
}

std::string Progress::line(const StepRecord &last) const {
  double perStep = seconds / double(steps);
  std::string text = formatText(
      "iteration %8llu/%8llu | consumed samples: %12llu | elapsed time per "
      "iteration (ms): %.1f | learning rate: %.6E",
      (unsigned long long)last.step, (unsigned long long)totalSteps,
      (unsigned long long)last.consumedSamples, perStep * 1e3,
      last.learningRate);
  if (sizes.sizes().size() > 1)
    text += formatText(" | global batch size: %5llu",
                       (unsigned long long)last.batchSize);
  // A mean over no finite loss is no number either.
  text += formatText(" | lm loss: %.6E",
                     steps > nanSteps ? lossSum / double(steps - nanSteps)
                                      : std::nan(""));
  if (last.lossScale)
    text += formatText(" | loss scale: %.1f", *last.lossScale);
  if (last.gradNorm)
    text += formatText(" | grad norm: %.3f", shown(*last.gradNorm));
  double rate = seconds > 0 ? tokens / seconds : 0;
  text += " | tokens/s: " + formatGrouped(uint64_t(std::llround(rate)));
  if (skippedSteps)
    text += formatText(" | number of skipped iterations: %llu",
                       (unsigned long long)skippedSteps);
  if (nanSteps)
    text += formatText(" | number of nan iterations: %llu",
                       (unsigned long long)nanSteps);
  if (reruns)
    text +=
        formatText(" | number of iterations run with room for all rows: %llu",
                   (unsigned long long)reruns);
  return text + " | time left: " + formatDuration(secondsLeft(perStep));
}

std::string Progress::brief() const {
  double tokens = latest.tokensPerSecond * latest.seconds;
  double rate = recentSeconds > 0 ? tokens / recentSeconds : 0;
  return "step " + formatGrouped(latest.step) + " of " +
         formatGrouped(totalSteps) +
         formatText(" (%.0f %%) | lm loss: %.4f | ",
                    100 * double(latest.step) / double(totalSteps),
                    shown(latest.loss)) +
         formatGrouped(uint64_t(std::llround(rate))) +
         " tokens/s | time left: " + formatDuration(secondsLeft(recentSeconds));
}

std::string Progress::line(const ValidationRecord &record) {
  if (record.classes) {
    std::string epoch =
        record.epoch ? ", epoch " + formatRounded(*record.epoch, 2) : "";
    return formatText("validation loss at iteration %llu%s: %.6E | ",
                      (unsigned long long)record.step, epoch.c_str(),
                      shown(record.loss)) +
           textOf(*record.classes) +
           " | time: " + formatDuration(record.seconds);
  }
  return formatText("validation loss at iteration %llu: %.6E | perplexity: "
                    "%.3f | samples: %llu | time: ",
                    (unsigned long long)record.step, shown(record.loss),
                    shown(std::exp(record.loss)),
                    (unsigned long long)record.samples) +
         formatDuration(record.seconds);
}
