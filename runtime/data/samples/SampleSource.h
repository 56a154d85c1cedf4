//===- SampleSource.h - Training samples by number --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The samples of one split in the order of training: sample 0 is the first
/// that any run with this seed sees, whatever its plan. Reading is safe from
/// several threads.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SAMPLESOURCE_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SAMPLESOURCE_H

#include "base/Status.h"
#include "runtime/data/LossMask.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

/// A run of tokens of one sequence of a token file.
struct SampleSegment {
  std::string prefix;
  uint64_t sequence = 0;
  uint64_t offset = 0; ///< First token, counted within the sequence.
  uint64_t length = 0;
};

/// A sample for an encoder, whose texts stand between [CLS] and [SEP]; the
/// spans of sequenceLength() entries each.
struct FramedSample {
  std::span<int32_t> tokens; ///< As the model sees them; padding at the end.
  /// Of tokens to be told; or of the first token, the class; -1 elsewhere.
  std::span<int32_t> labels;
  std::span<int32_t> types; ///< 0, and 1 in the second text.
  uint64_t length = 0;      ///< Tokens that are no padding.
  bool isSwapped = false;   ///< Its second text comes first in the document.
};

/// A sample of corrupted spans (SpanDataset.h).
struct SpanSample {
  std::span<int32_t> encoder; ///< encoderLength() tokens; padding at the end.
  std::span<int32_t> tokens;  ///< What the decoder sees, sequenceLength().
  std::span<int32_t> labels;  ///< As many; -1 behind the last one.
};

/// What the images of samples are made of; images = 0: samples have none.
struct ImageShape {
  uint64_t images = 0;  ///< The most that a sample has.
  uint64_t patches = 0; ///< Of an image,
  uint64_t width = 0;   ///< of so many elements each.
  int32_t token = -1;   ///< What stands in their place.

  uint64_t floats() const { return images * patches * width; }
};

/// The images of a sample (ImageDataset.h).
struct ImageSample {
  std::span<float> pixels; ///< [images, patches, width]; 0 where there is none.
  /// Which row stands in the place of a token, -1 for none; sequenceLength().
  std::span<int32_t> rows;
};

/// What was retrieved for samples; neighbors = 0: nothing. A sample has
/// sequenceLength() / chunkLength chunks.
struct NeighborShape {
  uint64_t chunkLength = 0;     ///< Tokens of a sample,
  uint64_t neighbors = 0;       ///< for which there are so many texts,
  uint64_t retrievedLength = 0; ///< of so many tokens each.

  /// Of all neighbours of a sample of `length` tokens.
  uint64_t tokens(uint64_t length) const {
    return neighbors == 0 ? 0
                          : length / chunkLength * neighbors * retrievedLength;
  }
};

/// How many tokens stand before the first that is learned.
inline uint64_t prefixOf(std::span<const uint8_t> learned) {
  auto first = std::find(learned.begin(), learned.end(), uint8_t(1));
  return uint64_t(first - learned.begin());
}

class SampleSource {
public:
  virtual ~SampleSource() = default;

  /// Number of samples.
  virtual uint64_t size() const = 0;

  /// Tokens that a sample trains on; one more is read, the last label.
  virtual uint64_t sequenceLength() const = 0;

  /// Fills `tokens`, of sequenceLength() + 1 entries. InvalidArgument if
  /// `sample` is not below size().
  virtual Status read(uint64_t sample, std::span<int32_t> tokens) const = 0;

  /// What conversations were prepared with (LossMask.h); nothing where every
  /// token is learned.
  virtual std::optional<LossMaskHead> lossMask() const { return {}; }

  /// Whether the tokens before the first that is learned see each other.
  virtual bool hasPrefixes() const { return false; }

  /// Sets `learned`, as many as read() fills tokens, to 1 for tokens that are
  /// learned and 0 for others.
  virtual Status readLearned(uint64_t sample, std::span<uint8_t> learned) const;

  /// Whether samples are of masked tokens or of labelled texts, which
  /// readFramed() reads.
  virtual bool isFramed() const { return false; }

  /// Fills `out`. Internal where samples are neither.
  virtual Status readFramed(uint64_t sample, FramedSample &out) const;

  /// Tokens of the encoder of samples of corrupted spans, which readSpans()
  /// reads; 0 of others.
  virtual uint64_t encoderLength() const { return 0; }

  /// Fills `out`. Internal where samples are not of corrupted spans.
  virtual Status readSpans(uint64_t sample, SpanSample &out) const;

  /// What readImages() reads.
  virtual ImageShape imageShape() const { return {}; }

  /// Fills `out`. Internal where samples have no images.
  virtual Status readImages(uint64_t sample, ImageSample &out) const;

  /// What readNeighbors() reads.
  virtual NeighborShape neighborShape() const { return {}; }

  /// Fills `tokens`, of neighborShape().tokens(sequenceLength()) entries,
  /// [chunks, neighbors, retrievedLength]. Internal where nothing was
  /// retrieved.
  virtual Status readNeighbors(uint64_t sample,
                               std::span<int32_t> tokens) const;

  /// Samples of one epoch of labelled texts (ClassDataset.h); 0 of others.
  virtual uint64_t epochSize() const { return 0; }

  /// The names of their classes; none of other samples.
  virtual std::vector<std::string> classNames() const { return {}; }

  /// Where the tokens of `sample` come from, in order.
  virtual StatusOr<std::vector<SampleSegment>>
  segments(uint64_t sample) const = 0;

protected:
  /// InvalidArgument unless NumPy takes `seed`: it is below 2^32.
  static Status checkSeed(uint64_t seed);

  /// InvalidArgument, naming the range, unless `sample` is below size().
  Status checkSample(uint64_t sample) const;

  /// Fills `out` with `pad`, no labels and types of 0, for readFramed(). Fails
  /// if `sample` does not exist, and with Internal if `out` has not the room.
  Status beginFramed(uint64_t sample, int32_t pad, FramedSample &out) const;

  /// read() of samples that readFramed() reads: their tokens, then `pad`.
  Status readFramedTokens(uint64_t sample, int32_t pad,
                          std::span<int32_t> tokens) const;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SAMPLESOURCE_H
