//===- MemoryPlanTest.cpp - Offsets for buffers with lifetimes ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryPlan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// The bytes that `buffer` needs at `time`.
std::pair<int64_t, int64_t> needed(const MemoryBuffer &buffer, int64_t time) {
  if (time < buffer.lower || time >= buffer.upper)
    return {0, 0};
  for (const MemoryGap &gap : buffer.gaps)
    if (gap.lower <= time && time < gap.upper)
      return {gap.first, gap.last};
  return {0, buffer.size};
}

bool clash(const MemoryBuffer &a, int64_t offsetA, const MemoryBuffer &b,
           int64_t offsetB) {
  for (int64_t time = a.lower; time < a.upper; ++time) {
    auto [firstA, lastA] = needed(a, time);
    auto [firstB, lastB] = needed(b, time);
    if (firstA < lastA && firstB < lastB &&
        offsetA + firstA < offsetB + lastB &&
        offsetB + firstB < offsetA + lastA)
      return true;
  }
  return false;
}

/// The least peak over every order of first fit, byte by byte, after what is
/// fixed. It holds an optimum: an order that places buffers by their optimal
/// offsets puts none higher. (Of buffers whose gaps begin at byte 0.)
int64_t exhaustivePeak(const MemoryProblem &problem) {
  const auto &buffers = problem.buffers;
  std::vector<int> order;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!buffers[i].offset)
      order.push_back(static_cast<int>(i));
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    for (size_t i = 0; i < buffers.size(); ++i)
      offsets[i] = buffers[i].offset.value_or(-1);
    for (int b : order) {
      int64_t at = 0;
      auto isFree = [&] {
        for (size_t o = 0; o < buffers.size(); ++o)
          if (offsets[o] >= 0 && clash(buffers[b], at, buffers[o], offsets[o]))
            return false;
        return true;
      };
      while (!isFree())
        at += buffers[b].alignment;
      offsets[b] = at;
    }
    best = std::min(best, memoryPeaks(problem, offsets).at(""));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

struct Kind {
  bool aligned = false, fixed = false, gaps = false;
};

MemoryProblem randomProblem(std::mt19937 &random, int count, Kind kind) {
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % end);
  };
  MemoryProblem problem;
  int64_t top = 0;
  for (int i = 0; i < count; ++i) {
    MemoryBuffer buffer;
    buffer.lower = below(9);
    buffer.upper = buffer.lower + 1 + below(6);
    buffer.size = 1 + below(12);
    if (kind.aligned)
      buffer.alignment = int64_t{1} << below(4);
    if (kind.fixed && i < 2) {
      top += below(3);
      top += (buffer.alignment - top % buffer.alignment) % buffer.alignment;
      buffer.offset = top;
      top += buffer.size;
    }
    if (kind.gaps && buffer.upper - buffer.lower > 2)
      buffer.gaps.push_back({buffer.lower + 1, buffer.lower + 2, 0,
                             below(2) * below(buffer.size + 1)});
    problem.buffers.push_back(buffer);
  }
  return problem;
}

TEST(MemoryPlan, EmptyProblemNeedsNothing) {
  auto plan = planMemory({});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->peak(), 0);
  EXPECT_EQ(plan->gap(), 0);
}

TEST(MemoryPlan, BuffersThatNeverMeetShareBytes) {
  MemoryProblem problem{{{0, 2, 100}, {2, 4, 80}, {4, 9, 100}}};
  auto plan = planMemory(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->peak(), 100);
  EXPECT_TRUE(validateMemoryPlan(problem, plan->offsets).ok());
}

TEST(MemoryPlan, ArenasAreApart) {
  MemoryProblem problem{{{0, 2, 100}, {0, 2, 80}}};
  problem.buffers[1].arena = "host";
  auto plan = planMemory(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenas.at("").peak, 100);
  EXPECT_EQ(plan->arenas.at("host").peak, 80);
}

TEST(MemoryPlan, ResultsStandInTheirOperands) {
  MemoryProblem problem{{{0, 3, 64}, {2, 5, 32}, {2, 5, 16}, {0, 5, 8}}};
  problem.buffers[1].host = 0;
  problem.buffers[1].within = 32;
  problem.buffers[2].host = 0;
  auto plan = planMemory(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(validateMemoryPlan(problem, plan->offsets).ok());
  EXPECT_EQ(plan->offsets[1], plan->offsets[0] + 32);
  EXPECT_EQ(plan->offsets[2], plan->offsets[0]);
  EXPECT_EQ(plan->peak(), 72);
}

TEST(MemoryPlan, ValidatorRefusesWhatIsNoPlan) {
  MemoryProblem problem{{{0, 2, 8, 8}, {1, 3, 8, 8}}};
  auto reason = [&](const MemoryOffsets &offsets) {
    return validateMemoryPlan(problem, offsets).message();
  };
  EXPECT_EQ(reason({0, 8}), "");
  EXPECT_EQ(reason({0, 0}), "Q61: buffer 0 and buffer 1 share bytes");
  EXPECT_EQ(reason({0, 12}), "Q61: buffer 1 is not aligned");
  EXPECT_EQ(reason({0, -8}), "Q61: buffer 1 has an offset below 0");
  EXPECT_EQ(reason({0}), "Q61: expected an offset for each buffer");
  problem.buffers[1].gaps = {{1, 2, 0, 0}};
  EXPECT_EQ(reason({0, 0}), "");
  problem.buffers[0].offset = 8;
  EXPECT_EQ(reason({0, 0}), "Q61: buffer 0 is not where it is fixed");
  problem.buffers[1] = {0, 3, 4, 1, {}, {}, 0, 4};
  EXPECT_EQ(reason({8, 12}), "");
  EXPECT_EQ(reason({8, 8}), "Q61: buffer 1 is not where its host says");
}

TEST(MemoryPlan, FixedBuffersThatMeetAreRefused) {
  MemoryProblem problem{{{0, 2, 8, 1, 0}, {1, 3, 8, 1, 4}}};
  auto plan = planMemory(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(), "Q62: buffers that are fixed share bytes");
}

TEST(MemoryPlan, RefusesWhatIsNoProblem) {
  const MemoryBuffer bad[] = {
      {-1, 2, 8},
      {2, 2, 8},
      {3, 2, 8},
      {0, 2, -8},
      {0, 2, 8, 0},
      {0, 2, 8, kMostAlignment + 1},
      {0, 2, 8, 4, 2},
      {0, 2, 8, 1, -4},
      {0, 2, kMostUnits + 1},
      {0, 2, 8, 1, {}, {{1, 3, 0, 0}}},
      {0, 2, 8, 1, {}, {{1, 1, 0, 0}}},
      {0, 2, 8, 1, {}, {{0, 1, 4, 9}}},
      {0, 2, 8, 1, {}, {}, 7},
      {0, 2, 8, 1, {}, {}, 1},
      {0, 2, 8, 1, {}, {}, 0, 1},
  };
  for (const MemoryBuffer &buffer : bad) {
    auto plan = planMemory({{{0, 4, 8}, buffer}});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().message().find("buffer 1: Q60: "), 0u)
        << plan.status().message();
  }
  auto sum = planMemory({{{0, 1, kMostUnits}, {2, 3, 1}}});
  EXPECT_FALSE(sum.ok());
}

class ExactPlan : public testing::TestWithParam<Kind> {};

TEST_P(ExactPlan, EqualsExhaustiveSearch) {
  std::mt19937 random(1);
  int aboveBound = 0;
  for (int round = 0; round < 60; ++round) {
    MemoryProblem problem = randomProblem(random, 7, GetParam());
    auto plan = planMemory(problem);
    if (!plan.ok())
      continue; // two fixed ones meet
    ASSERT_TRUE(validateMemoryPlan(problem, plan->offsets).ok());
    int64_t best = exhaustivePeak(problem);
    int64_t bound = memoryLowerBounds(problem).at("");
    EXPECT_LE(bound, best) << "round " << round;
    EXPECT_EQ(plan->peak(), best) << "round " << round;
    EXPECT_EQ(plan->arenas.at("").lowerBound, best) << "round " << round;
    aboveBound += bound < best;
    MemoryOptions tight;
    tight.capacity = best;
    auto fit = planMemory(problem, tight);
    EXPECT_LE(fit->peak(), best);
    tight.capacity = best - 1;
    auto misfit = planMemory(problem, tight);
    EXPECT_GE(misfit->peak(), best);
    EXPECT_EQ(misfit->arenas.at("").lowerBound, best);
  }
  if (GetParam().aligned) {
    EXPECT_GT(aboveBound, 0); // some needed a proof
  }
}

INSTANTIATE_TEST_SUITE_P(, ExactPlan,
                         testing::Values(Kind{}, Kind{true}, Kind{false, true},
                                         Kind{true, true},
                                         Kind{false, false, true},
                                         Kind{true, true, true}));

/// A full rectangle of bytes and time, cut at random: it fits in its height.
MemoryProblem cutRectangle(std::mt19937 &random, size_t count, int64_t height) {
  MemoryProblem problem;
  problem.buffers.push_back({0, 1000, height});
  while (problem.buffers.size() < count) {
    auto &buffers = problem.buffers;
    auto largest = std::max_element(
        buffers.begin(), buffers.end(), [](const auto &a, const auto &b) {
          return double(a.size) * double(a.upper - a.lower) <
                 double(b.size) * double(b.upper - b.lower);
        });
    MemoryBuffer other = *largest;
    if (random() % 2 && largest->upper - largest->lower > 1) {
      int64_t length = largest->upper - largest->lower;
      other.lower = largest->upper =
          largest->lower + 1 + static_cast<int64_t>(random() % (length - 1));
    } else {
      other.size = 1 + static_cast<int64_t>(random() % (largest->size - 1));
      largest->size -= other.size;
    }
    buffers.push_back(other);
  }
  std::shuffle(problem.buffers.begin(), problem.buffers.end(), random);
  return problem;
}

TEST(MemoryPlan, FullRectanglesFit) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    MemoryProblem problem = cutRectangle(random, 40, 1024);
    auto plan = planMemory(problem);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(validateMemoryPlan(problem, plan->offsets).ok());
    EXPECT_EQ(plan->peak(), 1024) << "round " << round;
  }
}

TEST(MemoryPlan, SameStepsGiveTheSamePlan) {
  std::mt19937 random(4);
  MemoryProblem problem = cutRectangle(random, 200, 1 << 20);
  MemoryOptions options;
  options.steps = 3'000'000;
  auto first = planMemory(problem, options),
       second = planMemory(problem, options);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->offsets, second->offsets);
  EXPECT_TRUE(validateMemoryPlan(problem, first->offsets).ok());
}

TEST(MemoryPlan, BetterAlgorithmsAreNotWorse) {
  std::mt19937 random(2);
  for (int count : {20, 400}) {
    MemoryProblem problem = randomProblem(random, count, {true});
    int64_t last = INT64_MAX;
    for (MemoryAlgorithm algorithm :
         {MemoryAlgorithm::FirstFit, MemoryAlgorithm::BestFit,
          MemoryAlgorithm::Search}) {
      MemoryOptions options;
      options.algorithm = algorithm;
      options.steps = 20'000'000;
      auto plan = planMemory(problem, options);
      ASSERT_TRUE(plan.ok());
      EXPECT_TRUE(validateMemoryPlan(problem, plan->offsets).ok());
      EXPECT_LE(plan->peak(), last);
      EXPECT_GE(plan->peak(), plan->arenas.at("").lowerBound);
      last = plan->peak();
    }
  }
}

TEST(MemoryPlan, HostsAndWindowsAreValidAndBounded) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    MemoryProblem problem = randomProblem(random, 12, {true, false, true});
    for (size_t i = 6; i < 12; ++i) {
      MemoryBuffer &buffer = problem.buffers[i];
      MemoryBuffer &host = problem.buffers[i - 6];
      for (MemoryGap &gap : buffer.gaps)
        gap.first = gap.last / 2;
      if (buffer.size > host.size || random() % 2)
        continue;
      buffer.host = static_cast<int64_t>(i) - 6;
      buffer.within = (host.size - buffer.size) / 2;
    }
    MemoryOptions options;
    options.steps = 200'000;
    auto plan = planMemory(problem, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    Status valid = validateMemoryPlan(problem, plan->offsets);
    EXPECT_TRUE(valid.ok()) << valid.message();
    EXPECT_GE(plan->peak(), plan->arenas.at("").lowerBound);
  }
}

} // namespace
