//===- GptDataset.h - Samples of one token file -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A split of a token file, cut and ordered as SampleIndex.h says. A large
/// order is in a file (SampleOrder.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_GPTDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_GPTDATASET_H

#include "runtime/data/IndexedDataset.h"
#include "runtime/data/images/Pixels.h"
#include "runtime/data/samples/SampleOrder.h"
#include "runtime/data/samples/SampleSource.h"

#include <memory>
#include <optional>
#include <string>

namespace hocket::data {

/// How samples of masked tokens are made, and with which tokens.
struct MaskedLmOptions {
  int32_t cls = 0, sep = 0, mask = 0, pad = 0;
  double probability = 0.15; ///< Of a token, to be a label.
  double maskShare = 0.8;    ///< Of labels, to be seen as `mask`,
  double randomShare = 0.1;  ///< or as any token.
  double shortSequenceProbability = 0.1;
  bool sentenceOrder = false; ///< Samples have two texts, some swapped.
  bool wholeWords = false;    ///< By PREFIX.words (WordFile.h).
};

/// How long the prefixes of samples are whose tokens see each other: uniformly
/// drawn between shares of a sequence, but at least one token.
struct PrefixOptions {
  double least = 0, most = 1;
};

/// How samples of corrupted spans are made, and with which tokens.
struct SpanOptions {
  uint64_t encoderLength = 0; ///< Of a sample's two sequences the encoder's.
  int32_t end = 1, pad = 0;
  int32_t firstSentinel = 0; ///< The others are below it.
  uint64_t sentinels = 100;
  double noiseDensity = 0.15; ///< The share of tokens in spans.
  double meanSpanLength = 3;
};

/// How samples of labelled texts are made, and with which tokens.
struct ClassOptions {
  int32_t cls = 0, sep = 0, pad = 0;
  uint64_t classes = 0;   ///< That the model tells, where these are no choices.
  uint64_t sequences = 1; ///< Of a question: as many as it has choices.
  uint64_t batch = 1;     ///< Sequences of a step, of whole questions.
  bool shuffles = true;   ///< Each epoch; else in the order of the file.
};

/// What a model takes in of images, and for which token.
struct ImageOptions {
  uint64_t imageSize = 0;         ///< Pixels of a side,
  uint64_t patchSize = 0;         ///< and of a patch's.
  uint64_t tokensPerImage = 0;    ///< Of `imageToken`, in a row.
  uint64_t imagesPerSequence = 0; ///< The most that there are.
  int32_t imageToken = 0;
  PixelScale scale = {};
};

/// What a model takes in of what was retrieved for its samples.
struct RetrievalOptions {
  NeighborShape shape = {};
  /// The token files that neighbours come from (RetrievalCorpus.h); empty: that
  /// of the samples.
  std::vector<std::string> corpus = {};
  int32_t pad = 0; ///< Where a neighbour is shorter, or there is none.
  /// What the run calls these samples, for errors.
  Split split = Split::Train;
};

struct GptDatasetOptions {
  uint64_t sequenceLength = 0;
  uint64_t vocabularySize = 0; ///< At most 2^31.
  uint64_t seed = 0;           ///< Below 2^32, as NumPy demands.
  std::string splitWeights = "969,30,1";
  OrderCache cache = {};
  std::optional<PrefixOptions> prefix = std::nullopt;   ///< Of next tokens.
  std::optional<MaskedLmOptions> masked = std::nullopt; ///< MaskedDataset.h
  std::optional<SpanOptions> spans = std::nullopt;      ///< SpanDataset.h
  std::optional<ClassOptions> classes = std::nullopt;   ///< ClassDataset.h
  std::optional<ImageOptions> images = std::nullopt;    ///< ImageDataset.h
  /// RetrievalDataset.h
  std::optional<RetrievalOptions> retrieval = std::nullopt;
};

class GptDataset : public SampleSource {
public:
  /// The split `split` of `file` with at least `samples` samples; 0 asks for
  /// one epoch. InvalidArgument if the split has no tokens, or if conversations
  /// were packed into sequences of another length.
  static StatusOr<std::unique_ptr<GptDataset>>
  create(std::shared_ptr<const IndexedDataset> file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return order.plan().samples; }
  uint64_t sequenceLength() const override { return options.sequenceLength; }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  std::optional<LossMaskHead> lossMask() const override {
    return mask ? std::optional(mask->head()) : std::nullopt;
  }
  bool hasPrefixes() const override { return options.prefix.has_value(); }
  Status readLearned(uint64_t sample,
                     std::span<uint8_t> learned) const override;
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

  const SampleOrder &sampleOrder() const { return order; }

private:
  /// Of a sample with one, at most sequenceLength().
  uint64_t prefixTokens(uint64_t sample) const;

  GptDataset(std::shared_ptr<const IndexedDataset> file,
             const GptDatasetOptions &options, SampleOrder order,
             std::optional<LossMask> mask)
      : file(std::move(file)), options(options), order(std::move(order)),
        mask(std::move(mask)) {}

  /// Calls visit(sequence, offset, length) for each segment until one fails.
  template <typename Visit>
  Status visitSegments(uint64_t sample, Visit visit) const;

  std::shared_ptr<const IndexedDataset> file;
  GptDatasetOptions options;
  SampleOrder order;
  std::optional<LossMask> mask; ///< Of conversations.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_GPTDATASET_H
