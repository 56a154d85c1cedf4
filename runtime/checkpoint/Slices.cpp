//===- Slices.cpp - Parts of a global tensor ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Slices.h"

#include "base/CheckedMath.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::checkpoint;

SliceBounds checkpoint::wholeOf(const std::vector<uint64_t> &shape) {
  return {std::vector<uint64_t>(shape.size()), shape};
}

bool checkpoint::isInside(const SliceBounds &slice,
                          std::span<const uint64_t> shape) {
  if (slice.offset.size() != shape.size() || slice.size.size() != shape.size())
    return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!rangeInside(slice.offset[d], slice.size[d], shape[d]))
      return false;
  return true;
}

std::optional<SliceBounds> checkpoint::intersect(const SliceBounds &a,
                                                 const SliceBounds &b) {
  SliceBounds both;
  for (size_t d = 0; d < a.offset.size(); ++d) {
    uint64_t begin = std::max(a.offset[d], b.offset[d]);
    uint64_t end = std::min(a.offset[d] + a.size[d], b.offset[d] + b.size[d]);
    if (begin >= end)
      return std::nullopt;
    both.offset.push_back(begin);
    both.size.push_back(end - begin);
  }
  return both;
}

uint64_t checkpoint::elementsOf(const SliceBounds &slice) {
  uint64_t elements = 1;
  for (uint64_t size : slice.size)
    elements *= size;
  return elements;
}

std::vector<SliceBounds> checkpoint::windowsOf(const SliceBounds &slice,
                                               uint64_t elementBytes,
                                               uint64_t bytes) {
  std::vector<SliceBounds> windows;
  if (elementsOf(slice) == 0)
    return windows;
  // The dims from `cut` on fit whole; of the one before them, `rows` at a time.
  size_t cut = slice.size.size();
  uint64_t inner = elementBytes;
  while (cut > 0 && inner * slice.size[cut - 1] <= bytes)
    inner *= slice.size[--cut];
  if (cut == 0)
    return {slice};
  uint64_t rows = std::max<uint64_t>(1, bytes / inner);
  SliceBounds window = slice;
  for (size_t d = 0; d < cut; ++d)
    window.size[d] = 1;
  size_t along = cut - 1;
  while (true) {
    uint64_t end = slice.offset[along] + slice.size[along];
    for (uint64_t at = slice.offset[along]; at < end; at += rows) {
      window.offset[along] = at;
      window.size[along] = std::min(rows, end - at);
      windows.push_back(window);
    }
    size_t d = along; // The next index of the dims before.
    while (d > 0 &&
           ++window.offset[d - 1] == slice.offset[d - 1] + slice.size[d - 1]) {
      window.offset[d - 1] = slice.offset[d - 1];
      --d;
    }
    if (d == 0)
      return windows;
  }
}

std::string checkpoint::sliceText(const SliceBounds &slice) {
  std::string text;
  for (size_t d = 0; d < slice.size.size(); ++d)
    text += (d ? " x [" : "[") + std::to_string(slice.offset[d]) + ", " +
            std::to_string(slice.offset[d] + slice.size[d]) + ")";
  return text.empty() ? "scalar" : text;
}

/// Position of the element `index` (global) within the bytes of `slice`.
static uint64_t positionIn(const SliceBounds &slice,
                           std::span<const uint64_t> index) {
  uint64_t position = 0;
  for (size_t d = 0; d < index.size(); ++d)
    position = position * slice.size[d] + (index[d] - slice.offset[d]);
  return position;
}

/// Steps `index` through `bounds`, the last dim left out; false at the end.
static bool nextRow(const SliceBounds &bounds, std::vector<uint64_t> &index) {
  for (size_t d = index.size() - 1; d-- > 0;) {
    if (++index[d] < bounds.offset[d] + bounds.size[d])
      return true;
    index[d] = bounds.offset[d];
  }
  return false;
}

Status checkpoint::forEachShared(
    const SliceBounds &from, const SliceBounds &to, uint64_t elementBytes,
    const std::function<Status(const SharedRun &)> &take) {
  // Equal slices need no rows; rank 0 has none.
  if (from == to)
    return take({0, 0, elementsOf(to) * elementBytes});
  auto shared = intersect(from, to);
  if (!shared)
    return okStatus();
  std::vector<uint64_t> index = shared->offset;
  uint64_t rowBytes = shared->size.back() * elementBytes;
  do {
    HOCKET_RETURN_IF_ERROR(
        take({positionIn(from, index) * elementBytes,
              positionIn(to, index) * elementBytes, rowBytes}));
  } while (nextRow(*shared, index));
  return okStatus();
}

uint64_t checkpoint::copyShared(const SliceBounds &from,
                                std::span<const uint8_t> fromBytes,
                                const SliceBounds &to,
                                std::span<uint8_t> toBytes,
                                uint64_t elementBytes) {
  uint64_t copied = 0;
  (void)forEachShared(from, to, elementBytes, [&](const SharedRun &run) {
    std::memcpy(toBytes.data() + run.to, fromBytes.data() + run.from,
                run.bytes);
    copied += run.bytes;
    return okStatus();
  });
  return copied / elementBytes;
}
