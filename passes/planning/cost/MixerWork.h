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
/// what is between them, and what is added to the residual stream. Both are
/// priced as published systems run them; Hocket compiles neither.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_MIXERWORK_H
#define HOCKET_PASSES_PLANNING_COST_MIXERWORK_H

#include "passes/planning/cost/LayerWork.h"

namespace hocket::planning {

/// `model` has state-space blocks. Heads, and groups as far as they divide, are
/// spread over the tensor axis. Over the context axis heads are exchanged for
/// tokens, forward and back, so that a rank has whole sequences.
PassWork stateSpaceWork(const ModelShape &model, const StepShape &step,
                        const ParallelPlan &plan,
                        const cluster::OpTimes &times);

/// `model` has latent attention. Heads are spread over the tensor axis; the
/// matrices that make the small vectors are whole on every rank.
PassWork latentAttentionWork(const ModelShape &model, const StepShape &step,
                             const ParallelPlan &plan,
                             const cluster::OpTimes &times);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_MIXERWORK_H
