//===- MemoryProblem.h - Buffers that share memory --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dynamic storage allocation: given buffers with sizes and lifetimes, find an
/// offset for each so that no two that live at the same time share a byte, and
/// the highest byte used is as low as can be. The problem is NP-hard (Garey and
/// Johnson, SR2).
///
/// Beside size and lifetime a buffer may have an alignment, a fixed offset, an
/// arena of its own (a kind of memory), gaps in which it needs fewer bytes or
/// none, and a host: a buffer inside whose bytes it stands at a fixed distance,
/// as an in-place result stands in its operand. A buffer, its host, and all
/// others inside that host may share bytes at any time.
///
/// MemoryCsv.h has the text form, MemoryPlan.h the algorithms.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_MEMORYPROBLEM_H
#define HOCKET_PASSES_PLANNING_MEMORY_MEMORYPROBLEM_H

#include "base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket::planning {

/// During [lower, upper) only the bytes [first, last) of the buffer are needed;
/// none where they are equal.
struct MemoryGap {
  int64_t lower = 0, upper = 0;
  int64_t first = 0, last = 0;

  bool operator==(const MemoryGap &) const = default;
};

/// `size` bytes that live during [lower, upper).
struct MemoryBuffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  /// The offset is a multiple of it. A buffer with a host has its host's.
  int64_t alignment = 1;
  /// Where the buffer has to be.
  std::optional<int64_t> offset = {};
  /// Inside the lifetime, in order, apart from each other.
  std::vector<MemoryGap> gaps = {};
  /// The number of the buffer it stands in, which has no host itself.
  std::optional<int64_t> host = {};
  /// Where in the host: its offset is the host's and this.
  int64_t within = 0;
  /// The kind of memory: buffers of different arenas never meet.
  std::string arena = {};
};

struct MemoryProblem {
  std::vector<MemoryBuffer> buffers;
};

/// A byte offset for every buffer, in the problem's order.
using MemoryOffsets = std::vector<int64_t>;

/// The most of buffers, of a time or a size, and of an alignment.
constexpr int64_t kMostBuffers = int64_t{1} << 15;
constexpr int64_t kMostUnits = int64_t{1} << 60;
constexpr int64_t kMostAlignment = int64_t{1} << 40;

/// Refuses (Q60) more buffers than kMostBuffers; times, sizes and offsets
/// below 0 or sizes whose sum is above kMostUnits; lifetimes that end before
/// they have begun; alignments below 1 or above kMostAlignment; gaps outside
/// the lifetime or the bytes, or out of order; hosts that do not exist, have a
/// host, are of another arena or too small; offsets of a buffer with a host.
Status checkMemoryProblem(const MemoryProblem &problem);

/// One buffer's part of checkMemoryProblem, without the sum.
Status checkMemoryBuffer(const MemoryProblem &problem, size_t index);

/// The end of the highest buffer of each arena.
std::map<std::string, int64_t> memoryPeaks(const MemoryProblem &problem,
                                           const MemoryOffsets &offsets);

/// For each arena a peak that no plan is below: the most bytes needed at one
/// moment, sizes rounded up to what all alignments have in common, and the end
/// of every buffer that is fixed.
std::map<std::string, int64_t> memoryLowerBounds(const MemoryProblem &problem);

/// Ok, or why (Q61) `offsets` is no plan: not one for each buffer, below 0,
/// not aligned, not where the buffer is fixed or its host says, or two buffers
/// that share a byte at one time. Quadratic, and meant to be obviously right.
Status validateMemoryPlan(const MemoryProblem &problem,
                          const MemoryOffsets &offsets);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_MEMORYPROBLEM_H
