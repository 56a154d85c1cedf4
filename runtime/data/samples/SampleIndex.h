//===- SampleIndex.h - Which tokens a sample is made of ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order in which training samples are cut from documents. It is
/// Megatron-LM's, number for number, so that a run here sees the same samples
/// in the same order as a run there with the same seed:
///
///   document index  the documents, once per epoch, shuffled
///   sample index    row i says where sample i starts in that long text;
///                   sample i ends where i+1 starts, plus one shared token
///   shuffle index   the order in which the samples are used
///
/// Worked example: documents of 5, 3, 7 and 4 tokens in the order 2 0 3 1, and
/// samples of 4 tokens. The text is 7+5+4+3 = 19 tokens, thus (19-1)/4 = 4
/// samples, which start at (0,0) (0,4) (1,1) (2,0) and end at (3,0): the second
/// one starts at token 4 of document 2, takes its last 3 tokens and 2 of
/// document 0, and the third starts on the last token of the second.
///
/// Where the last epoch is hardly used, mixing it with the others would show
/// some documents more often than the epoch count says; such an epoch is
/// shuffled by itself and comes last.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEINDEX_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEINDEX_H

#include "base/Status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// How often the documents are read, and how the last pass is shuffled.
struct EpochPlan {
  uint64_t tokensPerEpoch = 0;
  uint64_t epochs = 1;
  uint64_t samples = 0; ///< Rows of the sample index, less one.
  bool separateFinalEpoch = false;
  /// Samples of all epochs but the last; `samples` unless that is separate.
  uint64_t shuffledTogether = 0;
};

/// Plans for at least `samplesWanted` samples of `sequenceLength` tokens.
/// InvalidArgument if the documents are empty, or one epoch is too short for a
/// single sample and no samples are wanted; ResourceExhausted on overflow.
StatusOr<EpochPlan> planEpochs(uint64_t tokensPerEpoch, uint64_t samplesWanted,
                               uint64_t sequenceLength);

/// A place in the shuffled text: a position in the document index (not a
/// document) and a token of that document.
struct SampleStart {
  uint32_t position;
  uint32_t offset;
  bool operator==(const SampleStart &) const = default;
};

struct SampleIndex {
  EpochPlan plan;
  std::vector<int32_t> documents;  ///< Sequences of the file, shuffled.
  std::vector<SampleStart> starts; ///< plan.samples + 1 rows.
  std::vector<uint32_t> shuffle;   ///< plan.samples entries.
};

/// What a sample index is built from.
struct SampleIndexRequest {
  /// Length in tokens of every sequence of the file.
  std::span<const int32_t> lengths;
  /// The sequences to use: [begin, end).
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t samples = 0;        ///< At least so many; 0: one epoch.
  uint64_t sequenceLength = 0; ///< Tokens a sample trains on.
  uint32_t seed = 0;
};

/// ResourceExhausted, with the bytes, where the index does not fit in this
/// machine's memory.
StatusOr<SampleIndex> buildSampleIndex(const SampleIndexRequest &request);

/// Walks `documents` and says where samples of `sequenceLength` tokens start:
/// the sample index by itself. The documents must hold
/// samples * sequenceLength + 1 tokens.
std::vector<SampleStart> cutSamples(std::span<const int32_t> lengths,
                                    std::span<const int32_t> documents,
                                    uint64_t samples, uint64_t sequenceLength);

enum class Split { Train, Valid, Test };

/// "train", "valid", "test".
std::string_view splitName(Split split);
StatusOr<Split> parseSplit(std::string_view name);

/// Where the sequences of each split begin and end: [bounds[s], bounds[s+1]).
using SplitBounds = std::array<uint64_t, 4>;

/// Reads "969,30,1": up to three weights that say in which proportion
/// `sequences` are used for training, validation and test. A boundary is its
/// fraction times `sequences`, rounded half to even.
StatusOr<SplitBounds> parseSplitBounds(const std::string &text,
                                       uint64_t sequences);

/// How long a run is. Validation takes global batches of `globalBatchSize`, as
/// training does, in the end if its batch grows.
struct RunLength {
  uint64_t steps = 0;
  uint64_t globalBatchSize = 0;
  /// Of all steps, where the batch grows.
  std::optional<uint64_t> trainSamples = std::nullopt;
  uint64_t validInterval =
      0;                     ///< Steps between validations; 0: only at the end.
  uint64_t validBatches = 0; ///< Global batches of one validation.
};

/// The samples that Megatron asks of each split, on which the number of epochs
/// and with it the order depends:
///
///   train  steps * batch, or trainSamples
///   valid  (steps / validInterval + 1) * validBatches * batch
///   test   validBatches * batch
///
/// InvalidArgument on overflow.
StatusOr<uint64_t> samplesOfRun(const RunLength &run, Split split);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEINDEX_H
