//===- ListScheduleTest.cpp - A schedule from measured times --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleText.h"
#include "passes/planning/ScheduleVerifier.h"
#include "test/passes/planning/PlanningFiles.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The makespan of a schedule within its problem's caps, else infinity.
double makespan(const ScheduleProblem &problem, const Schedule &schedule) {
  if (!verifySchedule(problem, schedule).ok())
    return kInfinity;
  StatusOr<Timeline> timeline = simulateSchedule(problem, schedule);
  return timeline.ok() ? timeline->makespan : kInfinity;
}

double makespanOf(std::string_view name, const ScheduleProblem &problem) {
  StatusOr<Schedule> schedule = generateSchedule(name, problem);
  return schedule.ok() ? makespan(problem, *schedule) : kInfinity;
}

/// The work of the busiest rank: no schedule is shorter.
double mostWork(const ScheduleProblem &problem) {
  double most = 0;
  for (int64_t rank = 0; rank < problem.shape.ranks; ++rank) {
    double work = 0;
    for (int64_t chunk = 0; chunk < problem.shape.chunks; ++chunk) {
      const ChunkCost &cost = problem.cost(rank, chunk);
      work += cost.forward + cost.backward + cost.weight;
    }
    most = std::max(most, work * double(problem.shape.microbatches));
  }
  return most;
}

TEST(ListSchedule, IsNoLongerThanAnyOtherOnEveryFile) {
  for (const PlanningFile &file : planningFiles("schedules", ".problem")) {
    StatusOr<ScheduleProblem> problem = readProblem(file.name, file.text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    double list = makespanOf("list", *problem);
    EXPECT_LT(list, kInfinity) << file.name;
    EXPECT_GE(list, mostWork(*problem)) << file.name;
    for (std::string_view name : scheduleNames())
      EXPECT_LE(list, makespanOf(name, *problem) * (1 + 1e-9))
          << name << " on " << file.name;
  }
}

TEST(ListSchedule, FitsWhereNoPatternDoes) {
  StatusOr<ScheduleProblem> problem =
      readProblem("x", planningFile("schedules", "tight.problem"));
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  for (std::string_view name : scheduleNames())
    if (name != "list")
      EXPECT_EQ(makespanOf(name, *problem), kInfinity) << name;
  EXPECT_LT(makespanOf("list", *problem), kInfinity);
}

TEST(ListSchedule, FillsTheBubbleAsZeroBubbleSchedulesDo) {
  // With caps of P microbatches as ZB-H1, and with V-shaped chunks as ZB-V.
  ScheduleProblem problem = uniformProblem({8, 1, 32});
  problem.splitWeight = true;
  problem.caps.assign(8, 8);
  EXPECT_DOUBLE_EQ(makespanOf("list", problem), 96 + 7);
  problem = uniformProblem({8, 2, 32, Placement::VShaped});
  problem.splitWeight = true;
  problem.caps.assign(8, 16);
  EXPECT_DOUBLE_EQ(makespanOf("list", problem), 192 + 7);
}

TEST(ListSchedule, RefusesCapsBelowOneMicrobatch) {
  ScheduleProblem problem =
      uniformProblem({2, 3, 4}, {.memory = 10, .kept = 12});
  problem.caps = {36, 35};
  StatusOr<Schedule> schedule = makeListSchedule(problem);
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.status().message(),
            "Q16: one microbatch takes 36 on rank 1, and its cap is 35: raise "
            "it by 1");
}

TEST(ListSchedule, FitsEveryCapOfAtLeastOneMicrobatch) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  auto upTo = [&](int64_t most) { return int64_t(1 + random() % most); };
  for (int i = 0; i < 200; ++i) {
    PipelineShape shape{upTo(6), upTo(4), upTo(10)};
    shape.placement = random() % 2 ? Placement::VShaped : Placement::RoundRobin;
    ScheduleProblem problem = uniformProblem(shape);
    problem.splitWeight = random() % 2;
    problem.transfer = double(random() % 3);
    for (ChunkCost &cost : problem.costs)
      cost = {double(upTo(4)), double(upTo(4)), double(upTo(4)), upTo(9),
              upTo(9)};
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      problem.caps[rank] = static_cast<int64_t>(random() % 20);
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
        problem.caps[rank] += std::max(problem.cost(rank, chunk).memory,
                                       problem.cost(rank, chunk).kept);
    }
    StatusOr<Schedule> schedule = makeListSchedule(problem);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message() << "\n"
                               << writeProblem(problem);
    Status verdict = verifySchedule(problem, *schedule);
    ASSERT_TRUE(verdict.ok()) << verdict.message() << "\n"
                              << writeProblem(problem);
  }
}

//===----------------------------------------------------------------------===//
// Against every order there is
//===----------------------------------------------------------------------===//

/// Appends every list of one rank that runs microbatches in order.
void everyList(const ScheduleProblem &problem, int64_t f, int64_t b, int64_t w,
               std::vector<Action> &list,
               std::vector<std::vector<Action>> &all) {
  int64_t count = problem.shape.microbatches;
  if (b == count && w == count)
    return all.push_back(list);
  auto go = [&](ActionKind kind, int64_t m, int64_t nf, int64_t nb,
                int64_t nw) {
    list.push_back({kind, 0, static_cast<int32_t>(m)});
    everyList(problem, nf, nb, nw, list, all);
    list.pop_back();
  };
  if (f < count)
    go(ActionKind::F, f, f + 1, b, w);
  if (b < f && problem.splitWeight)
    go(ActionKind::B, b, f, b + 1, w);
  if (b < f && !problem.splitWeight)
    go(ActionKind::BW, b, f, b + 1, w + 1);
  if (w < b)
    go(ActionKind::W, w, f, b, w + 1);
}

double exhaustive(const ScheduleProblem &problem) {
  std::vector<std::vector<Action>> all;
  std::vector<Action> list;
  everyList(problem, 0, 0, 0, list, all);
  Schedule schedule{"all", problem.shape, {}};
  std::vector<size_t> choice(problem.shape.ranks, 0);
  double best = kInfinity;
  for (size_t rank = 0; rank < choice.size();) {
    schedule.ranks.clear();
    for (size_t chosen : choice)
      schedule.ranks.push_back(all[chosen]);
    best = std::min(best, makespan(problem, schedule));
    for (rank = 0; rank < choice.size() && ++choice[rank] == all.size();)
      choice[rank++] = 0;
  }
  return best;
}

TEST(ListSchedule, IsNearTheOptimumOfSmallProblems) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  int optimal = 0, count = 40;
  for (int i = 0; i < count; ++i) {
    bool split = i % 2;
    ScheduleProblem problem = uniformProblem({split ? 2 : 2 + i / 2 % 2, 1, 3});
    problem.splitWeight = split;
    problem.transfer = double(random() % 4) / 2;
    auto time = [&] { return double(1 + random() % 4); };
    for (ChunkCost &cost : problem.costs)
      cost = {.forward = time(), .backward = time(), .weight = time()};
    for (int64_t &cap : problem.caps)
      cap = int64_t(1 + random() % 3);
    double best = exhaustive(problem), list = makespanOf("list", problem);
    ASSERT_GE(list, best * (1 - 1e-9)) << writeProblem(problem);
    ASSERT_LE(list, best * 1.5) << writeProblem(problem);
    optimal += list <= best * (1 + 1e-9);
  }
  EXPECT_GE(optimal, count / 2);
}

} // namespace
