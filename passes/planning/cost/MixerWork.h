//===- MixerWork.h - Blocks that mix tokens, but plain attention -*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What one rank spends on one microbatch of a Mamba-2 block or of a latent
/// attention block (ModelShape.h has their matrices and sources): norm, GEMMs,
/// what is between them, and what is added to the residual stream. Latent
/// attention is priced as published systems run it; Hocket does not compile it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_MIXERWORK_H
#define HOCKET_PASSES_PLANNING_COST_MIXERWORK_H

#include "passes/planning/cost/LayerWork.h"

namespace hocket::planning {

/// `model` has state-space blocks. Heads, and groups as far as they divide, are
/// spread over the tensor axis. Over the context axis heads are exchanged for
/// tokens, forward and back, so that a rank has whole sequences.
///
/// Published systems run the recurrence in chunks, as GEMMs. Programs that
/// Hocket compiles (`compiled`) run it token by token, without tensor cores,
/// and its gradient in a workspace; their gated norm gathers what ranks have of
/// a group; and where ranks share groups, sums of gradients are not one sum.
PassWork stateSpaceWork(const ModelShape &model, const StepShape &step,
                        const ParallelPlan &plan, const cluster::OpTimes &times,
                        bool compiled);

/// Of such a program's forward, what full recompute makes again: with `ends`
/// all of it, else without the last GEMM, whose result nothing of the layer
/// reads.
Work stateSpaceAgainWork(const ModelShape &model, const StepShape &step,
                         const ParallelPlan &plan,
                         const cluster::OpTimes &times, bool ends);

/// Of it, `modules` alone, but for the block's first norm.
Work stateSpaceModulesWork(const ModelShape &model, const StepShape &step,
                           const ParallelPlan &plan,
                           const cluster::OpTimes &times,
                           RecomputeModules modules);

/// `model` has latent attention. Heads are spread over the tensor axis; the
/// matrices that make the small vectors are whole on every rank.
PassWork latentAttentionWork(const ModelShape &model, const StepShape &step,
                             const ParallelPlan &plan,
                             const cluster::OpTimes &times);

/// Of its forward, what makes heads of the small vectors
/// (software.latent_again).
Work latentAgainWork(const ModelShape &model, const StepShape &step,
                     const ParallelPlan &plan, const cluster::OpTimes &times);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_MIXERWORK_H
