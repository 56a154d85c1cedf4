//===- Positions.h - Where the rows of a sequence are -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks that share a sequence hold rows that need not follow each other: cut
/// into 2 n parts, rank r of n has the parts r and 2 n - 1 - r, so that under a
/// causal mask all have as much to attend to (Llama 3, arXiv
/// 2407.21783, 3.3.2). Put one after another, what they hold are the parts 0, 2
/// n - 1, 1, 2 n - 2,
/// ...; that is the order of storage here.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_POSITIONS_H
#define HOCKET_KERNELS_REFERENCE_POSITIONS_H

#include <cstdint>

namespace hocket::kernels {

/// The position of the row that is stored at `at`, in a sequence of `whole`
/// rows that is stored in parts of `part` (0: in order), an even number of
/// them.
[[gnu::always_inline]] inline int64_t storedPosition(int64_t at, int64_t part,
                                                     int64_t whole) {
  if (part == 0)
    return at;
  int64_t stored = at / part, half = stored / 2;
  int64_t number = stored % 2 ? whole / part - 1 - half : half;
  return number * part + at % part;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_POSITIONS_H
