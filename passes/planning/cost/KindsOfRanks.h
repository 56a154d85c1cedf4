//===- KindsOfRanks.h - Layers of pipeline ranks by kind --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_KINDSOFRANKS_H
#define HOCKET_PASSES_PLANNING_COST_KINDSOFRANKS_H

#include "passes/planning/cost/ParallelPlan.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace hocket::planning {

/// How many layers of each kind a pipeline rank has.
class KindsOfRanks {
public:
  /// `model` outlives this; `plan` has passed checkPlan.
  KindsOfRanks(const ModelShape &model, const ParallelPlan &plan);

  /// By kind.
  std::span<const int64_t> layersOf(int64_t rank) const {
    return std::span(counts).subspan(size_t(rank) * kinds.size(), kinds.size());
  }
  /// The most that `of(kind)` is of a rank's layers.
  template <typename Of> auto mostOf(int64_t rank, Of of) const {
    decltype(of(kinds[0])) most = 0;
    std::span<const int64_t> layers = layersOf(rank);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      if (layers[kind] > 0)
        most = std::max(most, of(kinds[kind]));
    return most;
  }

  /// Bytes of what gathered norms leave whole on a rank.
  double wholeGradients(int64_t rank, const ModelShape &model,
                        int64_t tp) const;
  /// Each layer's kind, of a rank's last stage, the last layer first.
  template <typename Take> void fromLast(int64_t rank, Take take) const {
    auto [first, end] = lastStages[size_t(rank)];
    while (end > first)
      take(kinds[kinds.kindOf(--end)]);
  }
  bool hasStateSpace() const { return kinds.hasStateSpace(); }

private:
  LayerKinds kinds;
  std::vector<int64_t> counts;
  std::vector<std::pair<int64_t, int64_t>> lastStages; ///< Of ranks: layers.
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_KINDSOFRANKS_H
