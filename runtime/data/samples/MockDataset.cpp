//===- MockDataset.cpp - Samples of random tokens -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/MockDataset.h"

#include "base/Format.h"

#include <random>

using namespace hocket;
using namespace hocket::data;

/// What samples hold beside tokens; null: nothing.
static const char *moreThanTokens(const GptDatasetOptions &options) {
  return options.prefix      ? "prefixes"
         : options.masked    ? "masked tokens"
         : options.spans     ? "corrupted spans"
         : options.classes   ? "labelled texts"
         : options.images    ? "images"
         : options.retrieval ? "retrieved texts"
                             : nullptr;
}

StatusOr<std::unique_ptr<SampleSource>>
MockDataset::create(const GptDatasetOptions &options, Split split,
                    uint64_t samples) {
  if (const char *more = moreThanTokens(options))
    return invalidArgument(std::string("--mock-data makes plain sequences of "
                                       "tokens, and this model learns from ") +
                           more + "; give it --data");
  return std::unique_ptr<SampleSource>(
      new MockDataset(options, split, samples));
}

Status MockDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  if (sample >= samples)
    return invalidArgument(formatText("there is no sample %llu, of %llu",
                                      (unsigned long long)sample,
                                      (unsigned long long)samples));
  // The standard defines what these give: the same on every machine.
  std::seed_seq place = {
      static_cast<uint32_t>(seed), static_cast<uint32_t>(split),
      static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)};
  std::mt19937 random(place);
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(uint64_t(random()) * vocabulary >> 32);
  return okStatus();
}
