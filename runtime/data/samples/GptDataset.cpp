//===- GptDataset.cpp - Samples of one token file -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/GptDataset.h"

#include "runtime/data/samples/RandomState.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::data;

static Status checkOptions(const GptDatasetOptions &options) {
  if (options.vocabularySize == 0 || options.vocabularySize > 1ull << 31)
    return invalidArgument(
        "expected a vocabulary of 1 to 2147483648 entries, found " +
        std::to_string(options.vocabularySize));
  return okStatus();
}

StatusOr<std::unique_ptr<GptDataset>>
GptDataset::create(std::shared_ptr<const IndexedDataset> file,
                   const GptDatasetOptions &options, Split split,
                   uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkSeed(options.seed));
  HOCKET_RETURN_IF_ERROR(checkOptions(options));
  HOCKET_ASSIGN_OR_RETURN(std::optional<LossMask> mask,
                          LossMask::open(file->prefix(), file->tokens()));
  if (mask && mask->head().sequenceLength != options.sequenceLength)
    return invalidArgument(
        file->prefix() + ": conversations are packed into sequences of " +
        std::to_string(mask->head().sequenceLength) +
        " tokens, and a sample has " + std::to_string(options.sequenceLength) +
        "; prepare them again with --pack " +
        std::to_string(options.sequenceLength));
  if (mask && options.prefix)
    return invalidArgument(
        file->prefix() +
        ": conversations share sequences, each of which has one prefix; "
        "prepare texts, or train with model.attention_mask: CAUSAL");
  HOCKET_ASSIGN_OR_RETURN(
      SplitBounds bounds,
      parseSplitBounds(options.splitWeights, file->sequences()));
  SampleIndexRequest request;
  request.begin = bounds[size_t(split)];
  request.end = bounds[size_t(split) + 1];
  request.samples = samples;
  request.sequenceLength = options.sequenceLength;
  request.seed = uint32_t(options.seed);
  auto order = SampleOrder::open(*file, request, options.cache);
  if (!order.ok())
    return order.status().withContext(
        file->prefix() + ": split " + std::string(splitName(split)) + " (" +
        std::to_string(request.end - request.begin) + " of " +
        std::to_string(file->sequences()) + " sequences)");
  return std::unique_ptr<GptDataset>(new GptDataset(
      std::move(file), options, *std::move(order), std::move(mask)));
}

template <typename Visit>
Status GptDataset::visitSegments(uint64_t sample, Visit visit) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(SampleStart start, order.startOf(sample));
  uint64_t position = start.position, offset = start.offset;
  std::array<int32_t, 16> sequences;
  size_t known = 0, next = 0;
  for (uint64_t missing = options.sequenceLength + 1; missing;) {
    if (next == known) {
      HOCKET_ASSIGN_OR_RETURN(known, order.documentsAt(position, sequences));
      next = 0;
    }
    auto sequence = uint64_t(sequences[next]);
    // What stands in files may be anything.
    uint64_t size = 0;
    if (sequence < file->sequences()) {
      HOCKET_ASSIGN_OR_RETURN(size, file->length(sequence));
    }
    if (sequence >= file->sequences() || offset > size)
      return dataLoss(file->prefix() +
                      ": the sample index is not of this "
                      "data: sample " +
                      std::to_string(sample) + " begins at token " +
                      std::to_string(offset) + " of sequence " +
                      std::to_string(sequence));
    uint64_t length = std::min(missing, size - offset);
    if (length)
      HOCKET_RETURN_IF_ERROR(visit(sequence, offset, length));
    missing -= length;
    offset = 0;
    ++position;
    ++next;
  }
  return okStatus();
}

Status GptDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  if (tokens.size() != options.sequenceLength + 1)
    return internalError("a sample needs room for " +
                         std::to_string(options.sequenceLength + 1) +
                         " tokens, not " + std::to_string(tokens.size()));
  return visitSegments(
      sample, [&](uint64_t sequence, uint64_t offset, uint64_t length) {
        Status status = file->read(sequence, offset, options.vocabularySize,
                                   tokens.first(length));
        tokens = tokens.subspan(length);
        return status;
      });
}

uint64_t GptDataset::prefixTokens(uint64_t sample) const {
  double length = double(options.sequenceLength);
  auto least = std::max<uint64_t>(1, uint64_t(options.prefix->least * length));
  auto most = std::max(least, uint64_t(options.prefix->most * length));
  RandomState random(uint32_t(options.seed + sample));
  return least + random.interval(most - least);
}

Status GptDataset::readLearned(uint64_t sample,
                               std::span<uint8_t> learned) const {
  if (options.prefix) {
    HOCKET_RETURN_IF_ERROR(checkSample(sample));
    uint64_t prefix = prefixTokens(sample);
    std::ranges::fill(learned.first(prefix), uint8_t(0));
    std::ranges::fill(learned.subspan(prefix), uint8_t(1));
    return okStatus();
  }
  if (!mask)
    return SampleSource::readLearned(sample, learned);
  return visitSegments(
      sample,
      [&](uint64_t sequence, uint64_t offset, uint64_t length) -> Status {
        HOCKET_ASSIGN_OR_RETURN(uint64_t begin, file->byteOffset(sequence));
        Status status =
            mask->read(begin / tokenBytes(file->tokenType()) + offset,
                       learned.first(length));
        learned = learned.subspan(length);
        return status;
      });
}

StatusOr<std::vector<SampleSegment>>
GptDataset::segments(uint64_t sample) const {
  std::vector<SampleSegment> result;
  HOCKET_RETURN_IF_ERROR(visitSegments(
      sample, [&](uint64_t sequence, uint64_t offset, uint64_t length) {
        result.push_back({file->prefix(), sequence, offset, length});
        return okStatus();
      }));
  return result;
}
