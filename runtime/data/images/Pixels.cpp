//===- Pixels.cpp - Pixels as a vision tower takes them -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/images/Pixels.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

namespace {
/// One side of an image, before and after.
struct Side {
  uint64_t from = 0, to = 0;
  uint64_t first = 0, count = 0; ///< What the crop leaves of `to`.
};

/// Which pixels of a line a new one is made of, and their weights.
struct Taps {
  uint64_t first = 0;
  std::vector<int32_t> weights; ///< In units of 2^-22.
};
} // namespace

static constexpr int fixedBits = 22;

/// Keys's cubic convolution, with a = -0.5.
static double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2)
    return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

static int32_t toFixed(double weight) {
  double scaled = weight * (1 << fixedBits);
  return int32_t(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/// Of new pixel `at`: the filter is as wide as what it replaces.
static Taps tapsOf(const Side &side, uint64_t at) {
  double scale = double(side.from) / double(side.to);
  double stretch = std::max(scale, 1.0), support = 2 * stretch;
  double center = (double(at) + 0.5) * scale, inverse = 1 / stretch;
  auto begin = int64_t(std::floor(center - support + 0.5));
  auto end = int64_t(std::floor(center + support + 0.5));
  begin = std::max<int64_t>(begin, 0);
  end = std::min(end, int64_t(side.from));
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    weights.push_back(bicubic((double(i) - center + 0.5) * inverse));
    sum += weights.back();
  }
  Taps taps{uint64_t(begin), {}};
  for (double weight : weights)
    taps.weights.push_back(toFixed(sum != 0 ? weight / sum : weight));
  return taps;
}

/// What a pass makes of the crop's part of a side. Pillow leaves out a pass
/// that changes no size.
static std::vector<Taps> allTaps(const Side &side) {
  std::vector<Taps> all;
  for (uint64_t i = side.first; i < side.first + side.count; ++i)
    all.push_back(side.from == side.to ? Taps{i, {1 << fixedBits}}
                                       : tapsOf(side, i));
  return all;
}

static uint8_t toByte(int32_t sum) {
  return uint8_t(std::clamp(sum >> fixedBits, 0, 255));
}

/// A new pixel's colour of a line, whose old ones are 3 bytes apart.
static uint8_t weigh(const Taps &taps, const uint8_t *line) {
  int32_t sum = 1 << (fixedBits - 1);
  const uint8_t *at = line + taps.first * 3;
  for (int32_t weight : taps.weights) {
    sum += weight * *at;
    at += 3;
  }
  return toByte(sum);
}

/// Sides after the shorter one has `size` pixels.
static std::pair<Side, Side> newSides(const RgbImage &image, uint64_t size) {
  uint64_t shorter = std::min(image.width, image.height);
  uint64_t longer = std::max(image.width, image.height);
  auto stretched = uint64_t(double(size * longer) / double(shorter));
  auto sideOf = [&](uint64_t from) {
    uint64_t to = from == shorter ? size : stretched;
    return Side{from, to, (to - size) / 2, size};
  };
  return {sideOf(image.width), sideOf(image.height)};
}

/// The old pixels that new ones are made of, from `first` to `end`, which the
/// taps count from then on.
static std::pair<uint64_t, uint64_t> reach(std::vector<Taps> &all) {
  uint64_t first = all.front().first, end = 0;
  for (Taps &taps : all) {
    end = std::max<uint64_t>(end, taps.first + taps.weights.size());
    taps.first -= first;
  }
  return {first, end};
}

/// Makes each of `height` lines of `width` pixels as many as there are
/// `columns`.
static std::vector<uint8_t> passAcross(const uint8_t *pixels, uint64_t width,
                                       uint64_t height,
                                       const std::vector<Taps> &columns) {
  std::vector<uint8_t> result(height * columns.size() * 3);
  uint8_t *out = result.data();
  for (uint64_t y = 0; y < height; ++y)
    for (const Taps &column : columns)
      for (uint64_t c = 0; c < 3; ++c)
        *out++ = weigh(column, pixels + y * width * 3 + c);
  return result;
}

/// Makes lines that are `stride` bytes apart as many as there are `rows`, of
/// the first `bytes` of each.
static std::vector<uint8_t> passDown(const uint8_t *pixels, uint64_t stride,
                                     uint64_t bytes,
                                     const std::vector<Taps> &rows) {
  std::vector<uint8_t> result(rows.size() * bytes);
  std::vector<int32_t> sums(bytes);
  uint8_t *out = result.data();
  for (const Taps &row : rows) {
    std::ranges::fill(sums, 1 << (fixedBits - 1));
    const uint8_t *line = pixels + row.first * stride;
    for (int32_t weight : row.weights) {
      for (uint64_t i = 0; i < bytes; ++i)
        sums[i] += weight * line[i];
      line += stride;
    }
    for (int32_t sum : sums)
      *out++ = toByte(sum);
  }
  return result;
}

/// Whether columns are resized before rows: since Pillow 13 where that leaves
/// much fewer pixels for the second pass. Bytes between the passes are rounded,
/// so that the order shows.
static bool goesDownFirst(const Side &across, const Side &down) {
  auto less = [](const Side &side) {
    return int64_t(side.from) - int64_t(side.to);
  };
  return less(down) > 0 && less(down) > 2 * less(across);
}

std::vector<uint8_t> data::resizeAndCrop(const RgbImage &image, uint64_t size) {
  auto [across, down] = newSides(image, size);
  std::vector<Taps> columns = allTaps(across), rows = allTaps(down);
  // Only what the crop is made of.
  auto [left, right] = reach(columns);
  auto [top, bottom] = reach(rows);
  const uint8_t *corner = image.pixels.data() + (top * image.width + left) * 3;
  if (goesDownFirst(across, down)) {
    std::vector<uint8_t> low =
        passDown(corner, image.width * 3, (right - left) * 3, rows);
    return passAcross(low.data(), right - left, size, columns);
  }
  std::vector<uint8_t> narrow =
      passAcross(corner, image.width, bottom - top, columns);
  return passDown(narrow.data(), size * 3, size * 3, rows);
}

//===----------------------------------------------------------------------===//
// Patches
//===----------------------------------------------------------------------===//

Patches::Patches(uint64_t imageSize, uint64_t patchSize,
                 const PixelScale &scale)
    : patchSize(patchSize), perSide(imageSize / patchSize) {
  for (size_t c = 0; c < values.size(); ++c)
    for (size_t byte = 0; byte < 256; ++byte) {
      // Scaled in FP64 and normalized in FP32, as NumPy does it.
      auto scaled = float(double(byte) * (1.0 / 255));
      values[c][byte] = (scaled - float(scale.mean[c])) / float(scale.std[c]);
    }
}

void Patches::cut(std::span<const uint8_t> pixels, std::span<float> out) const {
  uint64_t stride = perSide * patchSize * 3;
  float *to = out.data();
  for (uint64_t patch = 0; patch < count(); ++patch) {
    const uint8_t *corner = pixels.data() +
                            patch / perSide * patchSize * stride +
                            patch % perSide * patchSize * 3;
    for (uint64_t c = 0; c < 3; ++c)
      for (uint64_t y = 0; y < patchSize; ++y)
        for (uint64_t x = 0; x < patchSize; ++x)
          *to++ = values[c][corner[y * stride + x * 3 + c]];
  }
}
