//===- PlacedRows.cpp - Rows of others in the place of tokens -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/PlacedRows.h"

namespace hocket::kernels {

KernelError checkPlacedRows(const PlacedRowsShape &shape, const int32_t *rows) {
  for (int64_t t = 0; t < shape.tokens(); ++t)
    if (rows[t] >= shape.sources)
      return "place_rows: a row is not one of its sequence's";
  return nullptr;
}

KernelError reference::placeRows(const PlaceRowsArguments &args) {
  const PlacedRowsShape &shape = args.shape;
  if (KernelError error = checkPlacedRows(shape, args.rows))
    return error;
  for (int64_t t = 0; t < shape.tokens(); ++t)
    for (int64_t h = 0; h < shape.hidden; ++h) {
      double value = 0;
      int64_t source = t / shape.positions * shape.sources + args.rows[t];
      if (args.rows[t] < 0)
        value = load(args.x, t * shape.hidden + h);
      else if (args.source.data)
        value = load(args.source, source * shape.hidden + h);
      store(args.out, t * shape.hidden + h, value);
    }
  return nullptr;
}

KernelError
reference::placedRowsGradient(const PlacedRowsGradientArguments &args) {
  const PlacedRowsShape &shape = args.shape;
  if (KernelError error = checkPlacedRows(shape, args.rows))
    return error;
  for (int64_t row = 0; row < shape.sequences * shape.sources; ++row)
    for (int64_t h = 0; h < shape.hidden; ++h) {
      float sum = 0;
      int64_t first = row / shape.sources * shape.positions;
      for (int64_t t = first; t < first + shape.positions; ++t)
        if (args.rows[t] == row % shape.sources)
          sum += static_cast<float>(load(args.dy, t * shape.hidden + h));
      store(args.dsource, row * shape.hidden + h, sum);
    }
  return nullptr;
}

} // namespace hocket::kernels
