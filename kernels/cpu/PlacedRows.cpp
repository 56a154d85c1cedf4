//===- PlacedRows.cpp - Rows in the place of tokens on the CPU ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/PlacedRows.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace hocket::kernels {
namespace {

constexpr int64_t kRowsPerTask = 64;

constexpr KernelError kPlacedTypes =
    "place_rows: an element type is not f32, bf16 or f16";

void zeroRow(View view, int64_t row, int64_t width) {
  int64_t bytes = width * bytesOf(view.dtype);
  std::memset(static_cast<char *>(view.data) + row * bytes, 0, bytes);
}

/// The tokens that each source stands at, in order.
struct TokensOfSources {
  explicit TokensOfSources(const PlacedRowsGradientArguments &args)
      : starts(args.shape.sequences * args.shape.sources + 1),
        tokens(args.shape.tokens()) {
    const PlacedRowsShape &shape = args.shape;
    auto eachPlaced = [&](auto fn) {
      for (int64_t t = 0; t < shape.tokens(); ++t)
        if (args.rows[t] >= 0)
          fn(t, t / shape.positions * shape.sources + args.rows[t]);
    };
    eachPlaced([&](int64_t, int64_t source) { ++starts[source + 1]; });
    for (size_t i = 1; i < starts.size(); ++i)
      starts[i] += starts[i - 1];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    eachPlaced([&](int64_t t, int64_t source) { tokens[next[source]++] = t; });
  }
  std::vector<int64_t> starts, tokens;
};

} // namespace

KernelError placeRows(const PlaceRowsArguments &args, Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(args.x.dtype) || !isFloating(args.out.dtype))
    return kPlacedTypes;
  const PlacedRowsShape &shape = args.shape;
  if (KernelError error = checkPlacedRows(shape, args.rows))
    return error;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t index, int) {
    int64_t end = std::min((index + 1) * kRowsPerTask, shape.tokens());
    for (int64_t t = index * kRowsPerTask; t < end; ++t) {
      int64_t source = t / shape.positions * shape.sources + args.rows[t];
      if (args.rows[t] < 0)
        row.copy(args.x, t * shape.hidden, args.out, t * shape.hidden,
                 shape.hidden);
      else if (args.source.data)
        row.copy(args.source, source * shape.hidden, args.out, t * shape.hidden,
                 shape.hidden);
      else
        zeroRow(args.out, t, shape.hidden);
    }
  };
  workers.run(divideUp(shape.tokens(), kRowsPerTask), task);
  return nullptr;
}

KernelError placedRowsGradient(const PlacedRowsGradientArguments &args,
                               Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(args.dy.dtype) || !isFloating(args.dsource.dtype))
    return kPlacedTypes;
  const PlacedRowsShape &shape = args.shape;
  if (KernelError error = checkPlacedRows(shape, args.rows))
    return error;
  const RowKernels &row = rowKernelsOf(workers);
  const TokensOfSources placed(args);
  int64_t width = shape.hidden, all = shape.sequences * shape.sources;
  auto task = [&](int64_t index, int) {
    std::vector<float> sum;
    int64_t end = std::min((index + 1) * kRowsPerTask, all);
    for (int64_t source = index * kRowsPerTask; source < end; ++source) {
      int64_t first = placed.starts[source], last = placed.starts[source + 1];
      if (first == last) {
        zeroRow(args.dsource, source, width);
      } else {
        sum.assign(width, 0);
        for (int64_t i = first; i < last; ++i)
          row.add(args.dy, placed.tokens[i] * width, sum.data(), width);
        row.copy({sum.data(), DType::F32}, 0, args.dsource, source * width,
                 width);
      }
    }
  };
  workers.run(divideUp(all, kRowsPerTask), task);
  return nullptr;
}

} // namespace hocket::kernels
