//===- InputTimes.h - When an action's input is there -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_INPUTTIMES_H
#define HOCKET_PASSES_PLANNING_INPUTTIMES_H

#include "passes/planning/Schedule.h"

#include <optional>

namespace hocket::planning {

/// What a simulation has run so far, by stage and microbatch.
class InputTimes {
public:
  /// `problem` outlives it.
  explicit InputTimes(const ScheduleProblem &problem)
      : problem(problem), forwardEnd(problem.shape.cells()),
        backwardEnd(problem.shape.cells()) {}

  /// When the action's input is on `rank`; nothing if it is not made yet.
  std::optional<double> readyAt(int64_t rank, const Action &action) const;
  /// The action of `rank` ended at `end`.
  void ended(int64_t rank, const Action &action, double end);

private:
  using Ends = std::vector<std::optional<double>>;

  /// The end of `stage`'s part, with the way to `rank`; nothing if not run.
  std::optional<double> arrival(const Ends &ends, int64_t stage, int64_t rank,
                                int64_t microbatch) const;
  size_t cell(int64_t stage, int64_t microbatch) const {
    return size_t(stage * problem.shape.microbatches + microbatch);
  }

  const ScheduleProblem &problem;
  Ends forwardEnd, backwardEnd;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_INPUTTIMES_H
