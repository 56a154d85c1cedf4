//===- Image.h - PNG and JPEG files to pixels -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decodes images to RGB of 8 bits as the image processors of `transformers` 5
/// do before they resize: PNG by libpng and JPEG by libjpeg-turbo, without
/// colour management, and without the rotation that EXIF may ask for. What is
/// transparent is put on white.
///
///   PNG    grey, RGB, palette, with alpha or one transparent colour,
///          interlaced or not; of 16 bits the upper 8 are taken
///   JPEG   grey, YCbCr, RGB, CMYK and YCCK; baseline, progressive, arithmetic
///
/// Files are hostile: nothing is allocated before the size in their header is
/// accepted, and a file that is cut short or damaged is an error, never grey
/// pixels.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_IMAGES_IMAGE_H
#define HOCKET_RUNTIME_DATA_IMAGES_IMAGE_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// Rows from the top, pixels from the left, 3 bytes each.
struct RgbImage {
  uint64_t width = 0, height = 0;
  std::vector<uint8_t> pixels; ///< height x width x 3
};

struct ImageLimits {
  uint64_t fileBytes = uint64_t(256) << 20;
  /// Memory is 3 bytes a pixel, and up to 8 more while it is decoded.
  uint64_t pixels = uint64_t(64) << 20;
};

/// `bytes` are a file. DataLoss where they are no PNG or JPEG file, are damaged
/// or too large; InvalidArgument for a kind of image that is not supported. The
/// message says what is wrong and not which file. Any thread.
StatusOr<RgbImage> decodeImage(std::string_view bytes,
                               const ImageLimits &limits = {});

/// The same of a file, which messages begin with. NotFound if there is none.
StatusOr<RgbImage> readImage(const std::string &path,
                             const ImageLimits &limits = {});

// Each of its format; decodeImage() tells which it is.
StatusOr<RgbImage> decodePng(std::string_view bytes, const ImageLimits &limits);
StatusOr<RgbImage> decodeJpeg(std::string_view bytes,
                              const ImageLimits &limits);

/// DataLoss unless an image of so many pixels may be decoded.
Status checkImageSize(uint64_t width, uint64_t height,
                      const ImageLimits &limits);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_IMAGES_IMAGE_H
