//===- StepCost.h - Time and memory of a training step ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The price of a plan. Stages are priced layer by layer (LayerWork.h), run
/// through the schedule by the simulator (ScheduleSimulator.h, or, of devices
/// that take turns, SharedSimulator.h), and what comes
/// after the passes is added: the sums of gradients that no pass hides, and
/// the update. Times are whole nanoseconds, so that the items of a price sum
/// exactly to its total; so are bytes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_STEPCOST_H
#define HOCKET_PASSES_PLANNING_COST_STEPCOST_H

#include "passes/planning/Schedule.h"
#include "passes/planning/SharedSimulator.h"
#include "passes/planning/cost/LayerWork.h"

#include <array>
#include <optional>

namespace hocket::planning {

/// What a step's time goes into, on the pipeline rank that works the longest.
enum class TimeItem : uint8_t {
  Gemms,     ///< Matrix multiplications.
  Attention, ///< Scores, softmax and what they weigh.
  Memory,    ///< Kernels that move data.
  Gaps,      ///< Between kernels.
  Host,      ///< The device waits for launches.
  Recompute, ///< All of what the backward pass computes again.
  Tensor,    ///< Exposed collectives of the tensor axis.
  Context,   ///< Of the context axis.
  Expert,    ///< Of the expert axis.
  Transfers, ///< Between stages, where they block.
  Shared,    ///< Other ranks have the processors that it shares with them.
  Bubble,    ///< The pipeline rank waits for others.
  Data,      ///< Exposed sums of gradients, and gathers of parameters.
  Update,    ///< Clipping and the optimizer.
  Offload,   ///< To the host's memory and back, where nothing hides it.
  Outside,   ///< Outside of passes and update.
};
inline constexpr size_t kTimeItems = 16;

/// What a rank's memory holds at the step's peak.
enum class MemoryItem : uint8_t {
  Parameters,  ///< As GEMMs read them.
  Gradients,   ///< Accumulated.
  Optimizer,   ///< Master weights and moments.
  Activations, ///< Of the microbatches in flight.
  Logits,      ///< And what the loss needs beside them.
  Workspace,   ///< Of the layer that is being computed, and gathered weights.
};
inline constexpr size_t kMemoryItems = 6;

std::string_view spelled(TimeItem item);
std::string_view spelled(MemoryItem item);

/// Bytes of one rank of a stage.
struct RankMemory {
  std::array<int64_t, kMemoryItems> items = {}; ///< Of the device's memory.
  std::array<int64_t, kMemoryItems> host = {};  ///< Of the host's.
  int64_t total() const;
  int64_t hostTotal() const;
  int64_t &operator[](MemoryItem item) { return items[size_t(item)]; }
  int64_t operator[](MemoryItem item) const { return items[size_t(item)]; }
};

struct StepCost {
  /// Nanoseconds.
  std::array<int64_t, kTimeItems> items = {};
  std::vector<RankMemory> memory; ///< Of every pipeline rank.
  int64_t busiest = 0;            ///< The rank that `items` are of.
  int64_t fullest = 0;            ///< The rank with the most bytes.

  int64_t nanoseconds() const;
  double seconds() const { return double(nanoseconds()) * 1e-9; }
  int64_t bytes() const;
  int64_t hostBytes() const; ///< Of the rank with the most.
  int64_t &operator[](TimeItem item) { return items[size_t(item)]; }
  int64_t operator[](TimeItem item) const { return items[size_t(item)]; }
};

/// A model, its training and a cluster: all but the plan.
struct CostProblem {
  ModelShape model;
  StepShape step;
  cluster::System system;
  int64_t devices = 1;
  /// Memory is what Hocket's programs take; else what published systems do.
  bool compiled = false;
  /// Search looks at plans that offload too, which no program does yet.
  bool mayOffload = false;
};

/// The rank with the most bytes of its device's memory.
const RankMemory &fullestOf(const std::vector<RankMemory> &ranks);

/// Whether each rank has room for what it holds: `memory` bytes of its device's
/// memory, and its share of the host's.
bool fits(const CostProblem &problem, const std::vector<RankMemory> &ranks,
          int64_t memory);

/// What stages take, before a schedule.
struct StageCosts {
  /// In nanoseconds and bytes; no caps.
  ScheduleProblem schedule;
  std::vector<PassWork> chunks; ///< Of one microbatch; as schedule.costs.
  /// What a split backward keeps of one microbatch; as schedule.costs, and 0
  /// where the schedule does not split it.
  struct SplitBytes {
    int64_t toWeight = 0;      ///< Of `memory`, what W needs too.
    int64_t afterBackward = 0; ///< What B leaves to W.
  };
  std::vector<SplitBytes> split;
  /// Of what B leaves to W in the last stage, the gradient of whole logits.
  int64_t logitsToWeight = 0;
  /// Seconds of offloading that neither pass hides; as schedule.costs.
  std::vector<double> offload;
  double transferSeconds = 0; ///< Added to each pass where it blocks.
};

/// What stages are made of. It depends on the plan's cp, tp, ep, microbatch,
/// sequence parallelism, recompute and chunks of the loss alone.
struct PartWork {
  std::vector<PassWork> layers; ///< A layer of each kind (LayerKinds).
  PassWork input;
  PassWork encoderInput; ///< With an encoder, whose input comes first.
  PassWork output;
};
PartWork partWork(const CostProblem &problem, const ParallelPlan &plan);

/// What the plan's pipeline ranks share, where devices of a node take turns.
std::optional<ProcessorShare> processorShare(const cluster::System &system,
                                             const ParallelPlan &plan);

/// `plan` must have passed checkPlan, and `parts` be its partWork.
StageCosts stageCosts(const CostProblem &problem, const ParallelPlan &plan,
                      const PartWork &parts);

/// Refuses (InvalidArgument) a plan that checkPlan refuses, that asks for other
/// than problem.devices ranks, that offloads where there is no host, or whose
/// schedule's generator refuses it.
StatusOr<StepCost> priceStep(const CostProblem &problem,
                             const ParallelPlan &plan);

/// Everything of a price but its schedule's exact times, and its bytes: at most
/// what priceStep says.
struct PriceBound {
  int64_t nanoseconds = 0;
  int64_t bytes = 0;
};

/// Time: the longest rank's work, with the way in and out of the pipeline, and
/// what comes after; where ranks share processors, all their work on these.
/// Bytes: all of them, which do not depend on times (ScheduleOrders.h). `plan`
/// has passed checkPlan, and `stages` are its.
PriceBound priceBound(const CostProblem &problem, const ParallelPlan &plan,
                      const StageCosts &stages);

/// Bytes of every pipeline rank. `live[rank]` is the most chunks' activations,
/// in bytes, that are held at once. Where they are offloaded, the device holds
/// those of three layers: of the one that is computed, the one that is taken
/// away and the one that is brought back.
std::vector<RankMemory> rankMemory(const CostProblem &problem,
                                   const ParallelPlan &plan,
                                   const std::vector<int64_t> &live);

/// The share of a predicted time within which two thirds of measurements fell.
double spreadOf(const CostProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_STEPCOST_H
