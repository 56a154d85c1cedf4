//===- ImageDataset.h - Samples with images ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Samples of a GptDataset whose sequences have images (ImageFile.h). Of each
/// image the sequence has `tokensPerImage` placeholders in a row, which the
/// mask of answers makes no labels. A sample's first image has the rows 0 to
/// tokensPerImage - 1, the next one those behind them, and so on: `rows` says
/// of each token which of them stands in its place.
///
/// Data without images is text alone: its samples have no rows.
///
/// Memory: that of the GptDataset and of the ImageFile.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_IMAGEDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_IMAGEDATASET_H

#include "runtime/data/ImageFile.h"
#include "runtime/data/samples/GptDataset.h"

namespace hocket::data {

class ImageDataset : public SampleSource {
public:
  /// As a GptDataset; `options.images` is there. InvalidArgument if the file
  /// has images of other kinds, or more a sequence, than the options say.
  static StatusOr<std::unique_ptr<ImageDataset>>
  create(std::shared_ptr<const IndexedDataset> file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return text->size(); }
  uint64_t sequenceLength() const override { return text->sequenceLength(); }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override {
    return text->read(sample, tokens);
  }
  std::optional<LossMaskHead> lossMask() const override {
    return text->lossMask();
  }
  Status readLearned(uint64_t sample,
                     std::span<uint8_t> learned) const override {
    return text->readLearned(sample, learned);
  }
  ImageShape imageShape() const override;
  Status readImages(uint64_t sample, ImageSample &out) const override;
  StatusOr<std::vector<SampleSegment>>
  segments(uint64_t sample) const override {
    return text->segments(sample);
  }

private:
  ImageDataset(std::shared_ptr<const IndexedDataset> file,
               std::unique_ptr<GptDataset> text, const ImageOptions &options,
               std::optional<ImageFile> images)
      : file(std::move(file)), text(std::move(text)), options(options),
        images(std::move(images)),
        patches(options.imageSize, options.patchSize, options.scale) {}

  StatusOr<uint64_t> readRows(uint64_t sample, std::span<int32_t> rows) const;

  std::shared_ptr<const IndexedDataset> file;
  std::unique_ptr<GptDataset> text;
  ImageOptions options;
  std::optional<ImageFile> images;
  Patches patches;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_IMAGEDATASET_H
