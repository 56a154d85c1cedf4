//===- Jpeg.cpp - JPEG files to pixels ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// libjpeg-turbo's error handler may not return, and leaves by longjmp(). So
/// the functions that call it have no objects with destructors: what they fill
/// is owned by their caller.
///
//===----------------------------------------------------------------------===//

#include "runtime/data/images/Image.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
// After stdio, which it needs.
#include <jpeglib.h>
// The numbers of its warnings.
#include <jerror.h>

using namespace hocket;
using namespace hocket::data;

/// Each costs a pass over all pixels.
static constexpr int mostScans = 100;

namespace {
/// A file that is being read. libjpeg-turbo knows its members by address.
struct JpegReader {
  jpeg_decompress_struct file = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf leave = {};
  std::array<char, JMSG_LENGTH_MAX> error = {};
  bool isCreated = false;

  JpegReader() = default;
  JpegReader(const JpegReader &) = delete;
  JpegReader &operator=(const JpegReader &) = delete;
  ~JpegReader() {
    if (isCreated)
      jpeg_destroy_decompress(&file);
  }
};
} // namespace

[[noreturn]] static void fail(j_common_ptr file, const char *message) {
  auto *reader = static_cast<JpegReader *>(file->client_data);
  std::snprintf(reader->error.data(), reader->error.size(), "%s", message);
  std::longjmp(reader->leave, 1);
}

extern "C" {
[[noreturn]] static void jpegFailed(j_common_ptr file) {
  std::array<char, JMSG_LENGTH_MAX> message;
  file->err->format_message(file, message.data());
  fail(file, message.data());
}

/// Warnings that pixels are made up for what cannot be read are errors.
static void jpegWarned(j_common_ptr file, int level) {
  if (level >= 0)
    return;
  switch (file->err->msg_code) {
  case JWRN_JPEG_EOF:
    fail(file, "the file is cut short");
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_MUST_RESYNC:
  case JWRN_ARITH_BAD_CODE:
  case JWRN_BOGUS_PROGRESSION:
  case JWRN_NOT_SEQUENTIAL:
    jpegFailed(file);
  default:
    return;
  }
}

static void jpegProgressed(j_common_ptr file) {
  if (reinterpret_cast<j_decompress_ptr>(file)->input_scan_number > mostScans)
    fail(file, "it has more than 100 scans");
}
}

/// Reads what stands before the pixels; false where it fails.
static bool readJpegHeader(JpegReader &reader, const unsigned char *bytes,
                           unsigned long size) {
  reader.file.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = jpegFailed;
  reader.errors.emit_message = jpegWarned;
  reader.progress.progress_monitor = jpegProgressed;
  if (setjmp(reader.leave) != 0)
    return false;
  reader.file.client_data = &reader; // Kept by what follows.
  jpeg_create_decompress(&reader.file);
  reader.isCreated = true;
  reader.file.progress = &reader.progress;
  jpeg_mem_src(&reader.file, bytes, size);
  jpeg_read_header(&reader.file, TRUE);
  return true;
}

/// A printer's four colours, which files have inverted, as Pillow converts
/// them.
static void convertCmyk(const uint8_t *cmyk, uint8_t *rgb, size_t width) {
  for (size_t x = 0; x < width; ++x, cmyk += 4, rgb += 3)
    for (size_t c = 0; c < 3; ++c) {
      unsigned light = cmyk[3], ink = 255u - cmyk[c];
      rgb[c] = uint8_t(light - (ink * light + 127) / 255);
    }
}

/// `row` has room for 4 bytes a pixel.
static bool readJpegRows(JpegReader &reader, uint8_t *row, uint8_t *pixels) {
  if (setjmp(reader.leave) != 0)
    return false;
  jpeg_decompress_struct &file = reader.file;
  bool isCmyk = file.num_components == 4;
  file.out_color_space = isCmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&file);
  while (file.output_scanline < file.output_height) {
    uint8_t *out =
        pixels + size_t(file.output_scanline) * file.output_width * 3;
    JSAMPROW into = isCmyk ? row : out;
    jpeg_read_scanlines(&file, &into, 1);
    if (isCmyk)
      convertCmyk(row, out, file.output_width);
  }
  return true;
}

StatusOr<RgbImage> data::decodeJpeg(std::string_view bytes,
                                    const ImageLimits &limits) {
  JpegReader reader;
  auto wrong = [&] {
    return dataLoss(std::string("is a damaged JPEG file: ") +
                    reader.error.data());
  };
  if (!readJpegHeader(reader,
                      reinterpret_cast<const unsigned char *>(bytes.data()),
                      bytes.size()))
    return wrong();
  uint64_t width = reader.file.image_width, height = reader.file.image_height;
  HOCKET_RETURN_IF_ERROR(checkImageSize(width, height, limits));
  int components = reader.file.num_components;
  if (components != 1 && components != 3 && components != 4)
    return invalidArgument("is a JPEG file of " + std::to_string(components) +
                           " colours; expected 1, 3 or 4");
  RgbImage image{width, height, {}};
  image.pixels.resize(width * height * 3);
  std::vector<uint8_t> row(components == 4 ? width * 4 : 0);
  if (!readJpegRows(reader, row.data(), image.pixels.data()))
    return wrong();
  return image;
}
