//===- SchedulesTest.cpp - What ran is what was scheduled -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of fragments in the measured timeline of a step, on every rank,
/// against the list that the schedule's generator gives that pipeline rank.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "passes/planning/ScheduleGenerators.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;
using planning::Action;
using planning::ActionKind;

namespace {

class Schedules : public TrainedPlans,
                  public testing::WithParamInterface<PlanRow> {};

/// What follows `option` in the plan's flags, up to the next blank.
std::string valueOf(const PlanRow &plan, const std::string &option,
                    const std::string &otherwise) {
  std::string flags = plan.flags;
  size_t at = flags.find(option);
  if (at == std::string::npos)
    return otherwise;
  at += option.size();
  return flags.substr(at, flags.find(' ', at) - at);
}

planning::Schedule scheduleOf(const PlanRow &plan) {
  planning::ScheduleProblem problem;
  problem.shape.ranks = sizeOf(plan, "pp");
  problem.shape.chunks = std::stoll(valueOf(plan, "--virtual-stages ", "1"));
  problem.shape.microbatches = plan.microbatches;
  std::string name = valueOf(plan, "--schedule ",
                             problem.shape.chunks > 1 ? "interleaved" : "1f1b");
  problem.group = std::stoll(valueOf(plan, "plan.schedule_group=", "0"));
  bool folded = name == "zb-v" || name == "dualpipe-v";
  problem.splitWeight = folded || name.starts_with("zb-");
  if (folded)
    problem.shape.placement = planning::Placement::VShaped;
  problem.costs.resize(problem.shape.stages());
  problem.caps.assign(problem.shape.ranks, planning::kNoCap);
  auto schedule = planning::generateSchedule(
      name == "interleaved" ? "interleaved-1f1b" : name, problem);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return schedule.ok() ? *schedule : planning::Schedule();
}

/// "forward_1 of 0", ... for each rank of the pipeline.
std::vector<std::vector<std::string>>
namesOf(const planning::Schedule &schedule, bool split) {
  std::vector<std::vector<std::string>> names(schedule.ranks.size());
  for (size_t rank = 0; rank < names.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      std::string place =
          std::to_string(schedule.shape.stageOf(int64_t(rank), action.chunk)) +
          " of " + std::to_string(action.microbatch);
      if (action.kind == ActionKind::F)
        names[rank].push_back("forward_" + place);
      if (action.kind == ActionKind::B || action.kind == ActionKind::BW)
        names[rank].push_back("backward_" + place);
      if (action.kind == ActionKind::W ||
          (action.kind == ActionKind::BW && split))
        names[rank].push_back("weight_" + place);
    }
  return names;
}

TEST_P(Schedules, AreRunInOrder) {
  const PlanRow &plan = GetParam();
  TrainingOptions options;
  options.steps = 1;
  options.traceFile = folder + "/trace.json";
  train(compile(gpt, plan, "precision: FP32"), options);
  ASSERT_FALSE(HasFatalFailure());
  std::map<size_t, std::vector<std::string>> ran;
  auto trace = nlohmann::json::parse(*readFile(options.traceFile, 1 << 28));
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "sequence")
      continue;
    std::string name = event["name"];
    if (!name.starts_with("forward_") && !name.starts_with("backward_") &&
        !name.starts_with("weight_"))
      continue;
    // Runs of parts, "weight_0.1", where communication begins in between.
    name = name.substr(0, name.find('.')) + " of " +
           event["args"]["microbatch"].get<std::string>();
    auto &names = ran[event["pid"]];
    if (names.empty() || names.back() != name)
      names.push_back(name);
  }
  std::string name = valueOf(plan, "--schedule ", "");
  planning::Schedule schedule = scheduleOf(plan);
  auto expected = namesOf(schedule, name.starts_with("zb-") ||
                                        name.starts_with("dualpipe"));
  size_t others =
      size_t(sizeOf(plan, "dp") * sizeOf(plan, "cp") * sizeOf(plan, "tp"));
  ASSERT_EQ(ran.size(), others * expected.size());
  for (const auto &[rank, names] : ran)
    EXPECT_THAT(names, testing::ContainerEq(expected[rank / others]))
        << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(Plans, Schedules,
                         testing::ValuesIn(schedulePlans().begin(),
                                           schedulePlans().end()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
