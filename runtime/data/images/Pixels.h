//===- Pixels.h - Pixels as a vision tower takes them -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What CLIP's image processor does with an image, in the arithmetic of Pillow
/// and NumPy, to the last bit (`CLIPImageProcessorPil` of transformers 5):
///
///   1. resize, so that the shorter side has S pixels: Pillow's bicubic filter
///      with antialiasing, along rows and along columns, each in fixed point of
///      22 bits rounded to bytes. Rows come first, but in tall images, of more
///      than twice their width, columns, as of Pillow 13;
///   2. crop the S x S pixels in the middle;
///   3. scale by 1/255, subtract the mean and divide by the standard deviation
///      of each colour.
///
/// After 2 the pixels are bytes, which is what is kept in files.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_IMAGES_PIXELS_H
#define HOCKET_RUNTIME_DATA_IMAGES_PIXELS_H

#include "runtime/data/images/Image.h"

#include <array>
#include <span>

namespace hocket::data {

/// Steps 1 and 2: `size` x `size` x 3 bytes. `image` has pixels, and `size` is
/// 1 to 16,384. Only what is left after the crop is computed.
std::vector<uint8_t> resizeAndCrop(const RgbImage &image, uint64_t size);

/// Step 3.
struct PixelScale {
  // CLIP's.
  std::array<double, 3> mean = {0.48145466, 0.4578275, 0.40821073};
  std::array<double, 3> std = {0.26862954, 0.26130258, 0.27577711};
};

/// Normalizes pixels and cuts them into patches: rows in reading order, the
/// elements of each as those of CLIP's convolution [hidden, 3, p, p]: colour,
/// then row, then column.
class Patches {
public:
  /// `imageSize` is a multiple of `patchSize`.
  Patches(uint64_t imageSize, uint64_t patchSize, const PixelScale &scale);

  /// Patches of an image.
  uint64_t count() const { return perSide * perSide; }
  /// Elements of a patch.
  uint64_t width() const { return 3 * patchSize * patchSize; }

  /// `pixels`: what resizeAndCrop() gives. `out`: count() x width().
  void cut(std::span<const uint8_t> pixels, std::span<float> out) const;

private:
  uint64_t patchSize, perSide;
  std::array<std::array<float, 256>, 3> values; ///< Of a byte, by colour.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_IMAGES_PIXELS_H
