//===- BatchSource.h - The samples of each microbatch -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which samples a rank trains on, and when. Samples are used in order; a
/// microbatch takes `microBatchSize` of them for every data-parallel rank:
///
///   sample = consumed + microbatch * (microBatchSize * ranks)
///                     + rank * microBatchSize + row
///
/// where `consumed` counts the samples of all steps before this one. That is
/// all the state there is: a run that starts at the same count continues
/// exactly where another one stopped, whatever the number of ranks.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_BATCHSOURCE_H
#define HOCKET_RUNTIME_DATA_SAMPLES_BATCHSOURCE_H

#include "runtime/data/samples/SampleSource.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hocket::data {

struct BatchGeometry {
  uint64_t microBatchSize = 1; ///< Rows of a rank's microbatch.
  uint64_t microbatches = 1;   ///< Of one step.
  uint64_t ranks = 1;          ///< Data-parallel ranks.
  uint64_t rank = 0;

  /// Samples of one step over all ranks.
  uint64_t globalBatchSize() const {
    return microBatchSize * microbatches * ranks;
  }
  /// The first of the microBatchSize samples of this rank's `microbatch`.
  uint64_t firstSample(uint64_t consumed, uint64_t microbatch) const {
    return consumed + (microbatch * ranks + rank) * microBatchSize;
  }
};

/// How the documents that share a sequence are told apart.
struct DocumentMarks {
  std::optional<int32_t> end; ///< The last token of each; none: one document.
  bool masksLabels = false;   ///< What follows it is no label.
};

/// One microbatch: all are [microBatchSize, sequenceLength], row-major. Labels
/// are the tokens that follow, -1 where nothing is to be learned; positions
/// count from the beginning of each document, and are left out where a sequence
/// is one.
struct Batch {
  uint64_t firstSample = 0;
  uint64_t sequenceLength = 0;
  std::vector<int32_t> tokens;
  std::vector<int32_t> labels;
  std::vector<int32_t> positions;
  /// How many tokens of its sequence each token sees, the first ones: of masked
  /// samples those that are no padding, and of samples with a prefix that, or
  /// those before a token and itself. Empty of others.
  std::vector<int32_t> keyCounts;
  /// Of masked samples, whose labels are masked tokens; empty of others.
  std::vector<int32_t> tokenTypes;
  /// 1 for the first token of a sample whose texts are swapped, 0 for that of
  /// another, -1 for all other tokens.
  std::vector<int32_t> sentenceLabels;
  /// Of corrupted spans: [microBatchSize, encoderLength]; empty of others.
  uint64_t encoderLength = 0;
  std::vector<int32_t> encoderTokens;

  /// Of samples with images: their patches [microBatchSize, images, patches,
  /// width], and which row of its sequence's stands in the place of each token,
  /// -1 for none. Empty of others.
  std::vector<float> pixels;
  std::vector<int32_t> imageRows;
  /// What was retrieved for them: [microBatchSize, chunks, neighbors,
  /// retrievedLength]. Empty of others.
  std::vector<int32_t> neighbors;

  /// Labels that are not -1, of `count` rows from row `first` on.
  uint64_t countLabels(uint64_t first, uint64_t count) const;
};

/// The position in its document of each token of sequences of `length`.
std::vector<int32_t> positionsOf(const DocumentMarks &documents,
                                 std::span<const int32_t> tokens,
                                 uint64_t length);

/// Appends how many tokens each of a sequence of `length` sees, of which the
/// first `prefix` see each other.
void addPrefixCounts(uint64_t prefix, uint64_t length,
                     std::vector<int32_t> &counts);

/// Fills `batch` with the samples [first, first + rows) of `source`. A token
/// that is not learned is no label.
Status readBatch(const SampleSource &source, uint64_t first, uint64_t rows,
                 Batch &batch, const DocumentMarks &documents = {});

/// Microbatches in the order of training, read ahead by one thread.
class BatchSource {
public:
  /// Starts after `consumed` samples. InvalidArgument if the geometry is
  /// empty or too large. Reads up to `ahead` microbatches before they are
  /// asked for.
  static StatusOr<std::unique_ptr<BatchSource>>
  create(std::shared_ptr<const SampleSource> source,
         const BatchGeometry &geometry, uint64_t consumed, unsigned ahead = 4,
         const DocumentMarks &documents = {});
  ~BatchSource();

  /// The next microbatch; the old storage of `batch` is used again. Fails
  /// where the samples end, or with the error of reading them. One caller.
  Status next(Batch &batch);

  /// Samples of all whole steps handed out, plus what it started with.
  uint64_t consumedSamples() const;

private:
  struct Queue;
  explicit BatchSource(std::unique_ptr<Queue> queue);

  std::unique_ptr<Queue> queue;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_BATCHSOURCE_H
