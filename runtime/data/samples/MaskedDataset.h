//===- MaskedDataset.h - Samples of masked tokens ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A split of a token file whose sequences are sentences (data prepare
/// --split-sentences), for an encoder. Which sentences a sample has is said by
/// SentenceMapping.h; what becomes of them is drawn from NumPy's
/// RandomState(seed + sample), whenever the sample is read:
///
///   two texts    with sentenceOrder: the first of them has 1 sentence of two,
///                or at random some of more; half of the time they are swapped
///   truncation   tokens of the longer text go, from either end at random,
///                until both have the target length together
///   frame        [CLS] A [SEP], or [CLS] A [SEP] B [SEP] with types 0 and 1
///   masks        `probability` of the tokens, one at least, are labels (Devlin
///                et al., 2019, section 3.1); with wholeWords they are those of
///                whole words, as BERT's do_whole_word_mask chooses them: of
///                the shuffled words each one that is not too long for what is
///                left, or where all are too long, the first
///
/// The draws of the first two are Megatron-LM's, so that a sample has the
/// tokens that it has there; masks are of single tokens or words, where
/// Megatron draws runs of up to three words. Memory: 12 bytes a sample, 4 a
/// sentence, 8 a document, and with wholeWords a bit a token of the vocabulary.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_MASKEDDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_MASKEDDATASET_H

#include "runtime/data/WordFile.h"
#include "runtime/data/samples/GptDataset.h"
#include "runtime/data/samples/RandomState.h"
#include "runtime/data/samples/SentenceMapping.h"

namespace hocket::data {

class MaskedDataset : public SampleSource {
public:
  /// The split `split` of the documents of `file`, with at least `samples`
  /// samples; 0 asks for one epoch. `options.masked` is there.
  /// InvalidArgument if no document of the split is fit for a sample, or if
  /// nothing says which tokens continue a word and whole ones are asked for.
  static StatusOr<std::unique_ptr<MaskedDataset>>
  create(std::shared_ptr<const IndexedDataset> file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return samples.size(); }
  uint64_t sequenceLength() const override { return options.sequenceLength; }
  /// The tokens as the model sees them, and one of padding.
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  bool isFramed() const override { return true; }
  Status readFramed(uint64_t sample, FramedSample &out) const override;
  /// Whole sentences, in the order of the document.
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

private:
  MaskedDataset(std::shared_ptr<const IndexedDataset> file,
                const GptDatasetOptions &options,
                std::vector<SentenceSample> samples,
                WordContinuations continues)
      : file(std::move(file)), options(options), masked(*options.masked),
        samples(std::move(samples)), continues(std::move(continues)) {}

  using Sentences = std::vector<std::vector<int32_t>>;
  StatusOr<Sentences> sentencesOf(const SentenceSample &sample) const;
  Status checkWords(const FramedSample &sample) const;
  bool beginsWord(const FramedSample &sample, uint64_t place) const;
  void mask(RandomState &random, uint32_t target, FramedSample &out) const;

  std::shared_ptr<const IndexedDataset> file;
  GptDatasetOptions options;
  MaskedLmOptions masked;
  std::vector<SentenceSample> samples;
  WordContinuations continues; ///< Empty without wholeWords.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_MASKEDDATASET_H
