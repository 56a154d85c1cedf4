//===- BufferAlignment.h - Where buffers may begin --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What arenas are laid out with. Whoever counts the bytes of a buffer (the
/// recompute planner, the layout, the report of a role's memory) counts them
/// with this, and the executable says it to the runtime.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_BUFFERALIGNMENT_H
#define HOCKET_PASSES_PLANNING_MEMORY_BUFFERALIGNMENT_H

#include <cstdint>

namespace hocket::planning {

/// Of every buffer: enough for any vector load and for cache lines in pairs.
inline constexpr uint64_t kBufferAlignment = 256;

/// `bytes`, at least 0 and at most 2^63 - kBufferAlignment, rounded up to it.
constexpr int64_t alignedBufferBytes(int64_t bytes) {
  uint64_t up = static_cast<uint64_t>(bytes) + kBufferAlignment - 1;
  return static_cast<int64_t>(up / kBufferAlignment * kBufferAlignment);
}

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_BUFFERALIGNMENT_H
