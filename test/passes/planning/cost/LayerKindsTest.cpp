//===- LayerKindsTest.cpp - Prices follow the kinds of layers -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/RankParameters.h"
#include "test/passes/planning/cost/CostProblems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace hocket::planning {
namespace {

constexpr LayerKind attention = {.ffn = 4096};
constexpr LayerKind scan = {.attention = 0, .stateSpace = 1};

/// Eight layers of 1,024 numbers a token: 'a' has attention and an MLP, 'm' a
/// Mamba-2 block of 32 heads of 64, states of 96 and two groups.
ModelShape patterned(const std::string &pattern) {
  ModelShape model = gpt(int64_t(pattern.size()), 1024, 16);
  model.dropout = false;
  model.stateSpace = {0, 32, 64, 96, 2};
  model.kinds = {attention, scan};
  for (char layer : pattern)
    model.kindOf.push_back(layer == 'm');
  return model;
}

TEST(LayerKinds, AreCounted) {
  ModelShape model = patterned("ammaammm");
  LayerKinds kinds(model);
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds.layersOf(0), 3);
  EXPECT_EQ(kinds.layersOf(1), 5);
  EXPECT_EQ(kinds.layersOf(1, 2, 5), 1);
  EXPECT_EQ(kinds.kindOf(3), 0U);
  EXPECT_TRUE(kinds.hasStateSpace());
  ModelShape experts = gpt(6, 1024, 16);
  experts.experts = 4;
  experts.denseLayers = 2;
  LayerKinds ofExperts(experts);
  ASSERT_EQ(ofExperts.size(), 2U);
  EXPECT_EQ(ofExperts.layersOf(0, 1, 4), 1);
  EXPECT_EQ(ofExperts.layersOf(1, 1, 4), 2);
  EXPECT_EQ(ofExperts.kindOf(1), 0U);
  EXPECT_EQ(ofExperts.kindOf(2), 1U);
  EXPECT_FALSE(ofExperts.hasStateSpace());
}

TEST(LayerKinds, AreChecked) {
  StepShape step{1024, 8};
  ModelShape model = patterned("am");
  EXPECT_TRUE(checkShapes(model, step).ok());
  model.kindOf.pop_back();
  EXPECT_FALSE(checkShapes(model, step).ok());
  model.kindOf.push_back(2);
  EXPECT_FALSE(checkShapes(model, step).ok());
  model.kindOf.back() = 1;
  model.stateSpace.groups = 3;
  EXPECT_FALSE(checkShapes(model, step).ok());
}

/// A model says its layers in short or one by one: the price is the same to the
/// nanosecond and to the byte.
TEST(LayerKinds, OneByOneAreWhatTheyAreInShort) {
  CostProblem shortly = problemOn("h100", 16, gpt(8, 2048, 16), 64);
  shortly.compiled = true;
  ModelShape &model = shortly.model;
  model.window = 512;
  model.experts = 8;
  model.topK = 2;
  model.expertFfn = 1024;
  model.denseLayers = 3;
  CostProblem listed = shortly;
  LayerKinds kinds(model);
  listed.model.kinds = {kinds[1], kinds[0]};
  listed.model.kindOf = {1, 1, 1, 0, 0, 0, 0, 0};
  listed.model.window = listed.model.denseLayers = 0;
  for (const char *text :
       {"dp=16,mbs=1", "pp=4,dp=4,ep=4,mbs=1", "pp=2,dp=4,tp=2,v=2,zero=2",
        "pp=4,dp=2,tp=2,recompute=full", "dp=8,tp=2,recompute=selective",
        "pp=4,dp=4,schedule=zb-h1"}) {
    StatusOr<StepCost> one = priceStep(shortly, *parsePlan(text)),
                       other = priceStep(listed, *parsePlan(text));
    ASSERT_TRUE(one.ok() && other.ok()) << text;
    EXPECT_EQ(one->items, other->items) << text;
    for (size_t rank = 0; rank < one->memory.size(); ++rank)
      EXPECT_EQ(one->memory[rank].items, other->memory[rank].items) << text;
  }
}

/// A stage has the time, the residuals and the parameters of the layers that
/// stand on it, and of no others.
TEST(LayerKinds, StagesHaveTheirOwn) {
  CostProblem problem = problemOn("h100", 4, patterned("mmmmaaaa"), 32);
  problem.compiled = true;
  ParallelPlan plan = *parsePlan("pp=4,mbs=1");
  PartWork parts = partWork(problem, plan);
  StageCosts stages = stageCosts(problem, plan, parts);
  ActivationBytes bytes(problem.model, problem.step, plan, true, true);
  auto nanoseconds = [](double seconds) { return std::round(seconds * 1e9); };
  for (int64_t stage : {1, 2}) { // With neither embedding nor head.
    size_t kind = stage < 2 ? 1 : 0;
    const ChunkCost &cost = stages.schedule.cost(stage, 0);
    PassWork both = parts.layers[kind] * 2;
    EXPECT_EQ(cost.forward, nanoseconds(both.forward.seconds()));
    EXPECT_EQ(cost.backward, nanoseconds(both.backwardSeconds()));
    int64_t kept = bytes.ofLayer(problem.model.kinds[kind]);
    EXPECT_NEAR(double(cost.memory), 2 * double(kept), 2);
  }
  std::vector<RankParameters> held =
      rankParameters(problem.model, plan, Placement::RoundRobin);
  double matrices = 2 * 1024.0 * (2 * 2048 + 2 * 2 * 96 + 32) + 2 * 1024 * 2048;
  EXPECT_NEAR(held[1].layers,
              2 * problem.model.stateSpace.parameters(1024) + 2 * 1024, 1);
  EXPECT_NEAR(held[1].layers / matrices, 1, 0.5);
  EXPECT_NEAR(held[2].layers, 2 * 12 * 1024 * 1024 + 4 * 1024, 1);
}

/// The same layers in another order cost other stages more.
TEST(LayerKinds, OrderMatters) {
  CostProblem problem = problemOn("h100", 2, patterned("mmmmaaaa"), 32);
  problem.compiled = true;
  ParallelPlan plan = *parsePlan("pp=2,mbs=1");
  StepCost apart = *priceStep(problem, plan);
  problem.model = patterned("mamamama");
  StepCost mixed = *priceStep(problem, plan);
  EXPECT_LT(mixed.nanoseconds(), apart.nanoseconds());
  EXPECT_NE(mixed.memory[0].total(), apart.memory[0].total());
}

/// What a program keeps of a Mamba-2 layer, as its arena has it: the stream and
/// its norm; x, B and C as GEMMs, the convolution and its activation leave
/// them; steps; the gate, y, the gate's product and its norm.
TEST(ActivationBytes, OfScansAreCountedOneByOne) {
  ModelShape model = patterned("m");
  StepShape step{1024, 8};
  double tokens = 1024, inner = 2048, maps = 2 * 2 * 96, heads = 32, h = 1024;
  auto kept = [&](const char *text) {
    ParallelPlan plan = *parsePlan(text);
    return double(ActivationBytes(model, step, plan, true, true).ofLayer(scan));
  };
  double all = 2 * h + 3 * (inner + maps) + heads + 4 * inner;
  EXPECT_EQ(kept("mbs=1"), 2 * tokens * all);
  EXPECT_EQ(kept("mbs=1,recompute=full"), 2 * tokens * h);
  // What is not made again: what GEMMs and the scan make.
  EXPECT_EQ(kept("mbs=1,recompute=selective"),
            2 * tokens * (h + (inner + maps) + heads + 2 * inner));
  EXPECT_EQ(kept("mbs=1,recompute=selective,modules=core_attn"),
            2 * tokens * (all - inner));
  model.stateSpace.normGroups = 2; // A norm's result before its weight, too.
  EXPECT_EQ(kept("mbs=1"), 2 * tokens * (all + inner));
  // Heads and groups are shared out; two of four ranks have a group each.
  model.stateSpace.normGroups = 4;
  EXPECT_EQ(
      kept("tp=4,sp=1,mbs=1"),
      2 * tokens *
          (2 * h / 4 + 3 * (inner / 4 + maps / 2) + heads / 4 + 5 * inner / 4));
}

/// The work of Dao and Gu's algorithm (arXiv 2405.21060, section 6), GEMM by
/// GEMM, against what a model is said to compute. In a
/// chunk of Q tokens, of a head of P by N: C by B, [Q, N] x [N, Q]; that by x,
/// [Q, Q] x [Q, P]; the state, [N, Q] x [Q, P]; and what it adds, [Q, N] x
/// [N, P]. Megatron-LM's 7 for each number of a state, which a model's FLOPs
/// have, are more than chunks of one token take, and about what chunks of 128
/// do.
TEST(ModelShape, CountsScansAsTheirPaperDoes) {
  ModelShape model = patterned("mmmm");
  StepShape step{1024, 8};
  double q = 1, n = 96, p = 64, heads = 32, groups = 2;
  auto paper = [&] {
    double chunk = groups * 2 * q * n * q + heads * 2 * q * q * p +
                   heads * (2 * n * q * p + 2 * q * n * p);
    return chunk / q;
  };
  // In chunks of one token: the least.
  double least = paper();
  q = 128;
  EXPECT_DOUBLE_EQ(model.stateSpace.scanFlops(), paper());
  double h = 1024, inner = heads * p;
  double matrices = h * (3 * inner + 2 * groups * n + heads) * 4 + h * 51200;
  double scans = modelFlops(model, step) / step.tokens() - 6 * matrices;
  EXPECT_NEAR(scans, 3 * 4 * 7 * inner * n, 1e-3);
  EXPECT_GT(scans, 3 * 4 * least);
  EXPECT_NEAR(scans / (3 * 4 * paper()), 1, 0.1);
  // The kernels' own.
  EXPECT_DOUBLE_EQ(model.stateSpace.recurrenceFlops(), 5 * inner * n);
}

/// A scan that goes token by token is bound by its FLOPs forward, and backward
/// by what it writes down.
TEST(PartWork, ScansTakeWhatTheyMove) {
  CostProblem problem = problemOn("h100", 1, patterned("m"), 8);
  problem.compiled = true;
  ParallelPlan plan = *parsePlan("mbs=1");
  cluster::OpTimes times(problem.system, 16);
  PassWork work = partWork(problem, plan).layers[1];
  double tokens = double(problem.step.sequence);
  EXPECT_DOUBLE_EQ(work.forward.attention,
                   times.vector(5 * tokens * 2048 * 96));
  double numbers = 32 * (2 * 96 + 3);
  EXPECT_GT(work.backward.attention, times.memory(2 * 4 * tokens * numbers));
  // GEMMs of z, x, B, C, steps and the output; nothing for an MLP.
  double gemms = 0;
  for (double width : {2048, 2048, 192, 192, 32})
    gemms += times.gemm({tokens, width, 1024});
  EXPECT_DOUBLE_EQ(work.forward.gemms,
                   gemms + times.gemm({tokens, 1024, 2048}));
  EXPECT_EQ(work.forward.tensor, 0);
  // Full recompute leaves out the last GEMM, which nothing of the layer reads.
  plan.recompute = Recompute::Full;
  EXPECT_DOUBLE_EQ(partWork(problem, plan).layers[1].again.gemms, gemms);
  // Ranks that hold a part of the norm's rows gather them.
  CostProblem two = problemOn("h100", 2, patterned("m"), 8);
  two.compiled = true;
  double inner = 2 * tokens * 2048, stream = 2 * tokens * 1024;
  PassWork shared = partWork(two, *parsePlan("tp=2,mbs=1")).layers[1];
  EXPECT_NEAR(shared.forward.tensor,
              times.allGather(inner, {2, 1}) + times.allReduce(stream, {2, 1}),
              1e-12);
}

/// Every rule of a hybrid's heads and groups is asked before a plan is priced.
TEST(ParallelPlan, StateSpacesAreCutByHeads) {
  StepShape step{4096, 64};
  auto isSound = [&](const ModelShape &model, const char *text) {
    return checkPlan(*parsePlan(text), model, step).ok();
  };
  ModelShape model = patterned("ma");
  EXPECT_TRUE(isSound(model, "tp=2"));
  EXPECT_FALSE(isSound(model, "tp=4")); // Key heads are cut as groups are.
  EXPECT_TRUE(isSound(model, "cp=2"));
  EXPECT_FALSE(isSound(model, "cp=4")); // Of two groups.
  EXPECT_TRUE(isSound(model, "cp=4,tp=2"));
  model = patterned("mm");
  model.heads = model.kvHeads = 1; // That no layer has.
  EXPECT_TRUE(isSound(model, "tp=8"));
  EXPECT_FALSE(isSound(model, "tp=64"));
}

} // namespace
} // namespace hocket::planning
