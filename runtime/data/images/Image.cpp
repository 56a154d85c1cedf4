//===- Image.cpp - PNG and JPEG files to pixels ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/images/Image.h"

#include "base/File.h"

using namespace hocket;
using namespace hocket::data;

Status data::checkImageSize(uint64_t width, uint64_t height,
                            const ImageLimits &limits) {
  if (width == 0 || height == 0)
    return dataLoss("has no pixels: it is " + std::to_string(width) + " x " +
                    std::to_string(height));
  if (height <= limits.pixels / width)
    return okStatus();
  return dataLoss("says that it has " + std::to_string(width) + " x " +
                  std::to_string(height) + " pixels; expected at most " +
                  std::to_string(limits.pixels));
}

/// What else it may be.
static std::string_view otherFormat(std::string_view bytes) {
  if (bytes.starts_with("GIF8"))
    return "a GIF file";
  if (bytes.starts_with("BM"))
    return "a BMP file";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP"))
    return "a WebP file";
  if (bytes.starts_with("II*") || bytes.starts_with("MM"))
    return "a TIFF file";
  return "something else";
}

StatusOr<RgbImage> data::decodeImage(std::string_view bytes,
                                     const ImageLimits &limits) {
  if (bytes.empty())
    return dataLoss("is empty, and no image");
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"))
    return decodePng(bytes, limits);
  if (bytes.starts_with("\xff\xd8\xff"))
    return decodeJpeg(bytes, limits);
  return dataLoss("expected a PNG or JPEG file, found " +
                  std::string(otherFormat(bytes)));
}

StatusOr<RgbImage> data::readImage(const std::string &path,
                                   const ImageLimits &limits) {
  HOCKET_ASSIGN_OR_RETURN(std::string bytes, readFile(path, limits.fileBytes));
  StatusOr<RgbImage> image = decodeImage(bytes, limits);
  return image.ok() ? std::move(image) : image.status().withContext(path);
}
