//===- Schedule.cpp - Pipeline schedules as data --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/Schedule.h"

#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

Status checkShape(const PipelineShape &shape) {
  auto outside = [](const char *what, int64_t value, int64_t most) {
    return invalidArgument("Q1: expected 1 to " + std::to_string(most) + " " +
                           what + ", found " + std::to_string(value));
  };
  if (shape.ranks < 1 || shape.ranks > kMostRanks)
    return outside("ranks", shape.ranks, kMostRanks);
  if (shape.chunks < 1 || shape.chunks > kMostChunks)
    return outside("chunks per rank", shape.chunks, kMostChunks);
  if (shape.microbatches < 1 || shape.microbatches > kMostCells)
    return outside("microbatches", shape.microbatches, kMostCells);
  if (shape.stages() > kMostCells / shape.microbatches)
    return invalidArgument("Q1: expected at most " +
                           std::to_string(kMostCells) +
                           " of ranks x chunks x microbatches, found " +
                           std::to_string(shape.stages()) + " x " +
                           std::to_string(shape.microbatches));
  return okStatus();
}

bool isTime(double value) {
  return std::isfinite(value) && value >= 0 && value <= kMostTime;
}

bool isMemory(int64_t value) { return value >= 0 && value <= kMostMemory; }

Status checkCosts(const ScheduleProblem &problem) {
  const PipelineShape &shape = problem.shape;
  if (problem.costs.size() != static_cast<size_t>(shape.stages()) ||
      problem.caps.size() != static_cast<size_t>(shape.ranks))
    return invalidArgument("Q2: expected a cost for each rank and chunk and a "
                           "cap for each rank");
  if (!isTime(problem.transfer))
    return invalidArgument("Q2: the transfer time is not within 0 to 1e15");
  if (!std::isfinite(problem.pair) || problem.pair < 0 || problem.pair > 1)
    return invalidArgument("Q2: a pair's share is not within 0 to 1");
  for (int64_t i = 0; i < shape.stages(); ++i) {
    const ChunkCost &cost = problem.costs[i];
    std::string place = " of rank " + std::to_string(i / shape.chunks) +
                        ", chunk " + std::to_string(i % shape.chunks);
    if (!isTime(cost.forward) || !isTime(cost.backward) || !isTime(cost.weight))
      return invalidArgument("Q2: a time" + place + " is not within 0 to 1e15");
    if (!isMemory(cost.memory) || !isMemory(cost.kept))
      return invalidArgument("Q2: the memory" + place +
                             " is not within 0 to 2^60");
  }
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    if (problem.caps[rank] < 0)
      return invalidArgument("Q2: the cap of rank " + std::to_string(rank) +
                             " is negative");
  return okStatus();
}

} // namespace

int64_t PipelineShape::rankOf(int64_t stage) const {
  int64_t within = stage % ranks;
  bool up = placement == Placement::VShaped && chunkOf(stage) % 2 == 1;
  return up ? ranks - 1 - within : within;
}

int64_t PipelineShape::stageOf(int64_t rank, int64_t chunk) const {
  bool up = placement == Placement::VShaped && chunk % 2 == 1;
  return chunk * ranks + (up ? ranks - 1 - rank : rank);
}

ScheduleProblem hocket::planning::uniformProblem(const PipelineShape &shape,
                                                 const ChunkCost &cost) {
  ScheduleProblem problem;
  problem.shape = shape;
  if (checkShape(shape).ok()) {
    problem.costs.assign(shape.stages(), cost);
    problem.caps.assign(shape.ranks, kNoCap);
  }
  return problem;
}

Status hocket::planning::checkProblem(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkShape(problem.shape));
  if (problem.group < 0 || problem.group > kMostCells)
    return invalidArgument("Q1: expected 0 to " + std::to_string(kMostCells) +
                           " microbatches per group, found " +
                           std::to_string(problem.group));
  return checkCosts(problem);
}

double hocket::planning::durationOf(const ScheduleProblem &problem,
                                    int64_t rank, const Action &action) {
  const ChunkCost &cost = problem.cost(rank, action.chunk);
  switch (action.kind) {
  case ActionKind::F:
    return cost.forward;
  case ActionKind::B:
    return cost.backward;
  case ActionKind::W:
    return cost.weight;
  case ActionKind::BW:
    return cost.backward + cost.weight;
  }
  return 0;
}

std::string_view hocket::planning::spelled(ActionKind kind) {
  constexpr std::string_view names[] = {"F", "B", "W", "BW"};
  return names[static_cast<size_t>(kind)];
}

std::string_view hocket::planning::spelled(Placement placement) {
  return placement == Placement::VShaped ? "v-shaped" : "round-robin";
}

std::string hocket::planning::spelled(const Action &action) {
  std::string text(spelled(action.kind));
  text += std::to_string(action.microbatch);
  if (action.chunk != 0)
    text += "@" + std::to_string(action.chunk);
  return text;
}

std::string hocket::planning::placeOf(int64_t rank, size_t index,
                                      const Action &action) {
  return "rank " + std::to_string(rank) + ", action " +
         std::to_string(index + 1) + " (" + spelled(action) + ")";
}
