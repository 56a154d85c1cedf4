//===- ScheduleGenerators.cpp - Schedules by name -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

struct Generator {
  std::string_view name;
  StatusOr<Schedule> (*make)(const ScheduleProblem &);
};

constexpr Generator kGenerators[] = {
    {"gpipe", makeGPipe},
    {"1f1b", makeOneForwardOneBackward},
    {"interleaved-1f1b", makeInterleaved},
    {"zb-h1", makeZeroBubbleH1},
    {"zb-h2", makeZeroBubbleH2},
    {"zb-v", makeZeroBubbleV},
    {"dualpipe-v", makeDualPipeV},
    {"list", makeListSchedule},
};

} // namespace

const std::vector<std::string_view> &hocket::planning::scheduleNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Generator &generator : kGenerators)
      all.push_back(generator.name);
    return all;
  }();
  return names;
}

StatusOr<Schedule>
hocket::planning::generateSchedule(std::string_view name,
                                   const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  for (const Generator &generator : kGenerators)
    if (generator.name == name)
      return generator.make(problem);
  return checkScheduleName(name);
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
