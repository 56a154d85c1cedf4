//===- PromptImages.h - Images of prompts -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program that sees images takes of those of a prompt: their pixels,
/// and in the prompt as many tokens of each as it has rows in a text.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_PROMPTIMAGES_H
#define HOCKET_RUNTIME_INFERENCE_PROMPTIMAGES_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inference {

/// An image as programs take it in: [patches + 1, numbers of a patch], of which
/// the first row, of zeros, leaves the place of the class.
using TowerImage = std::shared_ptr<const std::vector<float>>;

/// Reads a PNG or JPEG file for the tower of `program`, resized and cropped
/// (data/images/Pixels.h). InvalidArgument where the program sees no images;
/// else as data::readImage().
StatusOr<TowerImage> readTowerImage(const program::Program &program,
                                    const std::string &path);

/// The same of the bytes of a file, of at most so many pixels: as
/// data::decodeImage().
StatusOr<TowerImage> decodeTowerImage(const program::Program &program,
                                      std::string_view bytes,
                                      uint64_t mostPixels);

/// Puts as many tokens as an image has in the place of each that stands for
/// one. InvalidArgument where they do not stand for `images`, or these are more
/// than a sequence takes.
Status expandImages(const program::Program &program, size_t images,
                    std::vector<int32_t> &tokens);

/// Which row of the tower's, of all images of a text one after another, the
/// `placed`-th row is that stands in it.
int32_t towerRowOf(const program::TrainingInfo::Images &images,
                   uint64_t placed);

/// InvalidArgument unless `tokens` has as many of an image as `images` have.
Status checkImages(const program::Program &program,
                   const std::vector<TowerImage> &images,
                   const std::vector<int32_t> &tokens);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_PROMPTIMAGES_H
