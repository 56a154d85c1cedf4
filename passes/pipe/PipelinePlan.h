//===- PipelinePlan.h - What the plan says of the pipeline ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of a module's plan that concerns the pipe level.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_PIPELINEPLAN_H
#define HOCKET_PASSES_PIPE_PIPELINEPLAN_H

#include "passes/planning/Schedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace hocket::pipe {

struct PipelinePlan {
  /// Ranks, chunks, placement and microbatches.
  planning::PipelineShape shape;
  /// Microbatches of other steps, where the batch grows: all fewer.
  llvm::SmallVector<int64_t> rampup;
  /// A generator's name, or a file; empty for one rank.
  std::string schedule;
  /// Microbatches of a group, interleaved; 0: one per rank.
  int64_t group = 0;
  /// Layers of each stage; empty: shared out.
  llvm::SmallVector<int64_t> layersPerStage;
  /// Whether the schedule runs weight gradients apart.
  bool splitsWeights = false;
  bool countEmbedding = false, countHead = false, balanceCost = false;

  /// Whether there is anything to cut.
  bool isCut() const { return shape.stages() > 1; }
};

/// Reads it; one rank and one chunk where the module has no plan. Fails, with a
/// diagnostic, where the plan contradicts itself.
mlir::FailureOr<PipelinePlan> readPipelinePlan(mlir::ModuleOp module);

/// Sets `placement` and `splitsWeights` as the schedule's name, or its file,
/// has them.
Status noteScheduleForm(PipelinePlan &plan);

/// The plan's schedule of a step of shape.microbatches, generated or read and
/// verified. `splitWeight`: whether there are fragments W.
StatusOr<planning::Schedule> chooseSchedule(const PipelinePlan &plan,
                                            bool splitWeight);

/// Layers of each stage, as the plan says: its list, or as many in each, the
/// ones left over in the middle, where there is neither embedding nor head.
/// `costs` are those of the layers, then of the embedding and of the head;
/// only used to balance them.
mlir::FailureOr<llvm::SmallVector<int64_t>>
shareOutLayers(const PipelinePlan &plan, llvm::ArrayRef<double> costs,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_PIPELINEPLAN_H
