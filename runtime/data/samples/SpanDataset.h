//===- SpanDataset.h - Samples of corrupted spans ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A split of a token file for an encoder and a decoder. A sample is a run of
/// tokens as a GptDataset cuts and orders them, across the ends of documents;
/// SpanLengths.h says of how many. Which of them are noise is drawn as T5 draws
/// it, from NumPy's RandomState(seed + sample) whenever the sample is read: how
/// long the spans of noise are, and then how long what stands before each is,
/// all ways of cutting both being as likely. With spans of 2 and 1 tokens:
///
///   tokens    a b c d e f g
///   noise         c d     g
///   encoder   a b <0> e f <1> <end>
///   labels    <0> c d <1> g <end>
///   decoder   <pad> <0> c d <1> g
///
/// Sentinels count down from the first one, as T5's vocabularies have them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SPANDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SPANDATASET_H

#include "base/SpanLengths.h"
#include "runtime/data/samples/GptDataset.h"

namespace hocket::data {

class SpanDataset : public SampleSource {
public:
  /// The split `split` of `file`, with at least `samples` samples; 0 asks for
  /// one epoch. `options.spans` is there. InvalidArgument if the labels do not
  /// fit a sequence, if there are not enough sentinels, if the split has no
  /// tokens, or if the file has conversations, of which some tokens alone are
  /// learned.
  static StatusOr<std::unique_ptr<SpanDataset>>
  create(const std::shared_ptr<const IndexedDataset> &file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return runs->size(); }
  uint64_t sequenceLength() const override { return options.sequenceLength; }
  uint64_t encoderLength() const override { return spans.encoderLength; }
  /// What the decoder sees, and one of padding.
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  Status readSpans(uint64_t sample, SpanSample &out) const override;
  /// Of the tokens before spans were replaced.
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

private:
  SpanDataset(std::unique_ptr<GptDataset> runs,
              const GptDatasetOptions &options, SpanLengths lengths)
      : runs(std::move(runs)), options(options), spans(*options.spans),
        lengths(lengths) {}

  std::unique_ptr<GptDataset> runs;
  GptDatasetOptions options;
  SpanOptions spans;
  SpanLengths lengths;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SPANDATASET_H
