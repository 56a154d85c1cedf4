//===- Schedule.h - Pipeline schedules as data ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pipeline schedule is data: for every rank the ordered list of what it
/// runs. Around these types stand
///
///   ScheduleText.h        the text form, so that a person can write one
///   ScheduleGenerators.h  GPipe, 1F1B, interleaved, ZB-H1, ZB-H2, ZB-V, ...
///   ScheduleVerifier.h    accepts any of them, or says why not
///   ScheduleSimulator.h   start and end of every action, bubbles, live chunks
///   ResidualSlots.h       which copy of its residuals each action uses
///
/// Words. The model is cut into `stages()` = ranks x chunks stages, numbered
/// along the forward pass. A *chunk* is a stage as its rank numbers it, 0 to
/// chunks-1. F is a forward, B the gradient of the input, W the gradient of
/// the weights, BW both in one action. Every (stage, microbatch) has one F and
/// either one BW, or one B and one W.
///
/// Dependencies, with BW standing for B and for W:
///
///   F(s, m)  after F(s-1, m)
///   B(s, m)  after F(s, m) and B(s+1, m)
///   W(s, m)  after B(s, m)
///
/// What crosses from one rank to another goes through a channel: one for each
/// (sender, receiver, activations or gradients). A channel delivers in order,
/// a send waits for nothing, and an action waits for what it needs.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULE_H
#define HOCKET_PASSES_PLANNING_SCHEDULE_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::planning {

/// Which rank holds which stage.
///
///   RoundRobin  stage s on rank s mod P: chunks go round (interleaved 1F1B).
///   VShaped     down the ranks and up again: with two chunks rank r holds
///               stages r and 2P-1-r (ZB-V, DualPipeV); a third chunk goes
///               down once more.
///
/// With one chunk both are the same.
enum class Placement : uint8_t { RoundRobin, VShaped };

enum class ActionKind : uint8_t { F, B, W, BW };

/// One entry of a rank's list.
struct Action {
  ActionKind kind = ActionKind::F;
  int32_t chunk = 0;
  int32_t microbatch = 0;

  bool operator==(const Action &) const = default;
};

/// P ranks of v chunks each, and M microbatches.
struct PipelineShape {
  int64_t ranks = 1;
  int64_t chunks = 1;
  int64_t microbatches = 1;
  Placement placement = Placement::RoundRobin;

  bool operator==(const PipelineShape &) const = default;

  int64_t stages() const { return ranks * chunks; }
  /// How many F there are: stages x microbatches.
  int64_t cells() const { return stages() * microbatches; }
  int64_t chunkOf(int64_t stage) const { return stage / ranks; }
  int64_t rankOf(int64_t stage) const;
  int64_t stageOf(int64_t rank, int64_t chunk) const;
};

struct Schedule {
  /// Of the generator, or what a person wrote. Letters, digits, '-', '_', '.'.
  std::string name;
  PipelineShape shape;
  /// For every rank what it runs, in order.
  std::vector<std::vector<Action>> ranks;

  bool operator==(const Schedule &) const = default;
};

/// What the actions of one (rank, chunk) take. Times are in any one unit,
/// memory in bytes (or in whatever the caps are in).
struct ChunkCost {
  double forward = 1;
  double backward = 1; ///< Gradient of the input. BW takes backward + weight.
  double weight = 1;   ///< Gradient of the weights.
  int64_t memory = 1;  ///< Held by one microbatch from its F to its B or BW.
  int64_t kept = 1;    ///< Of a split backward: held from B to W.

  bool operator==(const ChunkCost &) const = default;
};

/// No cap on a rank's memory.
inline constexpr int64_t kNoCap = INT64_MAX;

/// Bounds that keep every product and sum within 64 bits, and the schedule of
/// the largest problem within a few hundred megabytes.
inline constexpr int64_t kMostRanks = 65536;
inline constexpr int64_t kMostChunks = 1024;
inline constexpr int64_t kMostCells = int64_t(1) << 22;
inline constexpr int64_t kMostMemory = int64_t(1) << 60;
inline constexpr double kMostTime = 1e15;

/// What a schedule is made for.
struct ScheduleProblem {
  PipelineShape shape;
  /// Microbatches that run through a chunk before the next chunk starts
  /// (interleaved 1F1B). 0 stands for one per rank.
  int64_t group = 0;
  /// Whether B and W may be separate actions. If not, only BW.
  bool splitWeight = false;
  /// Time from the end of an action to where another rank can use its result.
  double transfer = 0;
  /// Where an F is followed by the BW of another chunk: if 0, they run one
  /// after the other; else as one, which takes this share of the two's time
  /// and has both results at its end (DualPipeV).
  double pair = 0;
  /// Of (rank, chunk): costs[rank * chunks + chunk].
  std::vector<ChunkCost> costs;
  /// The most bytes of live chunks on each rank.
  std::vector<int64_t> caps;

  bool operator==(const ScheduleProblem &) const = default;

  const ChunkCost &cost(int64_t rank, int64_t chunk) const {
    return costs[rank * shape.chunks + chunk];
  }
};

/// The problem whose (rank, chunk) all cost the same, without caps.
ScheduleProblem uniformProblem(const PipelineShape &shape,
                               const ChunkCost &cost = {});

/// Refuses a problem that is not one: Q1 (sizes), Q2 (costs and caps).
Status checkProblem(const ScheduleProblem &problem);

/// How long an action takes.
double durationOf(const ScheduleProblem &problem, int64_t rank,
                  const Action &action);

/// "F", "B", "W" or "BW".
std::string_view spelled(ActionKind kind);
/// "round-robin" or "v-shaped".
std::string_view spelled(Placement placement);
/// As a schedule's text has it: F3 is the forward of microbatch 3, F3@1 the
/// same on chunk 1.
std::string spelled(const Action &action);
/// "rank 1, action 5 (BW3@1)"; actions are counted from 1.
std::string placeOf(int64_t rank, size_t index, const Action &action);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULE_H
