//===- VisionCost.h - What images cost the first stage ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of the tower and the projector of a model that sees images
/// (VisionShape), which the first stage of a pipeline computes: the time of a
/// microbatch, and the bytes that it keeps. Each image is a sequence, of which
/// tensor ranks have some heads and every row, also with sequence parallelism.
/// A tower that is not trained has no backward pass and keeps nothing. Nothing
/// of it is computed in 8 bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_VISIONCOST_H
#define HOCKET_PASSES_PLANNING_COST_VISIONCOST_H

#include "passes/planning/cost/LayerWork.h"

namespace hocket::planning {

/// A tower as a model of its own, whose layers are those that are computed,
/// with the step and the plan that it sees.
struct Tower {
  ModelShape model;
  StepShape step;
  ParallelPlan plan;
};

/// `model` has a tower.
Tower towerOf(const ModelShape &model, const StepShape &step,
              const ParallelPlan &plan);

/// One microbatch; nothing where there is no tower.
PassWork visionWork(const ModelShape &model, const StepShape &step,
                    const ParallelPlan &plan, const cluster::OpTimes &times,
                    bool compiled);

/// Bytes of one microbatch on a rank.
struct VisionBytes {
  int64_t kept = 0;          ///< From forward to backward.
  int64_t toWeight = 0;      ///< Of those, what weight gradients need.
  int64_t gradients = 0;     ///< That a split backward leaves for them.
  int64_t inside = 0;        ///< At most, beside `kept`, while it goes back.
  int64_t projectorKept = 0; ///< Of `kept`, the projector's.
};

VisionBytes visionBytes(const ModelShape &model, const StepShape &step,
                        const ParallelPlan &plan, bool fused, bool compiled);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_VISIONCOST_H
