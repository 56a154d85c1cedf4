//===- ScheduleGeneratorsTest.cpp - Schedules by name ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleVerifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

namespace {

/// The schedule and its timeline; fails the test where there is none.
struct Made {
  Schedule schedule;
  Timeline timeline;
};

Made make(std::string_view name, const ScheduleProblem &problem) {
  StatusOr<Schedule> schedule = generateSchedule(name, problem);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  if (!schedule.ok())
    return {};
  Status verdict = verifySchedule(problem, *schedule);
  EXPECT_TRUE(verdict.ok()) << name << ": " << verdict.message();
  StatusOr<Timeline> timeline = simulateSchedule(problem, *schedule);
  EXPECT_TRUE(timeline.ok()) << timeline.status().message();
  if (!timeline.ok())
    return {};
  return {*std::move(schedule), *std::move(timeline)};
}

std::string refusal(std::string_view name, const ScheduleProblem &problem) {
  StatusOr<Schedule> schedule = generateSchedule(name, problem);
  EXPECT_FALSE(schedule.ok());
  EXPECT_EQ(exitStatusOf(schedule.status()), 2);
  return schedule.status().message();
}

/// Forward 1 and backward 2 per stage of one chunk, shared out over v chunks.
ScheduleProblem joined(int64_t ranks, int64_t chunks, int64_t microbatches,
                       int64_t group) {
  double share = 1.0 / static_cast<double>(chunks);
  ScheduleProblem problem =
      uniformProblem({ranks, chunks, microbatches},
                     {.forward = share, .backward = share, .weight = share});
  problem.group = group;
  return problem;
}

/// T_F = T_B = T_W = 1 per chunk.
ScheduleProblem split(int64_t ranks, int64_t chunks, int64_t microbatches) {
  Placement placement =
      chunks == 2 ? Placement::VShaped : Placement::RoundRobin;
  ScheduleProblem problem =
      uniformProblem({ranks, chunks, microbatches, placement});
  problem.splitWeight = true;
  return problem;
}

//===----------------------------------------------------------------------===//
// 1F1B and interleaved 1F1B against the published table
//===----------------------------------------------------------------------===//

struct Row {
  int64_t ranks, chunks, microbatches, group;
  std::vector<int64_t> warmups;
  double makespan;
  std::vector<int64_t> peaks;
};

class InterleavedTable : public ::testing::TestWithParam<Row> {};

TEST_P(InterleavedTable, IsReproduced) {
  const Row &row = GetParam();
  ScheduleProblem problem =
      joined(row.ranks, row.chunks, row.microbatches, row.group);
  Made made = make(row.chunks == 1 ? "1f1b" : "interleaved-1f1b", problem);
  std::vector<int64_t> warmups, peaks;
  for (int64_t rank = 0; rank < row.ranks; ++rank) {
    int64_t count = 0;
    while (made.schedule.ranks[rank][count].kind == ActionKind::F)
      ++count;
    warmups.push_back(count - 1);
    peaks.push_back(made.timeline.ranks[rank].peakLive);
    EXPECT_EQ(warmupForwards(problem, rank), warmups.back());
    double bubble = double(row.ranks - 1) * 3 / double(row.chunks);
    EXPECT_DOUBLE_EQ(made.timeline.ranks[rank].bubble, bubble);
  }
  EXPECT_THAT(warmups, ElementsAreArray(row.warmups));
  EXPECT_THAT(peaks, ElementsAreArray(row.peaks));
  EXPECT_DOUBLE_EQ(made.timeline.makespan, row.makespan);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, InterleavedTable,
    ::testing::Values(
        Row{4, 1, 8, 4, {3, 2, 1, 0}, 33.0, {4, 3, 2, 1}},
        Row{4, 2, 8, 4, {10, 8, 6, 4}, 28.5, {11, 9, 7, 5}},
        Row{4, 4, 8, 4, {18, 16, 14, 12}, 26.25, {19, 17, 15, 13}},
        Row{4, 2, 8, 8, {14, 12, 10, 8}, 28.5, {15, 13, 11, 9}},
        Row{4, 2, 12, 6, {12, 10, 8, 6}, 40.5, {13, 11, 9, 7}},
        Row{2, 2, 5, 3, {5, 3}, 16.5, {6, 4}}));

TEST(Interleaved, OrderOfRaggedGroups) {
  Made made = make("interleaved-1f1b", joined(2, 2, 5, 3));
  std::vector<int32_t> microbatches, chunks, backward;
  for (const Action &action : made.schedule.ranks[0]) {
    if (action.kind == ActionKind::F) {
      microbatches.push_back(action.microbatch);
      chunks.push_back(action.chunk);
    } else {
      backward.push_back(action.chunk);
    }
  }
  EXPECT_THAT(microbatches, ElementsAreArray({0, 1, 2, 0, 1, 2, 3, 4, 3, 4}));
  EXPECT_THAT(chunks, ElementsAreArray({0, 0, 0, 1, 1, 1, 0, 0, 1, 1}));
  EXPECT_THAT(backward, ElementsAreArray({1, 1, 1, 0, 0, 0, 1, 1, 0, 0}));
}

TEST(Interleaved, RefusesWithWhatToChange) {
  EXPECT_EQ(refusal("interleaved-1f1b", joined(4, 2, 10, 4)),
            "Q14: interleaved-1f1b needs ranks <= group <= microbatches, and "
            "of microbatches modulo group 0 or at least ranks; found 4 ranks, "
            "groups of 4 and 10 microbatches: use groups of 5, or 8 or 12 "
            "microbatches");
  EXPECT_THAT(refusal("interleaved-1f1b", joined(4, 2, 3, 0)),
              HasSubstr("groups of 4 and 3 microbatches: 4 microbatches"));
  EXPECT_THAT(refusal("interleaved-1f1b", joined(4, 2, 8, 2)),
              HasSubstr("use groups of 4, or 8 or 8 microbatches in groups"));
}

//===----------------------------------------------------------------------===//
// Schedules of split backwards against their formulas
//===----------------------------------------------------------------------===//

class ZeroBubble : public ::testing::TestWithParam<int64_t> {};

TEST_P(ZeroBubble, H1HasAThirdOfTheBubble) {
  int64_t ranks = GetParam();
  for (int64_t microbatches : {ranks, 2 * ranks, 4 * ranks + 1}) {
    Made made = make("zb-h1", split(ranks, 1, microbatches));
    EXPECT_DOUBLE_EQ(made.timeline.makespan,
                     double(3 * microbatches + ranks - 1));
    for (const RankTimeline &rank : made.timeline.ranks)
      EXPECT_LE(rank.peakLive, ranks);
  }
}

TEST_P(ZeroBubble, H2HasNoneForTwiceTheMemory) {
  int64_t ranks = GetParam();
  for (int64_t microbatches : {2 * ranks - 1, 2 * ranks, 4 * ranks + 1}) {
    Made made = make("zb-h2", split(ranks, 1, microbatches));
    for (const RankTimeline &rank : made.timeline.ranks) {
      EXPECT_DOUBLE_EQ(rank.gaps, 0);
      EXPECT_LE(rank.peakLive, 2 * ranks - 1);
    }
  }
}

TEST_P(ZeroBubble, VHasNoneForTheMemoryOf1F1B) {
  int64_t ranks = GetParam();
  for (int64_t microbatches : {2 * ranks, 4 * ranks + 1}) {
    Made made = make("zb-v", split(ranks, 2, microbatches));
    for (const RankTimeline &rank : made.timeline.ranks) {
      EXPECT_DOUBLE_EQ(rank.gaps, 0);
      EXPECT_LE(rank.peakLive, 2 * ranks); // chunks of half a stage
    }
  }
}

TEST_P(ZeroBubble, DualPipeVHasTheBubbleOfItsFormula) {
  int64_t ranks = GetParam();
  for (int64_t microbatches : {2 * ranks, 4 * ranks + 1})
    for (double forward : {1.0, 1.5}) {
      ScheduleProblem problem = split(ranks, 2, microbatches);
      problem.costs.assign(2 * ranks, {forward, forward, 1});
      problem.pair = 1;
      Made made = make("dualpipe-v", problem);
      // (P-1)(F&B + B - 3W), where B is a whole backward.
      double backward = forward + 1, both = forward + backward;
      double bubble = double(ranks - 1) * (both + backward - 3);
      for (const RankTimeline &rank : made.timeline.ranks) {
        EXPECT_DOUBLE_EQ(rank.bubble, bubble);
        EXPECT_LE(rank.peakLive, 2 * ranks + 1);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ZeroBubble,
                         ::testing::Values(1, 2, 3, 4, 5, 8, 16));

TEST(Generators, RefuseWhatDoesNotFit) {
  EXPECT_THAT(refusal("zigzag", joined(2, 1, 4, 0)),
              HasSubstr("Q10: there is no schedule 'zigzag'; expected one of "
                        "gpipe, 1f1b, interleaved-1f1b, zb-h1, zb-h2, zb-v, "
                        "dualpipe-v, list"));
  EXPECT_THAT(refusal("1f1b", joined(2, 2, 4, 0)),
              HasSubstr("Q11: 1f1b has 1 chunk per rank, the problem has 2"));
  EXPECT_THAT(refusal("zb-v", split(2, 1, 4)), HasSubstr("Q11"));
  EXPECT_THAT(refusal("interleaved-1f1b", split(2, 2, 4)),
              HasSubstr("Q12: interleaved-1f1b needs its chunks placed "
                        "round-robin, and the problem has them v-shaped"));
  EXPECT_THAT(refusal("zb-h1", joined(2, 1, 4, 0)), HasSubstr("Q13: zb-h1"));
  EXPECT_THAT(refusal("dualpipe-v", split(4, 2, 7)),
              HasSubstr("Q15: dualpipe-v needs at least two microbatches per "
                        "rank, 8 for 4 ranks; found 7"));
  EXPECT_THAT(refusal("gpipe", joined(0, 1, 4, 0)),
              HasSubstr("Q1: expected 1 to 65536 ranks, found 0"));
  EXPECT_THAT(refusal("gpipe", joined(1024, 2, 1 << 20, 0)),
              HasSubstr("Q1: expected at most 4194304 of ranks x chunks"));
}

//===----------------------------------------------------------------------===//
// Any problem
//===----------------------------------------------------------------------===//

ScheduleProblem randomProblem(std::mt19937 &random) {
  auto upTo = [&](int64_t most) { return int64_t(1 + random() % most); };
  PipelineShape shape{upTo(9), upTo(4), upTo(24)};
  shape.placement = random() % 2 ? Placement::VShaped : Placement::RoundRobin;
  ScheduleProblem problem = uniformProblem(shape);
  problem.group = static_cast<int64_t>(random() % 12);
  problem.splitWeight = random() % 2;
  problem.transfer = double(random() % 3) / 2;
  for (ChunkCost &cost : problem.costs)
    cost = {double(upTo(5)), double(upTo(5)), double(upTo(5)), upTo(9),
            int64_t(random() % 9)};
  return problem;
}

TEST(Generators, EveryScheduleOfRandomProblemsPassesTheVerifier) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    ScheduleProblem problem = randomProblem(random);
    for (std::string_view name : scheduleNames()) {
      StatusOr<Schedule> schedule = generateSchedule(name, problem);
      if (!schedule.ok()) {
        EXPECT_THAT(schedule.status().message(), HasSubstr("Q1"));
        continue;
      }
      ++made;
      Status verdict = verifySchedule(problem, *schedule);
      ASSERT_TRUE(verdict.ok())
          << name << " P=" << problem.shape.ranks
          << " v=" << problem.shape.chunks
          << " M=" << problem.shape.microbatches << " N=" << problem.group
          << " " << spelled(problem.shape.placement) << ": "
          << verdict.message();
    }
  }
  EXPECT_GT(made, 400);
}

} // namespace
