//===- ParallelPlan.h - How a training is spread over ranks -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What plan search chooses. The mesh's axes are, slowest first, pp, dp, cp,
/// tp: rank = ((p * dp + d) * cp + c) * tp + t. Experts are spread over `ep`
/// ranks of the dp * cp * tp that hold one stage.
///
/// The short text form, also that of `--why-not`, is a list of key=value:
///
///   tp=8,pp=16,dp=8,cp=1,ep=1,v=2,mbs=1,sp=1,zero=1,recompute=selective,
///   modules=layernorm/mlp,schedule=interleaved,layers=6/6/5/5,
///   offload=optimizer
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H
#define HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H

#include "passes/planning/RecomputeModules.h"
#include "passes/planning/cost/ModelShape.h"

#include <string_view>
#include <vector>

namespace hocket::planning {

/// What the backward pass computes again: nothing, modules of each layer, or
/// every layer from its input.
enum class Recompute : uint8_t { None, Selective, Full };

/// What is kept in the host's memory. The optimizer's state is brought to the
/// device for the update and taken back, a layer's at a time; what a layer
/// keeps for its backward is taken away while the next one's forward runs, and
/// brought back while the next one's backward does.
enum class Offload : uint8_t { None, Optimizer, Activations, All };

struct ParallelPlan {
  int64_t pp = 1;
  int64_t dp = 1;
  int64_t cp = 1;
  int64_t tp = 1;
  int64_t ep = 1;
  /// Ranks that share one expert's matrices; divides tp.
  int64_t expertTp = 1;
  int64_t chunks = 1; ///< Virtual stages of a pipeline rank.
  int64_t microBatch = 1;
  bool sequenceParallel = false;
  int64_t zero = 0;
  Recompute recompute = Recompute::None;
  /// With Recompute::Selective; empty: the default of whose program it is.
  RecomputeModules modules;
  Offload offload = Offload::None;
  /// A generator of ScheduleGenerators.h; empty: 1f1b, or interleaved-1f1b
  /// where there are several chunks.
  std::string schedule;
  /// Layers of each stage, pp * chunks of them; empty: as even as can be, what
  /// is left over to the stages in the middle.
  std::vector<int64_t> layers;

  bool operator==(const ParallelPlan &) const = default;

  int64_t ranks() const { return pp * dp * cp * tp; }
  int64_t stages() const { return pp * chunks; }
  bool offloadsOptimizer() const {
    return offload == Offload::Optimizer || offload == Offload::All;
  }
  bool offloadsActivations() const {
    return offload == Offload::Activations || offload == Offload::All;
  }
  int64_t microbatches(const StepShape &step) const {
    return step.globalBatch / (dp * microBatch);
  }
  std::string scheduleName() const;
  /// What a layer computes again, in part: Hocket's programs (`compiled`) have
  /// kDefaultModules where the plan names none, published systems Megatron's.
  /// Empty unless recompute is selective.
  RecomputeModules modulesAgain(bool compiled) const;
};

/// The divisors of `number` up to `most`, ascending.
std::vector<int64_t> divisors(int64_t number, int64_t most);

/// `layers` shared out over `stages` as evenly as can be: the first and the
/// last stages, which have the embedding and the head, get no more than others.
std::vector<int64_t> evenLayers(int64_t layers, int64_t stages);

/// The plan's own split, or the even one.
std::vector<int64_t> layersOf(const ParallelPlan &plan,
                              const ModelShape &model);

/// Whether a schedule has weight gradients as passes of their own.
bool splitsWeight(std::string_view schedule);

std::string_view spelled(Recompute recompute);
std::string_view spelled(Offload offload);

/// The short text form, without what has its default.
std::string printPlan(const ParallelPlan &plan);

/// Reads it onto `base`. Errors are InvalidArgument and name the key.
StatusOr<ParallelPlan> parsePlan(std::string_view text,
                                 const ParallelPlan &base = {});

/// Refuses a plan that does not fit the model or the step: what does not
/// divide, and by what.
Status checkPlan(const ParallelPlan &plan, const ModelShape &model,
                 const StepShape &step);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H
