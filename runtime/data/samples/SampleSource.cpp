//===- SampleSource.cpp - What most sources of samples do alike -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SampleSource.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

Status SampleSource::checkSeed(uint64_t seed) {
  if (seed <= 0xffffffffu)
    return okStatus();
  return invalidArgument("expected a data seed below 4294967296, found " +
                         std::to_string(seed));
}

Status SampleSource::checkSample(uint64_t sample) const {
  if (sample < size())
    return okStatus();
  return invalidArgument("sample " + std::to_string(sample) +
                         " does not exist; there are " +
                         std::to_string(size()) + " samples");
}

Status SampleSource::readLearned(uint64_t sample,
                                 std::span<uint8_t> learned) const {
  std::fill(learned.begin(), learned.end(), uint8_t(1));
  return checkSample(sample);
}

Status SampleSource::readFramed(uint64_t sample, FramedSample &) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return internalError("these samples are not made for an encoder");
}

Status SampleSource::readSpans(uint64_t sample, SpanSample &) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return internalError("these samples have no corrupted spans");
}

Status SampleSource::readImages(uint64_t sample, ImageSample &) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return internalError("these samples have no images");
}

Status SampleSource::readNeighbors(uint64_t sample, std::span<int32_t>) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return internalError("nothing was retrieved for these samples");
}

Status SampleSource::beginFramed(uint64_t sample, int32_t pad,
                                 FramedSample &out) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  uint64_t length = sequenceLength();
  if (out.tokens.size() != length || out.labels.size() != length ||
      out.types.size() != length)
    return internalError("a sample needs room for " + std::to_string(length) +
                         " tokens");
  std::ranges::fill(out.tokens, pad);
  std::ranges::fill(out.labels, -1);
  std::ranges::fill(out.types, 0);
  return okStatus();
}

Status SampleSource::readFramedTokens(uint64_t sample, int32_t pad,
                                      std::span<int32_t> tokens) const {
  uint64_t length = sequenceLength();
  if (tokens.size() != length + 1)
    return internalError("a sample needs room for " +
                         std::to_string(length + 1) + " tokens, not " +
                         std::to_string(tokens.size()));
  std::vector<int32_t> rest(2 * length);
  FramedSample out;
  out.tokens = tokens.first(length);
  out.labels = std::span(rest).first(length);
  out.types = std::span(rest).subspan(length);
  tokens.back() = pad;
  return readFramed(sample, out);
}
