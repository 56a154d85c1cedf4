//===- Split.cpp - Train, validation and test -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "runtime/data/samples/SampleIndex.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace hocket;
using namespace hocket::data;

std::string_view data::splitName(Split split) {
  constexpr std::string_view names[] = {"train", "valid", "test"};
  return names[size_t(split)];
}

StatusOr<Split> data::parseSplit(std::string_view name) {
  for (Split split : {Split::Train, Split::Valid, Split::Test})
    if (splitName(split) == name)
      return split;
  return invalidArgument("expected the split train, valid or test, found '" +
                         std::string(name) + "'");
}

static Status badSplit(const std::string &text, const char *why) {
  return invalidArgument("data split '" + text + "': " + why +
                         "; expected up to three weights such as 969,30,1");
}

/// The weights of "969,30,1"; those left out are 0.
static StatusOr<std::array<double, 3>> parseWeights(const std::string &text) {
  std::array<double, 3> weights{};
  const char *at = text.data(), *end = at + text.size();
  for (size_t i = 0;; ++i) {
    if (i == weights.size())
      return badSplit(text, "more than three weights");
    auto [next, error] = std::from_chars(at, end, weights[i]);
    if (error != std::errc() || !std::isfinite(weights[i]))
      return badSplit(text, "not a number");
    if (weights[i] < 0)
      return badSplit(text, "a weight is negative");
    if (next == end)
      return weights;
    if (*next != ',')
      return badSplit(text, "not a number");
    at = next + 1;
  }
}

StatusOr<SplitBounds> data::parseSplitBounds(const std::string &text,
                                             uint64_t sequences) {
  HOCKET_ASSIGN_OR_RETURN(auto weights, parseWeights(text));
  double sum = weights[0] + weights[1] + weights[2];
  if (!(sum > 0) || !std::isfinite(sum))
    return badSplit(text, "the weights do not sum to a positive number");
  SplitBounds bounds{};
  double fraction = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    // The order of these roundings is part of the format. nearbyint rounds
    // half to even in the default mode.
    fraction += weights[i] / sum;
    double bound = std::nearbyint(fraction * double(sequences));
    bounds[i + 1] = std::min(uint64_t(bound), sequences);
  }
  return bounds;
}

StatusOr<uint64_t> data::samplesOfRun(const RunLength &run, Split split) {
  uint64_t validations =
      run.validInterval ? run.steps / run.validInterval + 1 : 1;
  if (split == Split::Train && run.trainSamples)
    return *run.trainSamples;
  std::optional<uint64_t> batches = run.steps;
  if (split == Split::Valid)
    batches = checkedMultiply(validations, run.validBatches);
  if (split == Split::Test)
    batches = run.validBatches;
  auto samples =
      batches ? checkedMultiply(*batches, run.globalBatchSize) : std::nullopt;
  if (samples)
    return *samples;
  return invalidArgument(std::to_string(run.steps) + " steps of " +
                         std::to_string(run.globalBatchSize) + " samples and " +
                         std::to_string(validations) + " validations of " +
                         std::to_string(run.validBatches) +
                         " batches overflow 64 bits");
}
