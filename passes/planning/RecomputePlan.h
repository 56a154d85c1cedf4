//===- RecomputePlan.h - What the backward pass computes again --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every residual is either saved from F to the backward, in as many copies as
/// the schedule has in flight, or computed again just before the backward of
/// its layer needs it. All residuals of a layer are then there, saved or not,
/// so that each has a price of its own: the time to compute it from the others.
///
/// The planned peak of a rank is
///
///     fixed + sum over saved of bytes x live
///           + max over blocks of the sum over recomputed of bytes
///
/// where a block is what is recomputed together: one layer, or the layers of
/// one checkpoint. What is saved has its slots for the whole step (see
/// ResidualSlots.h), which is why the first sum is one of peaks.
///
/// Chen et al., arXiv 1604.06174 (full, uniform); Korthikanti et al., arXiv
/// 2205.05198 (selective).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_RECOMPUTEPLAN_H
#define HOCKET_PASSES_PLANNING_RECOMPUTEPLAN_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::planning {

/// The most of each number that a problem may have.
inline constexpr int64_t kMostResidualCount = int64_t(1) << 22;
inline constexpr int64_t kMostResidualBytes = int64_t(1) << 60;
inline constexpr double kMostResidualSeconds = 1e15;

enum class ResidualGroup : uint8_t {
  Input,     ///< The input of its layer: what full recomputation starts from.
  Selective, ///< Cheap for its size: what selective recomputation gives up.
  Other,
};

/// What a backward needs of one layer's forward, for one microbatch.
struct Residual {
  std::string name;
  int64_t chunk = 0;
  int64_t layer = 0;
  int64_t bytes = 0;
  double seconds = 0; ///< To compute it again, once.
  int64_t live = 1;   ///< Copies in flight, from the schedule; at least 1.
  ResidualGroup group = ResidualGroup::Other;

  bool operator==(const Residual &) const = default;
};

struct RecomputeRank {
  int64_t fixed = 0; ///< Bytes of everything else.
  int64_t budget = INT64_MAX;
  /// Layers of a chunk in the order of the forward pass.
  std::vector<Residual> residuals;

  bool operator==(const RecomputeRank &) const = default;
};

struct RecomputeProblem {
  int64_t microbatches = 1;
  std::vector<RecomputeRank> ranks;

  bool operator==(const RecomputeProblem &) const = default;
};

enum class RecomputeMode : uint8_t {
  None,        ///< Save everything.
  Selective,   ///< Recompute the group Selective.
  FullUniform, ///< Save the input of every n-th layer of a chunk, only.
  FullBlock,   ///< Of the first n layers of a chunk save the inputs only.
  Auto,        ///< The least time that fits the budget.
};

struct RankRecompute {
  /// For every residual of the rank: whether it is computed again.
  std::vector<bool> recomputed;
  /// For every residual: the block it is recomputed with.
  std::vector<int64_t> blocks;
  int64_t peak = 0;   ///< Planned bytes.
  double seconds = 0; ///< Recomputing, over all microbatches of a step.
  /// No plan that fits the budget recomputes for less. Of Auto; elsewhere
  /// equal to `seconds`.
  double bound = 0;
};

struct RecomputePlan {
  std::vector<RankRecompute> ranks;
};

/// Plans every rank by itself. `layers` is the n of FullUniform and FullBlock,
/// at least 1. Refuses what is not a problem (Q50), and a plan that does not
/// fit (Q51): on which rank, and by how many bytes. Auto refuses only where
/// nothing fits.
///
/// Auto takes the residuals with the least seconds per byte, and improves on
/// that by branch and bound within a fixed number of steps: the answer is
/// exact where `bound` equals `seconds`.
StatusOr<RecomputePlan> planRecompute(const RecomputeProblem &problem,
                                      RecomputeMode mode, int64_t layers = 1);

/// Refuses what is not a problem: Q50.
Status checkRecomputeProblem(const RecomputeProblem &problem);

/// Ok, or why `plan` is none: a peak or time that is not what its choices give,
/// a peak above the budget, a bound above the time, an input recomputed though
/// the layer before it is not in its block.
Status validateRecompute(const RecomputeProblem &problem,
                         const RecomputePlan &plan);

/// Text form; the columns of a residual are its fields in order.
///
///     recompute-problem
///     microbatches 8
///     rank 0 fixed 1000 budget 5000   # or `budget none`
///       # name chunk layer bytes seconds live group
///       input 0 0 64 0 4 input
///       scores 0 0 512 0.25 4 selective
///       hidden 0 0 256 0.5 4 other
StatusOr<RecomputeProblem> readRecomputeProblem(std::string_view file,
                                                std::string_view text);
std::string writeRecomputeProblem(const RecomputeProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_RECOMPUTEPLAN_H
