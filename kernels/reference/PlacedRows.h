//===- PlacedRows.h - Rows of others in the place of tokens -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each position of a sequence keeps its row, or gets one of the sequence's
/// sources: with r = rows[b, s],
///   out[b, s] = r < 0 ? x[b, s] : source[b, r]
/// and the gradient of the sources is
///   dsource[b, r] = sum over s with rows[b, s] == r of dy[b, s], in order of
///   s.
/// That of x is dy where r < 0, and zeros elsewhere: the first without sources.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_PLACEDROWS_H
#define HOCKET_KERNELS_REFERENCE_PLACEDROWS_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

struct PlacedRowsShape {
  int64_t sequences = 0, positions = 0, sources = 0, hidden = 0;

  int64_t tokens() const { return sequences * positions; }
};

struct PlaceRowsArguments {
  PlacedRowsShape shape;
  const int32_t *rows = nullptr; ///< [sequences, positions], below sources
  ConstView x;                   ///< [sequences, positions, hidden]
  ConstView source; ///< [sequences, sources, hidden]; without data: zeros
  View out;         ///< [sequences, positions, hidden]
};

struct PlacedRowsGradientArguments {
  PlacedRowsShape shape;
  const int32_t *rows = nullptr; ///< as above
  ConstView dy;                  ///< [sequences, positions, hidden]
  View dsource;                  ///< [sequences, sources, hidden]
};

/// Null, or that a row is not below `shape.sources`.
[[nodiscard]] KernelError checkPlacedRows(const PlacedRowsShape &shape,
                                          const int32_t *rows);

namespace reference {
[[nodiscard]] KernelError placeRows(const PlaceRowsArguments &args);
/// Sums are of f32.
[[nodiscard]] KernelError
placedRowsGradient(const PlacedRowsGradientArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_PLACEDROWS_H
