//===- ArenaPlanTest.cpp - Offsets for buffers with lifetimes -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ArenaPlan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace hocket::planning;

namespace {

/// The least peak over every order of first-fit, which holds an optimum when
/// the alignment is 1: some order places buffers by their optimal offsets.
int64_t exhaustivePeak(const ArenaProblem &problem) {
  std::vector<int> order(problem.buffers.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(order.size(), -1);
    int64_t peak = 0;
    for (int b : order) {
      const ArenaBuffer &buffer = problem.buffers[b];
      std::vector<int64_t> candidates = {0};
      for (size_t o = 0; o < offsets.size(); ++o)
        if (offsets[o] >= 0)
          candidates.push_back(offsets[o] + problem.buffers[o].size);
      std::sort(candidates.begin(), candidates.end());
      for (int64_t at : candidates) {
        bool free = true;
        for (size_t o = 0; o < offsets.size() && free; ++o) {
          const ArenaBuffer &other = problem.buffers[o];
          free = offsets[o] < 0 || other.upper <= buffer.lower ||
                 buffer.upper <= other.lower ||
                 at + buffer.size <= offsets[o] ||
                 offsets[o] + other.size <= at;
        }
        if (free) {
          offsets[b] = at;
          break;
        }
      }
      peak = std::max(peak, offsets[b] + buffer.size);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

ArenaProblem randomProblem(std::mt19937 &random, int count, int64_t alignment) {
  ArenaProblem problem;
  problem.alignment = alignment;
  for (int i = 0; i < count; ++i) {
    int64_t lower = random() % 12;
    problem.buffers.push_back({lower,
                               lower + 1 + static_cast<int64_t>(random() % 6),
                               1 + static_cast<int64_t>(random() % 40)});
  }
  return problem;
}

TEST(ArenaPlan, EmptyProblemNeedsNothing) {
  ArenaPlan plan = planArena({});
  EXPECT_EQ(plan.peak, 0);
  EXPECT_TRUE(isValid({}, plan));
}

TEST(ArenaPlan, BuffersThatNeverMeetShareBytes) {
  ArenaProblem problem{{{0, 2, 100}, {2, 4, 80}, {4, 9, 100}}, 1};
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(plan.peak, 100);
  EXPECT_TRUE(isValid(problem, plan));
}

TEST(ArenaPlan, OffsetsAreAligned) {
  ArenaProblem problem{{{0, 4, 1}, {0, 4, 257}, {1, 3, 3}}, 256};
  ArenaPlan plan = planArena(problem);
  EXPECT_TRUE(isValid(problem, plan));
  EXPECT_EQ(arenaLowerBound(problem), 1024);
  EXPECT_LE(plan.peak, 1024);
}

TEST(ArenaPlan, ValidatorRefusesOverlapMisalignmentAndWrongPeaks) {
  ArenaProblem problem{{{0, 2, 8}, {1, 3, 8}}, 8};
  EXPECT_TRUE(isValid(problem, {{0, 8}, 16}));
  EXPECT_FALSE(isValid(problem, {{0, 0}, 8}));
  EXPECT_FALSE(isValid(problem, {{0, 12}, 20}));
  EXPECT_FALSE(isValid(problem, {{0, -8}, 8}));
  EXPECT_FALSE(isValid(problem, {{0, 8}, 24}));
  EXPECT_FALSE(isValid(problem, {{0}, 8}));
}

TEST(ArenaPlan, RandomPlansAreValidAndNearTheOptimum) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    ArenaProblem problem = randomProblem(random, 6, 1);
    ArenaPlan plan = planArena(problem);
    ASSERT_TRUE(isValid(problem, plan));
    int64_t best = exhaustivePeak(problem);
    EXPECT_LE(arenaLowerBound(problem), best);
    EXPECT_GE(plan.peak, best);
    EXPECT_LE(plan.peak, best + best / 3) << "round " << round;
  }
}

TEST(ArenaPlan, LargeProblemsAreValid) {
  std::mt19937 random(2);
  for (int64_t alignment : {1, 64, 256}) {
    ArenaProblem problem = randomProblem(random, 400, alignment);
    ArenaPlan plan = planArena(problem);
    EXPECT_TRUE(isValid(problem, plan));
    EXPECT_GE(plan.peak + alignment, arenaLowerBound(problem));
  }
}

} // namespace
