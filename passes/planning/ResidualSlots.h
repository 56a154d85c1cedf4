//===- ResidualSlots.h - Copies of residuals in flight ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What one action leaves to a later one of its microbatch lives in a *slot*,
/// one of several copies. A schedule says how many are needed at once, so the
/// least number of slots is known before launch, and so is the slot that each
/// (chunk, microbatch) uses.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_RESIDUALSLOTS_H
#define HOCKET_PASSES_PLANNING_RESIDUALSLOTS_H

#include "passes/planning/Schedule.h"

namespace hocket::planning {

/// From the start of which action to the end of which a residual lives.
enum class ResidualLife : uint8_t {
  ForwardToBackward, ///< F to B or BW.
  ForwardToWeight,   ///< F to W or BW.
  BackwardToWeight,  ///< B to W; with BW it never outlives its action.
};

/// Whether the chunks of a rank have copies of their own, or share one set
/// (then every copy must be as large as the largest chunk's).
enum class SlotScope : uint8_t { Chunk, Rank };

struct SlotPlan {
  int64_t chunks = 1;
  int64_t microbatches = 1;
  /// Copies for (rank, chunk): counts[rank * chunks + chunk]. With
  /// SlotScope::Rank every chunk of a rank has the number of the whole rank.
  std::vector<int64_t> counts;
  /// The slot of (rank, chunk, microbatch), from 0; -1 where none is needed.
  std::vector<int64_t> slots;

  int64_t count(int64_t rank, int64_t chunk) const {
    return counts[rank * chunks + chunk];
  }
  int64_t slot(int64_t rank, int64_t chunk, int64_t microbatch) const {
    return slots[(rank * chunks + chunk) * microbatches + microbatch];
  }
};

/// The least number of copies, and who uses which. Two residuals share a slot
/// only if the first is released by an action that stands before the one that
/// writes the second. `schedule` has passed the verifier.
SlotPlan assignSlots(const Schedule &schedule, ResidualLife life,
                     SlotScope scope = SlotScope::Chunk);

/// Ok, or why two residuals of `plan` would share a slot while both live, or
/// one has none. Quadratic, and meant to be obviously right.
Status validateSlots(const Schedule &schedule, ResidualLife life,
                     SlotScope scope, const SlotPlan &plan);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_RESIDUALSLOTS_H
