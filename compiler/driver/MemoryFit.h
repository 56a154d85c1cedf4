//===- MemoryFit.h - Recomputes until the arena fits ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `recompute = auto` is about the arena in the executable, which is known
/// once the program is laid out. What a rank needs besides its layers'
/// residuals (`fixed`) is measured: the program is compiled with everything
/// saved, then with what the planner recomputes for that `fixed`, and so on,
/// while the arena differs from what was planned. Per rank the least `fixed`
/// with which the arena fits wins. Ranks do not depend on each other here, so
/// only those are compiled again that are not decided.
///
/// The lower bound is of the first compile: while all residuals live, so does
/// what no choice changes; the cheapest way to free what is over the budget
/// there costs at least `leastSeconds`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_MEMORYFIT_H
#define HOCKET_COMPILER_DRIVER_MEMORYFIT_H

#include "base/Status.h"
#include "compiler/driver/RoleMemory.h"
#include "compiler/pipelines/Pipelines.h"

#include <functional>
#include <vector>

namespace hocket {

/// What pipe-recompute noted of a pipeline rank.
struct RecomputeNote {
  int64_t residuals = 0, recomputed = 0;
  int64_t savedBytes = 0;   ///< Of all residuals, saved.
  int64_t plannedBytes = 0; ///< The peak, for the `fixed` it was given.
  double stepSeconds = 0;   ///< Forward and backward of a step, by its rates.
  double seconds = 0;       ///< Recomputing.
  double leastSeconds = 0;  ///< No choice that fits takes less.
};

/// Reads them off a module; empty where the pass had nothing to do.
std::vector<RecomputeNote> readRecomputeNotes(mlir::ModuleOp module);

/// Leaves of a module of the pipe level what some pipeline ranks run.
void keepRanks(mlir::ModuleOp module, const std::vector<size_t> &ranks);

/// Chooses a `fixed` for each rank.
class MemoryFit {
public:
  explicit MemoryFit(int64_t budget) : budget(budget) {}

  /// Notes a compile with fixed() of the pipeline ranks open(), which came to
  /// `memory`; `notes` are of all ranks. True if another is of use.
  bool note(const std::vector<RoleMemory> &memory,
            const std::vector<RecomputeNote> &notes);

  /// Ranks whose choice is open; before the first compile: none, for all.
  const std::vector<size_t> &open() const { return undecided; }
  /// Whether the last compile was of all ranks with what fixed() says.
  bool isWhole() const { return whole; }

  /// What to compile with, by rank: the next attempt, or the best one.
  const std::vector<int64_t> &fixed() const { return next; }
  const std::vector<int64_t> &least() const { return leastFixed; }

private:
  struct Rank {
    int64_t fixed = 0;
    int64_t tooLow = -1, fits = -1; ///< -1: none yet.
    int failures = 0;               ///< Attempts that did not fit.
    bool done = false;
  };
  void noteRank(Rank &rank, int64_t arena, const RecomputeNote &note);

  int64_t budget;
  int attempts = 0;
  bool whole = false;
  std::vector<size_t> undecided;
  std::vector<Rank> ranks;
  std::vector<int64_t> next, leastFixed;
};

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_MEMORYFIT_H
