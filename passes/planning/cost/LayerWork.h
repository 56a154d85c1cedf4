//===- LayerWork.h - A layer's time on one rank -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What one rank spends on one microbatch of a layer, of the embedding, and of
/// the head with the loss: every GEMM with its local shape, and the rest as
/// bytes moved. The backward pass of a GEMM is two GEMMs of the same
/// size.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_LAYERWORK_H
#define HOCKET_PASSES_PLANNING_COST_LAYERWORK_H

#include "passes/planning/cost/ParallelPlan.h"
#include "runtime/cluster/OpTimes.h"

namespace hocket::planning {

/// Seconds of a pass, by what they are spent on. The device's parts follow one
/// another; the host's time runs beside them, and the longer one counts.
struct Work {
  double gemms = 0;     ///< Matrix multiplications.
  double attention = 0; ///< Scores, softmax and what they weigh.
  double memory = 0;    ///< Kernels that move data.
  double gaps = 0;      ///< Between kernels.
  double tensor = 0;    ///< Exposed collectives of the tensor axis.
  double context = 0;   ///< Of the context axis.
  double expert = 0;    ///< Of the expert axis.
  double host = 0;      ///< To launch all of it.

  double device() const {
    return gemms + attention + memory + gaps + tensor + context + expert;
  }
  double seconds() const;
  /// Of a part that was timed by itself (software.parts_apart): where the host
  /// takes longer than the device's kernels, kernels wait for it.
  void waitForHost();

  Work &operator+=(const Work &other);
  Work operator*(double times) const;
};

struct PassWork {
  Work forward;
  Work backward;
  /// What the backward pass computes again before it starts.
  Work again;

  PassWork &operator+=(const PassWork &other);
  PassWork operator*(double times) const;
  /// Of the backward pass with what it computes again.
  double backwardSeconds() const;
};

/// One layer. `compiled`: experts of programs that Hocket compiles gather
/// tokens where published systems exchange rows, and send each row where those
/// send a token once to a machine; and their scans go token by token.
PassWork layerWork(const ModelShape &model, const StepShape &step,
                   const ParallelPlan &plan, const LayerKind &kind,
                   const cluster::OpTimes &times, bool compiled);

/// Of the forward of a layer without experts, what full recompute makes again
/// in programs that Hocket compiles: its result is the next layer's input,
/// which is kept. Published systems make it again too, as layerWork has it.
Work neededAgainWork(const ModelShape &model, const StepShape &step,
                     const ParallelPlan &plan, const LayerKind &kind,
                     const cluster::OpTimes &times);

/// Of a layer's forward, `modules` alone: what selective recompute makes again.
/// Of the module pointwise, whose ops are parts of others' kernels, nothing.
Work modulesWork(const ModelShape &model, const StepShape &step,
                 const ParallelPlan &plan, const LayerKind &kind,
                 const cluster::OpTimes &times, RecomputeModules modules,
                 bool compiled);

/// The embedding.
PassWork inputWork(const ModelShape &model, const StepShape &step,
                   const ParallelPlan &plan, const cluster::OpTimes &times);

/// The final norm, the head and the loss.
PassWork outputWork(const ModelShape &model, const StepShape &step,
                    const ParallelPlan &plan, const cluster::OpTimes &times);

/// What a further token that is predicted takes besides its layer and the head:
/// norms, and the matrix that brings a token's embedding into the stream.
PassWork predictionWork(const ModelShape &model, const StepShape &step,
                        const ParallelPlan &plan,
                        const cluster::OpTimes &times);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_LAYERWORK_H
