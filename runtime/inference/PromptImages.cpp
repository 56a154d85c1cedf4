//===- PromptImages.cpp - Images of prompts -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/PromptImages.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/data/images/Pixels.h"
#include "runtime/program/Entries.h"

#include <algorithm>
#include <span>

using namespace hocket;
using namespace hocket::inference;

/// Numbers of an image, of a checked program that sees some.
static uint64_t floatsOf(const program::TrainingInfo::Images &images) {
  return pixelsOf(images) / images.images();
}

static TowerImage towerImageOf(const program::TrainingInfo::Images &images,
                               const data::RgbImage &image) {
  data::Patches patches(images.image_size(), images.patch_size(),
                        data::PixelScale());
  auto numbers = std::make_shared<std::vector<float>>(floatsOf(images), 0.0f);
  patches.cut(data::resizeAndCrop(image, images.image_size()),
              std::span(*numbers).subspan(patches.width()));
  return numbers;
}

StatusOr<TowerImage> inference::readTowerImage(const program::Program &program,
                                               const std::string &path) {
  if (!program.training().has_images())
    return invalidArgument(path + ": the model sees no images; leave it out");
  HOCKET_ASSIGN_OR_RETURN(data::RgbImage image, data::readImage(path));
  return towerImageOf(program.training().images(), image);
}

StatusOr<TowerImage>
inference::decodeTowerImage(const program::Program &program,
                            std::string_view bytes, uint64_t mostPixels) {
  if (!program.training().has_images())
    return invalidArgument("the model sees no images");
  data::ImageLimits limits;
  limits.pixels = mostPixels;
  HOCKET_ASSIGN_OR_RETURN(data::RgbImage image,
                          data::decodeImage(bytes, limits));
  return towerImageOf(program.training().images(), image);
}

Status inference::expandImages(const program::Program &program, size_t images,
                               std::vector<int32_t> &tokens) {
  if (!program.training().has_images())
    return okStatus();
  const auto &seen = program.training().images();
  auto token = int32_t(seen.image_token());
  auto places = size_t(std::ranges::count(tokens, token));
  if (places != images)
    return invalidArgument("the prompt has " + formatNoun(places, "place") +
                           " for an image (token " + std::to_string(token) +
                           "), and there are " + std::to_string(images) +
                           " of them; write one <image> for each");
  if (images > seen.images())
    return invalidArgument(
        formatText("the prompt has %zu images, the model takes %llu: compile "
                   "it with more training.images_per_sequence",
                   images, wide(seen.images())));
  std::vector<int32_t> expanded;
  for (int32_t each : tokens)
    expanded.insert(expanded.end(), each == token ? rowsInText(seen) : 1, each);
  tokens = std::move(expanded);
  return okStatus();
}

int32_t inference::towerRowOf(const program::TrainingInfo::Images &images,
                              uint64_t placed) {
  if (images.class_row())
    return int32_t(placed);
  return int32_t(placed + placed / patchesOf(images) + 1);
}

Status inference::checkImages(const program::Program &program,
                              const std::vector<TowerImage> &images,
                              const std::vector<int32_t> &tokens) {
  if (!program.training().has_images())
    return images.empty() ? okStatus()
                          : invalidArgument("the model sees no images");
  const auto &seen = program.training().images();
  auto found =
      uint64_t(std::ranges::count(tokens, int32_t(seen.image_token())));
  if (found > 0 && images.empty())
    return invalidArgument("the prompt has the token of an image, and there "
                           "is no image");
  if (images.size() > seen.images() ||
      found != images.size() * rowsInText(seen))
    return invalidArgument(formatText(
        "the prompt has %llu tokens of images for %zu images, which have %llu "
        "each and are at most %llu",
        wide(found), images.size(), wide(rowsInText(seen)),
        wide(seen.images())));
  for (const TowerImage &image : images)
    if (!image || image->size() != floatsOf(seen))
      return invalidArgument("an image has not as many numbers as the model "
                             "takes");
  return okStatus();
}
