//===- InputTimes.cpp - When an action's input is there -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/InputTimes.h"

using namespace hocket::planning;

std::optional<double> InputTimes::arrival(const Ends &ends, int64_t stage,
                                          int64_t rank,
                                          int64_t microbatch) const {
  std::optional<double> end = ends[cell(stage, microbatch)];
  if (end && problem.shape.rankOf(stage) != rank)
    *end += problem.transfer;
  return end;
}

std::optional<double> InputTimes::readyAt(int64_t rank,
                                          const Action &action) const {
  int64_t stage = problem.shape.stageOf(rank, action.chunk);
  switch (action.kind) {
  case ActionKind::F:
    return stage == 0 ? std::optional<double>(0)
                      : arrival(forwardEnd, stage - 1, rank, action.microbatch);
  case ActionKind::B:
  case ActionKind::BW:
    return stage + 1 == problem.shape.stages()
               ? arrival(forwardEnd, stage, rank, action.microbatch)
               : arrival(backwardEnd, stage + 1, rank, action.microbatch);
  case ActionKind::W:
    return arrival(backwardEnd, stage, rank, action.microbatch);
  }
  return std::nullopt;
}

void InputTimes::ended(int64_t rank, const Action &action, double end) {
  size_t at =
      cell(problem.shape.stageOf(rank, action.chunk), action.microbatch);
  if (action.kind == ActionKind::F)
    forwardEnd[at] = end;
  else if (action.kind != ActionKind::W)
    backwardEnd[at] = end;
}
