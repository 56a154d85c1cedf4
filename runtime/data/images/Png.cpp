//===- Png.cpp - PNG files to pixels --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// libpng leaves a function that fails by longjmp(). So the functions that call
/// it have no objects with destructors: what they fill is owned by their
/// caller.
///
//===----------------------------------------------------------------------===//

#include "runtime/data/images/Image.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <png.h>

using namespace hocket;
using namespace hocket::data;

namespace {
/// A file that is being read.
struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const char *next = nullptr;
  size_t left = 0;
  std::array<char, 200> error = {};

  // What the header says.
  png_uint_32 width = 0, height = 0;
  int depth = 0, color = 0, interlace = 0, passes = 1;
  size_t rowBytes = 0; ///< Of samples of 8 bits, or indices.

  // What a colour stands for.
  std::array<std::array<uint8_t, 4>, 256> palette = {};
  size_t colors = 0;
  bool hasTransparent = false;
  std::array<uint8_t, 3> transparent = {};

  PngReader() = default;
  PngReader(const PngReader &) = delete;
  PngReader &operator=(const PngReader &) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};
} // namespace

extern "C" {
static void pngFailed(png_structp png, png_const_charp message) {
  auto *reader = static_cast<PngReader *>(png_get_error_ptr(png));
  std::snprintf(reader->error.data(), reader->error.size(), "%s", message);
  png_longjmp(png, 1);
}

static void pngWarned(png_structp, png_const_charp) {}

static void pngTakes(png_structp png, png_bytep out, size_t size) {
  auto *reader = static_cast<PngReader *>(png_get_io_ptr(png));
  if (size > reader->left)
    png_error(png, "the file is cut short");
  std::memcpy(out, reader->next, size);
  reader->next += size;
  reader->left -= size;
}
}

/// White shows through `value` where `alpha` is below 255, rounded to nearest.
static uint8_t onWhite(uint8_t value, uint8_t alpha) {
  unsigned sum = value * alpha + 255u * (255u - alpha);
  return uint8_t((sum + 127) / 255);
}

static void readPalette(PngReader &reader) {
  png_colorp colors = nullptr;
  int count = 0;
  if (png_get_PLTE(reader.png, reader.info, &colors, &count) == 0)
    png_error(reader.png, "it has no palette");
  reader.colors = size_t(count);
  for (int i = 0; i < count; ++i)
    reader.palette[i] = {colors[i].red, colors[i].green, colors[i].blue, 255};
  png_bytep alphas = nullptr;
  png_color_16p unused = nullptr;
  if (png_get_tRNS(reader.png, reader.info, &alphas, &count, &unused) == 0)
    return;
  for (int i = 0; i < count && i < 256; ++i)
    reader.palette[i][3] = alphas[i];
}

static void readTransparentColor(PngReader &reader) {
  png_bytep alphas = nullptr;
  int count = 0;
  png_color_16p color = nullptr;
  if (png_get_tRNS(reader.png, reader.info, &alphas, &count, &color) == 0)
    return;
  reader.hasTransparent = true;
  if (reader.color == PNG_COLOR_TYPE_GRAY)
    reader.transparent.fill(uint8_t(color->gray));
  else
    reader.transparent = {uint8_t(color->red), uint8_t(color->green),
                          uint8_t(color->blue)};
}

/// Reads what stands before the pixels; false where it fails.
static bool readPngHeader(PngReader &reader, const ImageLimits &limits) {
  if (setjmp(png_jmpbuf(reader.png)) != 0)
    return false;
  png_set_read_fn(reader.png, &reader, pngTakes);
  // The number of pixels is ours to limit.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(reader.png, reader.info);
  png_get_IHDR(reader.png, reader.info, &reader.width, &reader.height,
               &reader.depth, &reader.color, &reader.interlace, nullptr,
               nullptr);
  return true;
}

/// Asks for samples of 8 bits, once the image may be read.
static bool beginPngRows(PngReader &reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0)
    return false;
  if (reader.color == PNG_COLOR_TYPE_PALETTE) {
    readPalette(reader);
    png_set_packing(reader.png);
  } else if ((reader.color & PNG_COLOR_MASK_ALPHA) == 0) {
    readTransparentColor(reader);
  }
  if (reader.color == PNG_COLOR_TYPE_GRAY && reader.depth < 8)
    png_set_expand_gray_1_2_4_to_8(reader.png);
  if (reader.depth == 16)
    png_set_strip_16(reader.png);
  reader.passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  reader.rowBytes = png_get_rowbytes(reader.png, reader.info);
  return true;
}

/// One row of samples as RGB.
static void convertRow(PngReader &reader, const uint8_t *row, uint8_t *rgb) {
  bool isPalette = reader.color == PNG_COLOR_TYPE_PALETTE;
  bool isColor = (reader.color & PNG_COLOR_MASK_COLOR) != 0 && !isPalette;
  bool hasAlpha = (reader.color & PNG_COLOR_MASK_ALPHA) != 0;
  size_t channels = (isColor ? 3 : 1) + (hasAlpha ? 1 : 0);
  for (size_t x = 0; x < reader.width; ++x, row += channels, rgb += 3) {
    std::array<uint8_t, 3> color = {row[0], row[isColor ? 1 : 0],
                                    row[isColor ? 2 : 0]};
    uint8_t alpha = 255;
    if (isPalette) {
      if (row[0] >= reader.colors)
        png_error(reader.png, "a pixel has a colour that its palette lacks");
      std::memcpy(color.data(), reader.palette[row[0]].data(), 3);
      alpha = reader.palette[row[0]][3];
    } else if (hasAlpha) {
      alpha = row[channels - 1];
    } else if (reader.hasTransparent && color == reader.transparent) {
      alpha = 0;
    }
    for (size_t c = 0; c < 3; ++c)
      rgb[c] = onWhite(color[c], alpha);
  }
}

/// `samples` has room for a row, or for all where they are interlaced.
static bool readPngRows(PngReader &reader, uint8_t *samples, uint8_t *pixels) {
  if (setjmp(png_jmpbuf(reader.png)) != 0)
    return false;
  for (int pass = 0; pass < reader.passes; ++pass)
    for (size_t y = 0; y < reader.height; ++y) {
      uint8_t *row = samples + (reader.passes > 1 ? y * reader.rowBytes : 0);
      png_read_row(reader.png, row, nullptr);
      if (pass + 1 == reader.passes)
        convertRow(reader, row, pixels + y * reader.width * 3);
    }
  png_read_end(reader.png, nullptr);
  return true;
}

/// Of kinds whose colours `transformers` gets wrong.
static Status checkKind(PngReader &reader) {
  bool hasTransparent =
      png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  if (reader.color == PNG_COLOR_TYPE_GRAY && reader.depth == 16)
    return invalidArgument(
        "is grey of 16 bits, which other programs clip at 255 of 65,535; "
        "convert it to 8 bits");
  if (reader.color != PNG_COLOR_TYPE_PALETTE && reader.depth != 8 &&
      hasTransparent)
    return invalidArgument("has a transparent colour of " +
                           std::to_string(reader.depth) +
                           " bits; expected 8 bits");
  return okStatus();
}

StatusOr<RgbImage> data::decodePng(std::string_view bytes,
                                   const ImageLimits &limits) {
  PngReader reader;
  reader.next = bytes.data();
  reader.left = bytes.size();
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, pngFailed,
                                      pngWarned);
  if (reader.png)
    reader.info = png_create_info_struct(reader.png);
  if (!reader.info)
    return resourceExhausted("no memory is left to read a PNG file");
  auto wrong = [&] {
    return dataLoss(std::string("is a damaged PNG file: ") +
                    reader.error.data());
  };
  if (!readPngHeader(reader, limits))
    return wrong();
  HOCKET_RETURN_IF_ERROR(checkImageSize(reader.width, reader.height, limits));
  HOCKET_RETURN_IF_ERROR(checkKind(reader));
  if (!beginPngRows(reader))
    return wrong();
  RgbImage image{reader.width, reader.height, {}};
  image.pixels.resize(image.width * image.height * 3);
  std::vector<uint8_t> samples(reader.rowBytes *
                               (reader.passes > 1 ? image.height : 1));
  if (!readPngRows(reader, samples.data(), image.pixels.data()))
    return wrong();
  return image;
}
