//===- PlanSearchTest.cpp - Search against exhaustive enumeration ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/PlanSearch.h"
#include "passes/planning/cluster/Systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::planning {
namespace {

CostProblem smallProblem(const std::string &system, int64_t devices,
                         int64_t layers, int64_t hidden, int64_t batch) {
  CostProblem problem;
  ModelShape &model = problem.model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = hidden / 128;
  model.kvHeads = model.heads;
  model.headDim = 128;
  model.ffn = 4 * hidden;
  model.vocab = 51200;
  problem.step = {4096, batch};
  problem.system = *systemNamed(system);
  problem.devices = devices;
  return problem;
}

CostProblem withExperts(CostProblem problem) {
  problem.model.gated = true;
  problem.model.tied = false;
  problem.model.experts = 8;
  problem.model.topK = 2;
  problem.model.expertFfn = problem.model.hidden;
  problem.model.denseLayers = 1;
  return problem;
}

/// The same best times as by pricing every plan, at several memory sizes.
void expectOptimal(const CostProblem &problem) {
  SearchOptions options;
  options.top = 5;
  PlanSearch search(problem, {});
  for (int64_t gibibytes : {80, 40, 12, 4, 1}) {
    options.memory = gibibytes << 30;
    SearchResult all = searchExhaustively(problem, {}, options);
    SearchResult found = search.run(options);
    ASSERT_EQ(found.best.size(), all.best.size()) << gibibytes;
    EXPECT_EQ(found.gap(), 0);
    for (size_t i = 0; i < all.best.size(); ++i) {
      EXPECT_EQ(found.best[i].cost.nanoseconds(),
                all.best[i].cost.nanoseconds())
          << printPlan(found.best[i].plan) << " "
          << printPlan(all.best[i].plan);
      EXPECT_LE(found.best[i].cost.bytes(), options.memory);
    }
    if (!all.best.empty()) {
      EXPECT_LE(found.priced, all.priced);
    }
  }
}

TEST(PlanSearch, FindsWhatEnumerationFinds) {
  expectOptimal(smallProblem("h100", 8, 8, 2048, 16));
  expectOptimal(smallProblem("a100", 16, 6, 4096, 32));
  expectOptimal(smallProblem("b200", 12, 7, 1536, 24));
  expectOptimal(smallProblem("h100", 1, 4, 1024, 4));
}

TEST(PlanSearch, FindsItForExpertsToo) {
  expectOptimal(withExperts(smallProblem("h100", 8, 4, 2048, 16)));
  expectOptimal(withExperts(smallProblem("a100", 4, 5, 1024, 8)));
}

TEST(PlanSearch, IsDeterministicAndReusable) {
  CostProblem problem = smallProblem("h100", 64, 24, 4096, 128);
  SearchOptions options;
  options.memory = int64_t(60) << 30;
  options.top = 10;
  PlanSearch first(problem, {}), second(problem, {});
  second.run({});
  SearchResult a = first.run(options), b = second.run(options);
  ASSERT_EQ(a.best.size(), 10u);
  for (size_t i = 0; i < a.best.size(); ++i)
    EXPECT_EQ(a.best[i].plan, b.best[i].plan);
}

TEST(PlanSearch, FrontTradesTimeForMemory) {
  PlanSearch search(smallProblem("h100", 64, 24, 4096, 128), {});
  std::vector<PricedPlan> front = search.paretoFront({}, 6);
  ASSERT_GE(front.size(), 3u);
  for (size_t i = 1; i < front.size(); ++i) {
    EXPECT_GE(front[i].cost.nanoseconds(), front[i - 1].cost.nanoseconds());
    EXPECT_LT(front[i].cost.bytes(), front[i - 1].cost.bytes());
  }
}

TEST(PlanSearch, KeepsConstraints) {
  CostProblem problem = smallProblem("h100", 64, 24, 4096, 128);
  auto constraints =
      PlanConstraints::parse("tp=4,pp=2,recompute=full,schedule=1f1b,zero=1");
  ASSERT_TRUE(constraints.ok());
  SearchResult result = PlanSearch(problem, *constraints).run({});
  ASSERT_EQ(result.best.size(), 1u);
  const ParallelPlan &plan = result.best[0].plan;
  EXPECT_EQ(plan.tp, 4);
  EXPECT_EQ(plan.pp, 2);
  EXPECT_EQ(plan.zero, 1);
  EXPECT_EQ(plan.recompute, Recompute::Full);
  EXPECT_EQ(plan.scheduleName(), "1f1b");
  auto never = PlanConstraints::parse("tp=5");
  EXPECT_TRUE(PlanSearch(problem, *never).run({}).best.empty());
}

/// A search that is stopped says how far it may be from the optimum.
TEST(PlanSearch, StoppedSearchStatesItsGap) {
  CostProblem problem = smallProblem("h100", 64, 24, 4096, 128);
  PlanSearch search(problem, {});
  int64_t optimum = search.run({}).best[0].cost.nanoseconds();
  SearchOptions options;
  options.mostPasses = 200;
  SearchResult stopped = search.run(options);
  EXPECT_LE(stopped.bound, optimum);
  if (!stopped.best.empty()) {
    EXPECT_GE(stopped.best[0].cost.nanoseconds(), optimum);
  }
}

struct Published {
  const char *name;
  ModelShape model;
  StepShape step;
  int64_t devices;
  const char *plan; ///< As its authors ran it.
};

ModelShape shape(int64_t layers, int64_t hidden, int64_t heads, int64_t kvHeads,
                 int64_t ffn, int64_t vocab) {
  ModelShape model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.kvHeads = kvHeads;
  model.headDim = 128;
  model.ffn = ffn;
  model.vocab = vocab;
  return model;
}

std::vector<Published> publishedPlans() {
  ModelShape gpt = shape(96, 12288, 96, 96, 4 * 12288, 51200);
  ModelShape llama = shape(126, 16384, 128, 8, 53248, 128256);
  llama.gated = true;
  llama.tied = false;
  ModelShape deepseek = shape(61, 7168, 128, 128, 18432, 129280);
  deepseek.gated = true;
  deepseek.tied = false;
  deepseek.headDim = 64;
  deepseek.experts = 256;
  deepseek.topK = 8;
  deepseek.expertFfn = deepseek.sharedFfn = 2048;
  deepseek.denseLayers = 3;
  return {{"GPT-3 175B",
           gpt,
           {2048, 1536},
           1024,
           "pp=8,dp=16,tp=8,v=6,zero=1,sp=1"},
          // arXiv 2407.21783, table 4.
          {"Llama 3 405B",
           llama,
           {8192, 2048},
           16384,
           "pp=16,dp=128,tp=8,v=7,sp=1,zero=2,layers="},
          // arXiv 2412.19437, section 3.2.
          {"DeepSeek-V3",
           deepseek,
           {4096, 15360},
           2048,
           "pp=16,dp=128,tp=1,ep=64,zero=1,recompute=full"}};
}

/// What search finds is never predicted slower than what was published.
TEST(PlanSearch, BeatsPublishedPlans) {
  for (Published &published : publishedPlans()) {
    CostProblem problem;
    problem.model = published.model;
    problem.step = published.step;
    problem.system = *systemNamed("h100");
    problem.devices = published.devices;
    std::string text = published.plan;
    if (text.ends_with("layers=")) { // 126 layers on 112 stages.
      std::vector<int64_t> layers = evenLayers(126, 112);
      for (size_t i = 0; i < layers.size(); ++i)
        text += (i ? "/" : "") + std::to_string(layers[i]);
    }
    StatusOr<ParallelPlan> plan = parsePlan(text);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    StatusOr<StepCost> theirs = priceStep(problem, *plan);
    ASSERT_TRUE(theirs.ok()) << published.name << theirs.status().message();
    SearchOptions options;
    options.memory = problem.system.device().memory_bytes() / 20 * 19;
    SearchResult ours = PlanSearch(problem, {}).run(options);
    ASSERT_EQ(ours.best.size(), 1u) << published.name;
    EXPECT_EQ(ours.gap(), 0) << published.name;
    EXPECT_LE(ours.best[0].cost.nanoseconds(), theirs->nanoseconds())
        << published.name;
  }
}

} // namespace
} // namespace hocket::planning
