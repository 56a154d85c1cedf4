//===- Slices.h - Parts of a global tensor ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans cut tensors differently. A slice is, for every dim, a range
/// [offset, offset + size) of the global shape; its bytes are dense and
/// row-major. What one plan saved, another loads by copying where slices
/// overlap.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_SLICES_H
#define HOCKET_RUNTIME_CHECKPOINT_SLICES_H

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::checkpoint {

struct SliceBounds {
  std::vector<uint64_t> offset; ///< One entry per dim.
  std::vector<uint64_t> size;
  bool operator==(const SliceBounds &) const = default;
};

/// The whole of a tensor.
SliceBounds wholeOf(const std::vector<uint64_t> &shape);

/// Whether `slice` has the rank of `shape` and lies inside it.
bool isInside(const SliceBounds &slice, std::span<const uint64_t> shape);

/// What both have; nullopt if that is nothing. Equal ranks.
std::optional<SliceBounds> intersect(const SliceBounds &a,
                                     const SliceBounds &b);

/// Number of elements; the slice lies inside a tensor that fits in memory.
uint64_t elementsOf(const SliceBounds &slice);

/// Cuts a slice into slices of at most `bytes`, or of one element, each of
/// which lies together in it, in the order of its bytes. None of an empty
/// slice.
std::vector<SliceBounds> windowsOf(const SliceBounds &slice,
                                   uint64_t elementBytes, uint64_t bytes);

/// "[0, 4) x [2, 6)", "scalar" for rank 0.
std::string sliceText(const SliceBounds &slice);

/// Bytes that two slices share and that lie together in both.
struct SharedRun {
  uint64_t from = 0, to = 0; ///< Where they begin in each.
  uint64_t bytes = 0;
};

/// Calls `take` with all that `from` and `to` share, in the order of the bytes,
/// until it fails.
Status forEachShared(const SliceBounds &from, const SliceBounds &to,
                     uint64_t elementBytes,
                     const std::function<Status(const SharedRun &)> &take);

/// Copies what `from` and `to` share from the bytes of one to the bytes of
/// the other; returns the number of elements copied.
uint64_t copyShared(const SliceBounds &from, std::span<const uint8_t> fromBytes,
                    const SliceBounds &to, std::span<uint8_t> toBytes,
                    uint64_t elementBytes);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_SLICES_H
