//===- RecomputeModel.h - What a program could compute again ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads planning/RecomputePlan.h's problem off the fragments F and B of a
/// program: residuals with the sizes of their local shapes, copies by the
/// schedule, and what each costs to compute from the layer's other residuals.
///
/// What a backward fragment computes again for a microbatch must not outlive
/// it: where W runs apart, what W needs is no candidate.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_RECOMPUTEMODEL_H
#define HOCKET_PASSES_PIPE_RECOMPUTEMODEL_H

#include "passes/pipe/FragmentPair.h"
#include "passes/pipe/LayerVariants.h"
#include "passes/pipe/PipelinePlan.h"
#include "passes/planning/RecomputePlan.h"

namespace hocket::pipe {

/// Turns counts of work into time. Only ratios matter: they say how dear a
/// GEMM is beside a sum over the same bytes, and beside a collective.
struct WorkRates {
  double flops = 1e14; ///< In a second.
  double bytes = 1e12; ///< Through memory.
  double link = 1e11;  ///< Between ranks.

  /// Seconds of one op, calls not followed.
  double secondsOf(mlir::Operation *op) const;
};

/// A layer in one stage: the call of its forward half, and that of its
/// backward half.
struct LayerSite {
  size_t pair = 0; ///< Of RecomputeModel::pairs.
  mlir::func::CallOp forward, backward;
  mlir::func::FuncOp forwardHalf, backwardHalf;
  /// What each operand of `backward` is to `forward`.
  std::vector<ArgumentSource> sources;
};

/// Where a residual of the problem is.
struct ResidualPlace {
  size_t site = 0;
  /// Results of the site's forward call, made by one op; none for its input.
  llvm::BitVector results;
};

struct RecomputeModel {
  std::vector<FragmentPair> pairs;
  /// Those of a stage together, in the order of the forward pass.
  std::vector<LayerSite> sites;
  /// A rank for each pipeline rank; `fixed` is 0.
  planning::RecomputeProblem problem;
  std::vector<std::vector<ResidualPlace>> places; ///< As the residuals.
  /// Seconds of F and B of one microbatch, by pipeline rank.
  std::vector<double> work;
};

/// Bytes of a tensor in the arena.
int64_t arenaBytes(mlir::Type type);

/// Fails, with a diagnostic, where the plan has no schedule.
mlir::FailureOr<RecomputeModel> deriveRecompute(mlir::ModuleOp module,
                                                const PipelinePlan &plan,
                                                const WorkRates &rates = {});

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_RECOMPUTEMODEL_H
