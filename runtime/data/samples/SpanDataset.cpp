//===- SpanDataset.cpp - Samples of corrupted spans -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SpanDataset.h"

#include "base/Quantity.h"
#include "runtime/data/samples/RandomState.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static Status checkLengths(const GptDatasetOptions &options,
                           const SpanLengths &lengths) {
  const SpanOptions &spans = *options.spans;
  if (lengths.labels() > options.sequenceLength)
    return invalidArgument("an encoder of " +
                           formatNoun(spans.encoderLength, "token") +
                           " leaves " + std::to_string(lengths.labels()) +
                           " to the decoder, whose sequences have " +
                           std::to_string(options.sequenceLength));
  if (lengths.spans > spans.sentinels ||
      int64_t(lengths.spans) > int64_t(spans.firstSentinel) + 1)
    return invalidArgument(
        "a sample has " + formatNoun(lengths.spans, "span") +
        ", and there are " + formatNoun(spans.sentinels, "sentinel") +
        " from token " + std::to_string(spans.firstSentinel) + " down");
  return okStatus();
}

StatusOr<std::unique_ptr<SpanDataset>>
SpanDataset::create(const std::shared_ptr<const IndexedDataset> &file,
                    const GptDatasetOptions &options, Split split,
                    uint64_t samples) {
  const SpanOptions &spans = *options.spans;
  if (spans.encoderLength < 4 || !(spans.noiseDensity > 0) ||
      !(spans.noiseDensity < 1) || !(spans.meanSpanLength >= 1))
    return invalidArgument("spans are corrupted in encoders of 4 tokens or "
                           "more, with a share of noise between 0 and 1 and a "
                           "mean length of 1 or more");
  SpanLengths lengths = SpanLengths::fitting(
      spans.encoderLength, spans.noiseDensity, spans.meanSpanLength);
  HOCKET_RETURN_IF_ERROR(checkLengths(options, lengths));
  GptDatasetOptions runOptions = options;
  runOptions.sequenceLength = lengths.tokens; // One more is read, in vain.
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<GptDataset> runs,
                          GptDataset::create(file, runOptions, split, samples));
  if (runs->lossMask())
    return invalidArgument(file->prefix() +
                           ": holds conversations, of which spans are not "
                           "corrupted; prepare texts");
  return std::unique_ptr<SpanDataset>(
      new SpanDataset(std::move(runs), options, lengths));
}

//===----------------------------------------------------------------------===//
// A sample
//===----------------------------------------------------------------------===//

/// Cuts `items` into `segments`, of one at least, and gives their lengths.
static std::vector<uint64_t> segmentLengths(uint64_t items, uint64_t segments,
                                            RandomState &random) {
  std::vector<uint8_t> begins(items - 1); // Of all but the first item.
  std::fill_n(begins.begin(), segments - 1, uint8_t(1));
  random.shuffle(std::span<uint8_t>(begins));
  std::vector<uint64_t> lengths(1, 1);
  for (uint8_t isFirst : begins)
    if (isFirst)
      lengths.push_back(1);
    else
      ++lengths.back();
  return lengths;
}

Status SpanDataset::readSpans(uint64_t sample, SpanSample &out) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  if (out.encoder.size() != spans.encoderLength ||
      out.tokens.size() != options.sequenceLength ||
      out.labels.size() != out.tokens.size())
    return internalError("a sample of corrupted spans needs room for " +
                         std::to_string(spans.encoderLength) + " and " +
                         std::to_string(options.sequenceLength) + " tokens");
  std::vector<int32_t> run(lengths.tokens + 1);
  HOCKET_RETURN_IF_ERROR(runs->read(sample, run));
  RandomState random(uint32_t(options.seed + sample));
  std::vector<uint64_t> noise =
      segmentLengths(lengths.noise, lengths.spans, random);
  std::vector<uint64_t> left =
      segmentLengths(lengths.tokens - lengths.noise, lengths.spans, random);

  std::ranges::fill(out.encoder, spans.pad);
  std::ranges::fill(out.tokens, spans.pad);
  std::ranges::fill(out.labels, -1);
  auto from = run.begin();
  auto encoder = out.encoder.begin(), labels = out.labels.begin();
  auto take = [&](uint64_t count, auto &to) {
    to = std::copy_n(from, count, to);
    from += ptrdiff_t(count);
  };
  for (uint64_t i = 0; i < lengths.spans; ++i) {
    auto sentinel = int32_t(spans.firstSentinel - int64_t(i));
    take(left[i], encoder);
    *encoder++ = *labels++ = sentinel;
    take(noise[i], labels);
  }
  *encoder = *labels++ = spans.end;
  // The decoder begins with padding and sees the label before each.
  std::copy(out.labels.begin(), labels - 1, out.tokens.begin() + 1);
  return okStatus();
}

Status SpanDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  if (tokens.size() != options.sequenceLength + 1)
    return internalError("a sample needs room for " +
                         std::to_string(options.sequenceLength + 1) +
                         " tokens, not " + std::to_string(tokens.size()));
  std::vector<int32_t> encoder(spans.encoderLength),
      labels(options.sequenceLength);
  SpanSample out{encoder, tokens.first(options.sequenceLength), labels};
  tokens.back() = spans.pad;
  return readSpans(sample, out);
}

StatusOr<std::vector<SampleSegment>>
SpanDataset::segments(uint64_t sample) const {
  HOCKET_ASSIGN_OR_RETURN(std::vector<SampleSegment> all,
                          runs->segments(sample));
  // Without the token behind the last one.
  if (!all.empty() && --all.back().length == 0)
    all.pop_back();
  return all;
}
