//===- StepMoments.h - When a step's gradients are complete -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_STEPMOMENTS_H
#define HOCKET_PASSES_EXEC_STEPMOMENTS_H

#include "passes/exec/StageCopies.h"

#include <optional>
#include <tuple>

namespace hocket::exec {

/// A moment of a step's schedule: behind an instruction of a run.
struct Moment {
  size_t run = 0, instruction = 0;
  size_t order = 0; ///< of those of one instruction
  SequenceOp sequence;

  bool operator<(const Moment &other) const {
    return std::tie(run, instruction, order) <
           std::tie(other.run, other.instruction, other.order);
  }
};

/// The training steps of a role: one, or, where the batch grows, one for each
/// number of microbatches. Their runs are those of the same sequences, so what
/// stands in a sequence must suit all of them.
class StepMoments {
public:
  explicit StepMoments(RoleOp role);

  /// Behind the last instruction of a step's backwards that writes `gradient`,
  /// as the first step has it; nothing unless it is the same instruction in all
  /// of them.
  std::optional<Moment> lastWrite(mlir::Value gradient) const;

  /// Whether in each step the last run of `later` comes no earlier than that of
  /// `earlier`.
  bool endsLast(SequenceOp later, SequenceOp earlier) const;

private:
  std::vector<std::vector<EntryRun>> steps; ///< of each, what it runs
};

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_STEPMOMENTS_H
