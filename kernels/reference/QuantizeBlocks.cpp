//===- QuantizeBlocks.cpp - 8 bits with a scale a block -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/QuantizeBlocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hocket::kernels::reference {

/// Calls `visit` with the index of every element of block `b`.
template <typename Visit>
static void ofBlock(const BlockShape &shape, int64_t b, const Visit &visit) {
  int64_t across = shape.across(), down = shape.down();
  int64_t outer = b / (across * down);
  int64_t firstRow = b / across % down * shape.blockRows;
  int64_t firstColumn = b % across * shape.blockColumns;
  int64_t endRow = std::min(shape.rows, firstRow + shape.blockRows);
  int64_t endColumn = std::min(shape.columns, firstColumn + shape.blockColumns);
  for (int64_t r = firstRow; r < endRow; ++r)
    for (int64_t c = firstColumn; c < endColumn; ++c)
      visit((outer * shape.rows + r) * shape.columns + c);
}

static int64_t blocksOf(const BlockShape &shape) {
  return shape.outer * shape.down() * shape.across();
}

KernelError quantizeBlocks(const QuantizeBlocksArguments &args) {
  double largest = args.codes.dtype == DType::F8E4M3 ? 448 : 57344;
  for (int64_t b = 0; b < blocksOf(args.shape); ++b) {
    double greatest = 0;
    bool isFinite = true;
    ofBlock(args.shape, b, [&](int64_t i) {
      double magnitude = std::abs(load(args.x, i));
      isFinite &= std::isfinite(magnitude);
      greatest = std::max(greatest, magnitude);
    });
    double scale =
        isFinite ? 0x1p-126 : std::numeric_limits<double>::quiet_NaN();
    while (isFinite && greatest > scale * largest)
      scale *= 2;
    args.scales[b] = static_cast<float>(scale);
    ofBlock(args.shape, b,
            [&](int64_t i) { store(args.codes, i, load(args.x, i) / scale); });
  }
  return nullptr;
}

KernelError dequantizeBlocks(const DequantizeBlocksArguments &args) {
  for (int64_t b = 0; b < blocksOf(args.shape); ++b)
    ofBlock(args.shape, b, [&](int64_t i) {
      store(args.y, i, load(args.codes, i) * args.scales[b]);
    });
  return nullptr;
}

} // namespace hocket::kernels::reference
