//===- ScheduleGenerators.cpp - Schedules by name -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"

#include "dialects/plan/ParallelPlan.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

struct Generator {
  ScheduleTraits traits;
  StatusOr<Schedule> (*make)(const ScheduleProblem &);
};

constexpr Placement kRoundRobin = Placement::RoundRobin;
constexpr Placement kVShaped = Placement::VShaped;

// The list scheduler could split the backward, but which passes it would split
// is only known once it has run, and programs are cut before: so it does not.
constexpr Generator kGenerators[] = {
    {{"gpipe", kRoundRobin, false}, makeGPipe},
    {{"1f1b", kRoundRobin, false}, makeOneForwardOneBackward},
    {{"interleaved-1f1b", kRoundRobin, false}, makeInterleaved},
    {{"zb-h1", kRoundRobin, true}, makeZeroBubbleH1},
    {{"zb-h2", kRoundRobin, true}, makeZeroBubbleH2},
    {{"zb-v", kVShaped, true}, makeZeroBubbleV},
    {{"dualpipe-v", kVShaped, true}, makeDualPipeV},
    {{"list", kRoundRobin, false}, makeListSchedule},
};

} // namespace

const ScheduleTraits *hocket::planning::scheduleTraits(std::string_view name) {
  for (const Generator &generator : kGenerators)
    if (generator.traits.name == plan::fullScheduleName(name))
      return &generator.traits;
  return nullptr;
}

const std::vector<std::string_view> &hocket::planning::scheduleNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Generator &generator : kGenerators)
      all.push_back(generator.traits.name);
    return all;
  }();
  return names;
}

StatusOr<Schedule>
hocket::planning::generateSchedule(std::string_view name,
                                   const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  for (const Generator &generator : kGenerators)
    if (generator.traits.name == name)
      return generator.make(problem);
  return checkScheduleName(name);
}

StatusOr<Schedule>
hocket::planning::compiledSchedule(std::string_view name,
                                   const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  ScheduleProblem uniform = uniformProblem(problem.shape);
  uniform.group = problem.group;
  uniform.splitWeight = problem.splitWeight;
  return generateSchedule(plan::fullScheduleName(name), uniform);
}

Status hocket::planning::checkScheduleName(std::string_view name) {
  std::string known;
  for (std::string_view each : scheduleNames()) {
    if (each == name)
      return okStatus();
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  return invalidArgument("Q10: there is no schedule '" + std::string(name) +
                         "'; expected one of " + known);
}
