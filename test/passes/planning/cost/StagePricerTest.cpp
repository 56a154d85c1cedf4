//===- StagePricerTest.cpp - What is known before times are ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/StagePricer.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "test/passes/planning/cost/CostProblems.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket::planning {
namespace {

/// Bytes found from the order of passes alone are those of a simulation, step
/// by step; an order that was kept is asked for twice.
TEST(ScheduleOrders, PeaksAreTheSimulators) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> cost(1, 1000);
  ScheduleOrders orders;
  for (const std::string name :
       {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "zb-v"})
    for (int64_t ranks : {1, 2, 3, 5, 8})
      for (int64_t chunks : {1, 2, 3, 4})
        for (int64_t microbatches : {1, 2, 3, 5, 8, 10, 16, 24, 40}) {
          const ScheduleTraits *traits = scheduleTraits(name);
          ScheduleProblem problem =
              uniformProblem({ranks, chunks, microbatches, traits->placement});
          problem.splitWeight = traits->splitsWeights;
          for (ChunkCost &chunk : problem.costs) {
            chunk.memory = cost(random);
            chunk.kept = chunk.memory / 2;
          }
          StatusOr<Schedule> schedule = generateSchedule(name, problem);
          auto peaks = peakBytes(name, problem, orders);
          bool direct = isPlayedDirectly(name, problem);
          if (!schedule.ok()) {
            EXPECT_FALSE(direct || peaks.ok());
            continue;
          }
          ASSERT_TRUE(peaks.ok()) << peaks.status().message();
          Timeline timeline = *simulateSchedule(problem, *schedule);
          for (size_t rank = 0; rank < size_t(ranks); ++rank)
            EXPECT_EQ((*peaks)[rank], timeline.ranks[rank].peakMemory)
                << name << " " << ranks << " " << chunks << " " << microbatches
                << " rank " << rank;
        }
}

/// What a search drops by leastBytes could not have fit.
TEST(StagePricer, LeastBytesAreAdmissible) {
  CostProblem problem = problemOn("h100", 64, gpt(24, 4096, 32), 64);
  ScheduleOrders orders;
  for (bool compiled : {false, true})
    for (bool experts : {false, true})
      for (const char *text :
           {"pp=1,dp=64,mbs=1", "pp=1,dp=8,tp=8,mbs=8", "pp=8,dp=8,mbs=1",
            "pp=4,dp=8,tp=2,v=3,mbs=1", "pp=4,dp=8,tp=2,schedule=zb-h1",
            "pp=4,dp=8,tp=2,v=2,mbs=2,schedule=zb-v",
            "pp=4,dp=16,v=2,offload=activations"}) {
        problem.compiled = compiled;
        problem.model.experts = experts ? 8 : 0;
        problem.model.topK = 2;
        problem.model.expertFfn = 4096;
        ParallelPlan plan = *parsePlan(text);
        StageCosts stages = stageCosts(problem, plan, partWork(problem, plan));
        StagePricer pricer(problem, plan, stages, orders);
        for (plan.zero = 0; plan.zero <= 3; ++plan.zero) {
          int64_t bytes = priceStep(problem, plan)->bytes();
          EXPECT_LE(pricer.leastBytes(false), bytes) << printPlan(plan);
          EXPECT_EQ(fullestOf(*pricer.memory(plan)).total(), bytes);
          EXPECT_LE(pricer.leastNanoseconds(plan),
                    priceStep(problem, plan)->nanoseconds());
          EXPECT_EQ(pricer.price(plan)->items, priceStep(problem, plan)->items);
          bool moves = plan.offloadsActivations();
          ParallelPlan away = plan;
          away.offload = moves ? Offload::All : Offload::Optimizer;
          EXPECT_LE(pricer.leastBytes(true), priceStep(problem, away)->bytes());
          // Nor could what has its loss in chunks, nor is that faster.
          ParallelPlan chunked = plan;
          chunked.lossChunks = compiled && plan.zero < 2 ? 8 : 1;
          StatusOr<StepCost> cost = priceStep(problem, chunked);
          EXPECT_LE(pricer.leastBytes(false), cost->bytes());
          EXPECT_LE(pricer.leastNanoseconds(plan), cost->nanoseconds());
        }
        EXPECT_GT(pricer.leastBytes(false), 0);
      }
}

/// Steps that may be run again have an arena for both kinds of them.
TEST(StagePricer, StepsThatAreRunAgainNeedTheMoreOfBoth) {
  CostProblem problem = problemOn("h100", 64, gpt(24, 4096, 32), 64);
  problem.compiled = true;
  problem.model.experts = 64;
  problem.model.topK = 6;
  problem.model.expertFfn = 1024;
  bool isOnceMore = false, isOnceLess = false;
  for (const char *text :
       {"pp=1,dp=64,ep=2,mbs=1", "pp=1,dp=64,ep=64,mbs=1",
        "pp=4,dp=16,ep=16,mbs=1", "pp=2,dp=16,tp=2,ep=8,mbs=1"}) {
    auto bytesOf = [&](const char *recompute, double bound, bool again) {
      problem.model.rowsBound = bound;
      problem.model.runsAgain = again;
      return priceStep(problem, *parsePlan(std::string(text) + recompute))
          ->memory;
    };
    std::vector<RankMemory> once = bytesOf("", 1.25, false),
                            roomy = bytesOf(",recompute=full", 1e6, false),
                            both = bytesOf("", 1.25, true);
    for (size_t rank = 0; rank < both.size(); ++rank) {
      EXPECT_EQ(both[rank].total(),
                std::max(once[rank].total(), roomy[rank].total()))
          << text;
      (once[rank].total() < roomy[rank].total() ? isOnceMore : isOnceLess) =
          true;
    }
  }
  EXPECT_TRUE(isOnceMore && isOnceLess);
}

} // namespace
} // namespace hocket::planning
