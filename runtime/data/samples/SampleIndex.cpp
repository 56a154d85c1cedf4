//===- SampleIndex.cpp - Which tokens a sample is made of -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SampleIndex.h"

#include "runtime/data/samples/RandomState.h"

#include <limits>
#include <numeric>
#include <unistd.h>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

static Status tooManySamples(uint64_t samples, uint64_t sequenceLength) {
  return resourceExhausted(std::to_string(samples) + " samples of " +
                           std::to_string(sequenceLength) +
                           " tokens overflow 64 bits");
}

/// Whether so little of the last epoch is used that it is kept apart.
static bool hardlyUsed(uint64_t samplesOfFinal, uint64_t samplesPerEpoch) {
  return samplesOfFinal < uint64_t(0.80 * double(samplesPerEpoch));
}

StatusOr<EpochPlan> data::planEpochs(uint64_t tokensPerEpoch,
                                     uint64_t samplesWanted,
                                     uint64_t sequenceLength) {
  if (tokensPerEpoch == 0)
    return invalidArgument("expected documents with tokens, found none");
  if (sequenceLength == 0)
    return invalidArgument("expected a sequence length of at least 1, found 0");
  EpochPlan plan;
  plan.tokensPerEpoch = tokensPerEpoch;
  uint64_t wanted, total;
  if (__builtin_mul_overflow(samplesWanted, sequenceLength, &wanted) ||
      __builtin_add_overflow(wanted, 1, &wanted))
    return tooManySamples(samplesWanted, sequenceLength);
  plan.epochs = (wanted - 1) / tokensPerEpoch + 1;
  if (__builtin_mul_overflow(plan.epochs, tokensPerEpoch, &total))
    return tooManySamples(samplesWanted, sequenceLength);
  plan.samples = plan.shuffledTogether = (total - 1) / sequenceLength;
  if (plan.samples == 0)
    return invalidArgument(
        "expected at least " + std::to_string(sequenceLength) +
        " + 1 tokens for one sample, found " + std::to_string(total));
  if (plan.epochs > 1) {
    uint64_t before = (total - tokensPerEpoch - 1) / sequenceLength;
    plan.separateFinalEpoch = hardlyUsed(samplesWanted - before,
                                         (tokensPerEpoch - 1) / sequenceLength);
    if (plan.separateFinalEpoch)
      plan.shuffledTogether = before;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// The three indices
//===----------------------------------------------------------------------===//

static Status checkFits(const EpochPlan &plan, uint64_t sequences) {
  constexpr uint64_t limit = std::numeric_limits<uint32_t>::max();
  uint64_t positions;
  if (__builtin_mul_overflow(plan.epochs, sequences, &positions) ||
      positions >= limit || plan.samples >= limit)
    return resourceExhausted(
        std::to_string(plan.epochs) + " epochs of " +
        std::to_string(sequences) + " documents make " +
        std::to_string(plan.samples) +
        " samples; a sample index holds at most 4294967294 of either");
  uint64_t bytes = positions * sizeof(int32_t) +
                   (plan.samples + 1) * (sizeof(SampleStart) + 4);
  uint64_t memory =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (bytes > memory)
    return resourceExhausted("the sample index needs " + std::to_string(bytes) +
                             " bytes; this machine has " +
                             std::to_string(memory));
  return okStatus();
}

/// The documents of `request`, once per epoch; the last epoch shuffled by
/// itself if the plan says so.
static std::vector<int32_t> orderDocuments(const SampleIndexRequest &request,
                                           const EpochPlan &plan,
                                           RandomState &random) {
  uint64_t count = request.end - request.begin;
  std::vector<int32_t> documents(plan.epochs * count);
  for (uint64_t epoch = 0; epoch < plan.epochs; ++epoch)
    std::iota(documents.begin() + epoch * count,
              documents.begin() + (epoch + 1) * count, int32_t(request.begin));
  std::span<int32_t> all(documents);
  if (!plan.separateFinalEpoch) {
    random.shuffle(all);
    return documents;
  }
  random.shuffle(all.first(all.size() - count));
  random.shuffle(all.last(count));
  return documents;
}

std::vector<SampleStart> data::cutSamples(std::span<const int32_t> lengths,
                                          std::span<const int32_t> documents,
                                          uint64_t samples,
                                          uint64_t sequenceLength) {
  std::vector<SampleStart> starts(samples + 1);
  uint64_t position = 0, offset = 0;
  for (uint64_t sample = 1; sample <= samples; ++sample) {
    // Tokens still missing from the last sample, the shared one included.
    uint64_t missing = sequenceLength + 1;
    while (true) {
      uint64_t rest = uint64_t(lengths[documents[position]]) - offset;
      if (rest >= missing) {
        offset += missing - 1;
        break;
      }
      missing -= rest;
      offset = 0;
      ++position;
    }
    starts[sample] = {uint32_t(position), uint32_t(offset)};
  }
  return starts;
}

/// 0 .. samples-1 in the order of use.
static std::vector<uint32_t> orderSamples(const EpochPlan &plan,
                                          RandomState &random) {
  std::vector<uint32_t> order(plan.samples);
  std::iota(order.begin(), order.end(), 0u);
  std::span<uint32_t> all(order);
  random.shuffle(all.first(plan.shuffledTogether));
  if (plan.separateFinalEpoch)
    random.shuffle(all.subspan(plan.shuffledTogether));
  return order;
}

StatusOr<SampleIndex>
data::buildSampleIndex(const SampleIndexRequest &request) {
  uint64_t tokens = 0;
  for (uint64_t i = request.begin; i < request.end; ++i)
    tokens += uint64_t(request.lengths[i]);
  HOCKET_ASSIGN_OR_RETURN(EpochPlan plan, planEpochs(tokens, request.samples,
                                                     request.sequenceLength));
  HOCKET_RETURN_IF_ERROR(checkFits(plan, request.end - request.begin));
  RandomState random(request.seed);
  SampleIndex index;
  index.plan = plan;
  index.documents = orderDocuments(request, plan, random);
  index.starts = cutSamples(request.lengths, index.documents, plan.samples,
                            request.sequenceLength);
  index.shuffle = orderSamples(plan, random);
  return index;
}
