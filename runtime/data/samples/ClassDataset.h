//===- ClassDataset.h - Samples of labelled texts ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A split of labelled texts (ClassFile.h), for a model that tells classes. A
/// sample is a sequence: [CLS] A [SEP], or [CLS] A [SEP] B [SEP] with types 0
/// and 1, and then padding. Its first token has the class as its label, and no
/// other has one. What is too long is cut as `transformers` cuts it
/// (truncation "longest_first" of its fast tokenizers): tokens of the longer
/// text go, from its end, until both fit.
///
/// Of choices a question is as many sequences, one after the other: A is what
/// is one choice's, B what all share, and the label is that of the first.
///
/// All questions are one epoch, each once. Each epoch is shuffled by NumPy's
/// RandomState(seed + epoch). A step takes `batch` sequences, and each epoch
/// begins with a step: so its last step has sequences without a label, which
/// nothing is learned of and nobody counts.
///
/// Memory: 2 bytes a question, 8 a document, and 4 a question for each of two
/// epochs.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_CLASSDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_CLASSDATASET_H

#include "runtime/data/ClassFile.h"
#include "runtime/data/samples/GptDataset.h"

#include <map>
#include <mutex>

namespace hocket::data {

class ClassDataset : public SampleSource {
public:
  /// The split `split` of the documents of `file`, as many whole epochs as have
  /// `samples` sequences; 0 asks for one. `options.classes` is there.
  /// InvalidArgument if the file has no classes, or others than the model, or
  /// if no document is in the split.
  static StatusOr<std::unique_ptr<ClassDataset>>
  create(std::shared_ptr<const IndexedDataset> file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return epochs * epochSize(); }
  uint64_t sequenceLength() const override { return options.sequenceLength; }
  uint64_t epochSize() const override { return perEpoch; }
  std::vector<std::string> classNames() const override { return classes.names; }
  /// The tokens as the model sees them, and one of padding.
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  bool isFramed() const override { return true; }
  Status readFramed(uint64_t sample, FramedSample &out) const override;
  /// Whole texts, before they are cut; none of a sequence without a label.
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

private:
  ClassDataset(std::shared_ptr<const IndexedDataset> file,
               const GptDatasetOptions &options, DocumentClasses classes)
      : file(std::move(file)), options(options), frame(*options.classes),
        classes(std::move(classes)) {}

  /// Where a sample is from: a document, and which of its choices; nothing of
  /// what fills the last step of an epoch.
  struct Place {
    uint64_t document = 0;
    uint64_t choice = 0;
  };
  std::optional<Place> placeOf(uint64_t sample) const;
  using Order = std::shared_ptr<const std::vector<uint32_t>>;
  Order orderOf(uint64_t epoch) const;
  StatusOr<std::vector<uint64_t>> textsOf(const Place &place) const;
  Status checkDocuments(uint64_t begin, uint64_t end);

  std::shared_ptr<const IndexedDataset> file;
  GptDatasetOptions options;
  ClassOptions frame;
  DocumentClasses classes;
  uint64_t first = 0, count = 0; ///< Documents of the split.
  uint64_t perEpoch = 0, epochs = 1;
  mutable std::mutex mutex;
  mutable std::map<uint64_t, Order> orders; ///< Of the latest epochs.
};

/// Cuts two texts so that both together have at most `most` tokens, as
/// `transformers` does it: what is left of each.
std::pair<uint64_t, uint64_t> cutLongestFirst(uint64_t a, uint64_t b,
                                              uint64_t most);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_CLASSDATASET_H
