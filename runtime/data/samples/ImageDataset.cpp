//===- ImageDataset.cpp - Samples with images -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ImageDataset.h"

#include "base/Quantity.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static Status checkImageOptions(const ImageOptions &options) {
  constexpr uint64_t mostSide = 16384, most = 1 << 20;
  if (options.imageSize == 0 || options.imageSize > mostSide ||
      options.patchSize == 0 || options.imageSize % options.patchSize != 0)
    return invalidArgument(
        "an image of 1 to 16384 pixels a side is cut into whole patches, not " +
        std::to_string(options.imageSize) + " pixels into patches of " +
        std::to_string(options.patchSize));
  if (options.tokensPerImage == 0 || options.tokensPerImage > most ||
      options.imagesPerSequence == 0 || options.imagesPerSequence > most)
    return invalidArgument(
        "a sequence has 1 to 2^20 images of 1 to 2^20 tokens each, not " +
        std::to_string(options.imagesPerSequence) + " of " +
        std::to_string(options.tokensPerImage));
  return okStatus();
}

/// Of a file and the model that is to learn it.
static Status checkImageFile(const ImageFile &file,
                             const ImageOptions &options) {
  struct Number {
    const char *what;
    uint64_t prepared, wanted;
  };
  const ImageFileHead &head = file.head();
  for (const Number &number : std::array<Number, 3>{{
           {"pixels a side", head.imageSize, options.imageSize},
           {"tokens an image", head.tokensPerImage, options.tokensPerImage},
           {"as the token of an image", head.imageToken,
            uint64_t(options.imageToken)},
       }})
    if (number.prepared != number.wanted)
      return invalidArgument(file.path() + ": was prepared with " +
                             std::to_string(number.prepared) + " " +
                             number.what + ", and the model takes " +
                             std::to_string(number.wanted) +
                             "; prepare the data again");
  if (head.mostPerDocument > options.imagesPerSequence)
    return invalidArgument(file.path() + ": a sequence has up to " +
                           formatNoun(head.mostPerDocument, "image") +
                           ", and a run takes " +
                           std::to_string(options.imagesPerSequence) +
                           "; set training.images_per_sequence to " +
                           std::to_string(head.mostPerDocument) +
                           ", or prepare the data with --images-per-sequence " +
                           std::to_string(options.imagesPerSequence));
  return okStatus();
}

StatusOr<std::unique_ptr<ImageDataset>>
ImageDataset::create(std::shared_ptr<const IndexedDataset> file,
                     const GptDatasetOptions &options, Split split,
                     uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkImageOptions(*options.images));
  HOCKET_ASSIGN_OR_RETURN(
      auto images,
      ImageFile::open(file->prefix(), file->documents(), file->tokens()));
  if (images) {
    HOCKET_RETURN_IF_ERROR(checkImageFile(*images, *options.images));
    if (file->documents() != file->sequences())
      return dataLoss(file->prefix() + ".idx: has " +
                      formatNoun(file->sequences(), "sequence") + " in " +
                      formatNoun(file->documents(), "document") +
                      "; conversations with images are packed, one sequence "
                      "a document");
  }
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<GptDataset> text,
                          GptDataset::create(file, options, split, samples));
  if (images && !text->lossMask())
    return invalidArgument(images->path() + ": there is no " +
                           lossMaskPath(file->prefix()) +
                           " beside it, which says what is learned; prepare "
                           "the data again");
  return std::unique_ptr<ImageDataset>(new ImageDataset(
      std::move(file), std::move(text), *options.images, std::move(images)));
}

//===----------------------------------------------------------------------===//
// A sample
//===----------------------------------------------------------------------===//

ImageShape ImageDataset::imageShape() const {
  return {options.imagesPerSequence, patches.count(), patches.width(),
          options.imageToken};
}

/// Fills the rows of a sample; how many there are.
StatusOr<uint64_t> ImageDataset::readRows(uint64_t sample,
                                          std::span<int32_t> rows) const {
  std::vector<int32_t> tokens(rows.size() + 1);
  HOCKET_RETURN_IF_ERROR(read(sample, tokens));
  int32_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = tokens[i] == options.imageToken ? next++ : -1;
  return uint64_t(next);
}

Status ImageDataset::readImages(uint64_t sample, ImageSample &out) const {
  uint64_t patchFloats = patches.count() * patches.width();
  if (out.rows.size() != sequenceLength() ||
      out.pixels.size() != options.imagesPerSequence * patchFloats)
    return internalError("a sample needs room for " +
                         std::to_string(sequenceLength()) + " rows and " +
                         formatNoun(options.imagesPerSequence, "image"));
  std::ranges::fill(out.pixels, 0.0f);
  HOCKET_ASSIGN_OR_RETURN(uint64_t count, readRows(sample, out.rows));
  std::span<const uint32_t> of;
  HOCKET_ASSIGN_OR_RETURN(std::vector<SampleSegment> from, segments(sample));
  if (images) {
    if (from.front().offset != 0 || from.front().length != sequenceLength())
      return dataLoss(file->prefix() + ".idx: sequence " +
                      std::to_string(from.front().sequence) +
                      " is not of the length that " +
                      lossMaskPath(file->prefix()) + " says");
    of = images->imagesOf(from.front().sequence);
  }
  if (count != of.size() * options.tokensPerImage)
    return dataLoss(
        file->prefix() + ".bin: sequence " +
        std::to_string(from.front().sequence) + " has " +
        formatNoun(count, "token") + " " + std::to_string(options.imageToken) +
        ", which stands for an image, and " +
        (images ? formatNoun(of.size(), "image") + " of " +
                      std::to_string(options.tokensPerImage) + " tokens"
                : "there is no " + imageFilePath(file->prefix())));
  std::vector<uint8_t> pixels(of.empty() ? 0 : images->head().imageBytes());
  for (size_t i = 0; i < of.size(); ++i) {
    HOCKET_RETURN_IF_ERROR(images->read(of[i], pixels));
    patches.cut(pixels, out.pixels.subspan(i * patchFloats, patchFloats));
  }
  return okStatus();
}
