//===- ArenaPlan.h - Offsets for buffers with lifetimes ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dynamic storage allocation: given buffers with sizes and lifetimes, find an
/// offset for each so that no two that live at the same time share a byte, and
/// the highest byte used is as low as can be. The problem is NP-hard (Garey and
/// Johnson, SR2); what is here is first-fit over several orders, which reaches
/// the lower bound on most programs, and says how far it is from it.
///
/// Problem, algorithm and validator are separate: `isValid` shares nothing
/// with `planArena`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ARENAPLAN_H
#define HOCKET_PASSES_PLANNING_ARENAPLAN_H

#include <cstdint>
#include <vector>

namespace hocket::planning {

/// A buffer of `size` bytes that lives during [lower, upper).
struct ArenaBuffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
};

struct ArenaProblem {
  std::vector<ArenaBuffer> buffers;
  /// Every offset is a multiple of it. At least 1.
  int64_t alignment = 1;
};

struct ArenaPlan {
  /// Byte offset of every buffer, in the problem's order.
  std::vector<int64_t> offsets;
  /// The end of the highest buffer.
  int64_t peak = 0;
};

/// The most bytes (sizes rounded up to the alignment) that live at one moment:
/// no plan has a lower peak.
int64_t arenaLowerBound(const ArenaProblem &problem);

/// The best of several first-fit orders; deterministic.
ArenaPlan planArena(const ArenaProblem &problem);

/// Whether `plan` gives every buffer an aligned offset of at least 0, no two
/// buffers of overlapping lifetimes share a byte, and `peak` is the highest
/// end. Quadratic, and meant to be obviously right.
bool isValid(const ArenaProblem &problem, const ArenaPlan &plan);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ARENAPLAN_H
