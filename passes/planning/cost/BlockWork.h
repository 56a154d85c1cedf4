//===- BlockWork.h - Summing up what a block's ops take ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What all blocks of a layer are made of: GEMMs, kernels that move data, and
/// the collectives of the tensor axis, each with its launches, forward and
/// backward.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_BLOCKWORK_H
#define HOCKET_PASSES_PLANNING_COST_BLOCKWORK_H

#include "passes/planning/cost/LayerWork.h"

namespace hocket::planning {

/// Of one microbatch on one rank. The arguments outlive it.
class BlockWork {
public:
  BlockWork(const ModelShape &model, const StepShape &step,
            const ParallelPlan &plan, const cluster::OpTimes &times,
            bool compiled);

  PassWork result() const { return work; }

protected:
  /// A weight's GEMM, of which the backward pass has two; in 8 bits where the
  /// step has them. It reaches `share` of what others of its shape do.
  void gemm(const cluster::Gemm &gemm, double share = 1);
  void addGemm(double seconds);
  /// `ops` kernels forward and twice as many backward, which move bytes.
  void moved(double forwardBytes, double backwardBytes, double ops);
  /// What brings a row-parallel GEMM's sums together, forward, and the gradient
  /// of a column-parallel one's input, backward.
  /// Of what a block makes and, backward, of what it reads; a share of each.
  /// `gradientGemm`: seconds of the one that makes the gradient of the weights
  /// that read it, which runs beside its sum (software.weight_overlap).
  void tensorCollective(double forward = 1, double backward = 1,
                        double gradientGemm = 0);
  /// `ops` kernels of a pass: what their launches take, here and there.
  void launch(Work &pass, double ops) const {
    pass.gaps += ops * times.software().kernel_seconds();
    pass.host += ops * times.software().host_op_seconds();
  }

  /// Make a tensor 8-bit: one finds its scales, one casts it; or one casts it,
  /// and one brings the scales of its blocks in the order that GEMMs read.
  static constexpr double quantizeKernels = 2;

  const ModelShape &model;
  const StepShape &step;
  const ParallelPlan &plan;
  const cluster::OpTimes &times;
  bool compiled;
  double tokens, tp, hidden;
  double whole;   ///< Tokens of a rank where the hidden dim is whole.
  double element; ///< Bytes of an activation's.
  PassWork work;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_BLOCKWORK_H
