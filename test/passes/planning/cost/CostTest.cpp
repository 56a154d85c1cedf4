//===- CostTest.cpp - The cost model against formulas and simulation ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/StagePricer.h"
#include "test/passes/planning/cost/CostProblems.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace hocket::planning {
namespace {

using testing::HasSubstr;

TEST(ModelShape, CountsGpt3) {
  ModelShape model = gpt(96, 12288, 96);
  // 12 L h^2, the embeddings, and two norms a layer.
  double layers = 12.0 * 96 * 12288 * 12288 + 96 * 2 * 12288;
  EXPECT_DOUBLE_EQ(model.parameters(),
                   layers + 12288.0 * (51200 + 2048) + 12288);
}

TEST(ModelShape, FlopsAreSixPerParameterAndToken) {
  ModelShape model = gpt(96, 12288, 96);
  StepShape step{2048, 1536};
  double tokens = 2048.0 * 1536;
  double gemms = 12.0 * 96 * 12288 * 12288 + 12288.0 * 51200;
  double scores = 6 * tokens * 2048 * 96 * 12288;
  EXPECT_DOUBLE_EQ(modelFlops(model, step), 6 * tokens * gemms + scores);
  EXPECT_DOUBLE_EQ(modelFlopsFullSquare(model, step),
                   6 * tokens * gemms + 2 * scores);
  model.bidirectional = true; // Then the square is what there is.
  EXPECT_DOUBLE_EQ(modelFlops(model, step), modelFlopsFullSquare(model, step));
}

/// A weight that is not trained has no gradient's GEMM, and no state.
TEST(ModelShape, FrozenWeightsLeaveOutTheirGradients) {
  ModelShape model = gpt(96, 12288, 96);
  StepShape step{2048, 1536}, half = step;
  half.trainedPerMillion = 500'000;
  double tokens = 2048.0 * 1536;
  double gemms = 12.0 * 96 * 12288 * 12288 + 12288.0 * 51200;
  EXPECT_DOUBLE_EQ(modelFlops(model, step) - modelFlops(model, half),
                   tokens * gemms);
}

/// Korthikanti et al., table 2, with s, b, h, a, t of their 22B model.
TEST(ActivationBytes, ArePublishedFormulas) {
  ModelShape model = gpt(48, 6144, 64);
  StepShape step{2048, 4};
  ParallelPlan plan;
  plan.tp = 8;
  plan.microBatch = 4;
  double sbh = 2048.0 * 4 * 6144, square = 5.0 * 64 * 2048 / 6144;
  auto bytes = [&](bool sequence, Recompute recompute) {
    plan.sequenceParallel = sequence;
    plan.recompute = recompute;
    return double(ActivationBytes(model, step, plan, false)
                      .ofLayer(LayerKinds(model)[0]));
  };
  EXPECT_NEAR(bytes(false, Recompute::None), sbh * (10 + (24 + square) / 8), 1);
  EXPECT_NEAR(bytes(true, Recompute::None), sbh * (34 + square) / 8, 1);
  EXPECT_NEAR(bytes(false, Recompute::Selective), sbh * (10 + 24.0 / 8), 1);
  EXPECT_NEAR(bytes(true, Recompute::Selective), sbh * 34 / 8, 1);
  EXPECT_NEAR(bytes(false, Recompute::Full), sbh * 2, 1);
}

/// What each module frees of a gated layer with 16-bit elements: the results
/// that its ops made, and none twice.
TEST(ActivationBytes, LeaveOutWhatModulesMake) {
  ModelShape model = gpt(48, 6144, 64);
  model.gated = true;
  StepShape step{2048, 4};
  double tokens = 2048, rows = 2 * tokens * 6144,
         wide = 2 * tokens * double(model.ffn);
  auto freed = [&](const char *modules) {
    auto bytes = [&](const std::string &text) {
      ParallelPlan plan = *parsePlan(text);
      return double(ActivationBytes(model, step, plan, true, true)
                        .ofLayer(LayerKinds(model)[0]));
    };
    return bytes("mbs=1") -
           bytes(std::string("mbs=1,recompute=selective") + modules);
  };
  EXPECT_NEAR(freed(""), 2 * rows + wide, 1);
  EXPECT_NEAR(freed(",modules=layernorm/activation"), freed(""), 1);
  EXPECT_NEAR(freed(",modules=layernorm"), 2 * rows, 1);
  EXPECT_NEAR(freed(",modules=core_attn"), rows, 1);
  EXPECT_NEAR(freed(",modules=mlp"), 3 * wide, 1);
  EXPECT_NEAR(freed(",modules=mlp/activation"), 3 * wide, 1);
  EXPECT_EQ(freed(",modules=moe/moe_act/shared_experts"), 0);
}

/// Computing a module again takes time, and one that multiplies takes more.
TEST(PartWork, PricesModulesComputedAgain) {
  CostProblem problem;
  problem.model = gpt(48, 6144, 64);
  problem.step = {2048, 64};
  problem.system = *cluster::systemNamed("h100");
  problem.devices = 8;
  problem.compiled = true;
  auto again = [&](const std::string &text) {
    return partWork(problem, *parsePlan("dp=8," + text)).layers.front().again;
  };
  Work all = again("recompute=selective");
  EXPECT_EQ(all.gemms, 0);
  EXPECT_EQ(all.attention, 0);
  EXPECT_GT(all.memory, again("recompute=selective,modules=layernorm").memory);
  EXPECT_GT(again("recompute=selective,modules=mlp").gemms, 0);
  EXPECT_GT(again("recompute=selective,modules=core_attn").attention, 0);
  EXPECT_EQ(again("recompute=none").seconds(), 0);
}

TEST(OpTimes, CollectivesFollowTheirAlgorithms) {
  cluster::System system = *cluster::systemNamed("h100");
  cluster::OpTimes times(system, 16);
  double inside =
      system.node_link().bandwidth() * system.node_link().efficiency();
  double outside = system.network().bandwidth() * system.network().efficiency();
  double bytes = 1e9;
  EXPECT_NEAR(times.allGather(bytes, {8, 1}),
              bytes * 7 / 8 / inside + 7 * system.node_link().latency(), 1e-9);
  EXPECT_EQ(times.allReduce(bytes, {1, 1}), 0);
  // Eight members on eight nodes: each node's share of the network is one.
  EXPECT_NEAR(times.allGather(bytes, {8, 8}),
              bytes * 7 / 8 / outside + 7 * system.network().latency(), 1e-9);
  // Small messages of many members go along a tree.
  double tree = 2 * 10 * system.network().latency();
  EXPECT_NEAR(times.allReduce(1, {1024, 8}), tree, 1e-7);
  EXPECT_LT(times.transfer(bytes, {2, 1}), times.transfer(bytes, {2, 8}));
  // What a link takes to start is paid once, whatever the algorithm.
  double sum = times.allReduce(bytes, {8, 1}), one = times.transfer(1, {2, 1});
  system.mutable_node_link()->set_start(1e-3);
  EXPECT_NEAR(times.allReduce(bytes, {8, 1}) - sum, 1e-3, 1e-9);
  EXPECT_NEAR(times.transfer(1, {2, 1}) - one, 1e-3, 1e-9);
}

TEST(OpTimes, GemmsReachLessWhenThin) {
  cluster::System system = *cluster::systemNamed("h100");
  cluster::OpTimes times(system, 16);
  double wide = times.gemm({8192, 8192, 8192}) / 8192;
  double thin = times.gemm({8192, 128, 8192}) / 128;
  EXPECT_GT(thin, 1.5 * wide);
  double peak = 2.0 * 8192 * 8192 * 8192 / system.device().peak_16bit();
  EXPECT_GT(times.gemm({8192, 8192, 8192}), peak);
}

/// 1F1B played directly is the generator's schedule, simulated, also where
/// microbatches are so many that some are left out.
TEST(PipelineTimes, AreTheSimulators) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> cost(1, 1000);
  for (int64_t ranks : {1, 2, 3, 4, 7})
    for (int64_t chunks : {1, 2, 3})
      for (int64_t rounds : {1, 2, 5, 20, 45}) {
        if (ranks == 1 && chunks > 1)
          continue;
        bool rest = chunks == 1 && rounds > 5; // No whole group.
        PipelineShape shape{ranks, chunks, ranks * rounds + (rest ? 1 : 0)};
        ScheduleProblem problem = uniformProblem(shape);
        problem.transfer = std::floor(cost(random) / 10.0);
        for (ChunkCost &chunk : problem.costs)
          chunk = {double(cost(random)), double(cost(random)), 0, cost(random),
                   0};
        std::string name = chunks == 1 ? "1f1b" : "interleaved-1f1b";
        ScheduleOrders orders;
        StatusOr<PipelineEnds> ends = pipelineEnds(name, problem, orders);
        ASSERT_TRUE(ends.ok()) << ends.status().message();
        StatusOr<Schedule> schedule = generateSchedule(name, problem);
        ASSERT_TRUE(schedule.ok()) << schedule.status().message();
        StatusOr<Timeline> timeline = simulateSchedule(problem, *schedule);
        ASSERT_TRUE(timeline.ok());
        for (size_t rank = 0; rank < size_t(ranks); ++rank) {
          EXPECT_EQ((*ends)[rank], timeline->ranks[rank].times.back().end);
        }
      }
}

/// A program is cut before its stages are timed: `list` is priced as what is
/// compiled then, not as the shorter one that it would be with these times.
TEST(PipelineTimes, AreThoseOfTheCompiledSchedule) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> cost(1, 1000);
  int shorter = 0;
  for (int trial = 0; trial < 20; ++trial) {
    ScheduleProblem problem = uniformProblem({3, 2, 5});
    for (ChunkCost &chunk : problem.costs)
      chunk = {double(cost(random)), double(cost(random)), 0, 1, 0};
    auto endOf = [&](const ScheduleProblem &known) {
      Schedule schedule = *generateSchedule("list", known);
      return simulateSchedule(problem, schedule)->makespan;
    };
    ScheduleOrders orders;
    StatusOr<PipelineEnds> ends = pipelineEnds("list", problem, orders);
    ASSERT_TRUE(ends.ok()) << ends.status().message();
    double end = *std::max_element(ends->begin(), ends->end());
    EXPECT_EQ(end, endOf(uniformProblem(problem.shape)));
    shorter += endOf(problem) < end;
  }
  EXPECT_GT(shorter, 10);
  EXPECT_FALSE(scheduleTraits("list")->splitsWeights);
}

/// What is known by name is the same for prices and for passes, in short or
/// not.
TEST(ScheduleTraits, HaveOneTable) {
  for (std::string_view name : scheduleNames()) {
    ASSERT_TRUE(scheduleTraits(name)) << name;
    EXPECT_EQ(scheduleTraits(name)->name, name);
    EXPECT_EQ(splitsWeight(name), scheduleTraits(name)->splitsWeights) << name;
  }
  EXPECT_EQ(scheduleTraits("interleaved"), scheduleTraits("interleaved-1f1b"));
  EXPECT_EQ(scheduleTraits("interleave"), nullptr);
  EXPECT_EQ(scheduleTraits("zb-v")->placement, Placement::VShaped);
}

TEST(StepCost, ItemsSumToTheMakespan) {
  CostProblem problem = problemOn("a100", 64, gpt(24, 4096, 32), 64);
  ParallelPlan plan = *parsePlan("pp=4,dp=4,tp=4,v=2,mbs=2,recompute=full");
  StatusOr<StepCost> cost = priceStep(problem, plan);
  ASSERT_TRUE(cost.ok()) << cost.status().message();
  StageCosts stages = stageCosts(problem, plan, partWork(problem, plan));
  ScheduleOrders orders;
  auto ends = *pipelineEnds("interleaved-1f1b", stages.schedule, orders);
  int64_t passes = cost->nanoseconds() - (*cost)[TimeItem::Data] -
                   (*cost)[TimeItem::Update] - (*cost)[TimeItem::Outside];
  EXPECT_EQ(passes, int64_t(ends[size_t(cost->busiest)]));
  for (size_t item = 0; item < kTimeItems; ++item)
    EXPECT_GE(cost->items[item], -int64_t(kTimeItems)) << item;
  EXPECT_GT((*cost)[TimeItem::Recompute], 0);
}

/// The bound is what search prunes with: it may never exceed the price.
TEST(StepCost, BoundsAreAdmissible) {
  CostProblem problem = problemOn("h100", 64, gpt(24, 4096, 32), 64);
  for (const char *text :
       {"pp=1,dp=8,tp=8,mbs=2", "pp=8,dp=8,tp=1,mbs=1",
        "pp=4,dp=8,tp=2,v=3,mbs=1,zero=1",
        "pp=4,dp=8,tp=2,mbs=2,schedule=zb-h1",
        "pp=4,dp=8,tp=2,v=2,mbs=2,schedule=zb-v,zero=2",
        "pp=8,dp=4,tp=2,mbs=1,layers=2/3/3/4/4/3/3/2,recompute=full"}) {
    StatusOr<ParallelPlan> plan = parsePlan(text);
    ASSERT_TRUE(plan.ok());
    StageCosts stages = stageCosts(problem, *plan, partWork(problem, *plan));
    StatusOr<StepCost> cost = priceStep(problem, *plan);
    ASSERT_TRUE(cost.ok()) << text << ": " << cost.status().message();
    PriceBound bound = priceBound(problem, *plan, stages);
    EXPECT_LE(bound.nanoseconds, cost->nanoseconds()) << text;
    EXPECT_EQ(bound.bytes, cost->bytes()) << text;
    EXPECT_GT(bound.nanoseconds, cost->nanoseconds() / 2) << text;
  }
}

StepCost priceOf(const CostProblem &problem, const std::string &plan) {
  StatusOr<StepCost> cost = priceStep(problem, *parsePlan(plan));
  EXPECT_TRUE(cost.ok()) << plan << ": " << cost.status().message();
  return cost.ok() ? *cost : StepCost{{}, {{}}};
}

/// Four devices of two processors: all takes twice as long, and the items say
/// to what that goes.
TEST(StepCost, DevicesTakeTurns) {
  CostProblem problem = problemOn("h100", 4, gpt(12, 2048, 16), 16);
  problem.system.set_devices_per_node(4);
  StepCost alone = priceOf(problem, "dp=4,mbs=1");
  problem.system.set_devices_at_once(2);
  StepCost shared = priceOf(problem, "dp=4,mbs=1");
  int64_t outside = alone[TimeItem::Outside];
  EXPECT_NEAR(double(shared.nanoseconds() - outside),
              2 * double(alone.nanoseconds() - outside), kTimeItems);
  EXPECT_NEAR(double(shared[TimeItem::Shared]),
              double(alone.nanoseconds() - outside), kTimeItems);
  // The largest item takes what rounding would leave of a bubble below 0.
  EXPECT_NEAR(double(shared[TimeItem::Gemms]), double(alone[TimeItem::Gemms]),
              kTimeItems);
  EXPECT_EQ(alone[TimeItem::Shared], 0);
  problem.system.set_devices_at_once(4);
  EXPECT_EQ(priceOf(problem, "dp=4,mbs=1").items, alone.items);
}

/// Stages that wait leave the processors to others: less than twice as long.
TEST(StepCost, PipelinesTakeTurnsWhereTheyWait) {
  CostProblem problem = problemOn("h100", 4, gpt(12, 2048, 16), 8);
  problem.system.set_devices_per_node(4);
  for (const char *text : {"pp=4,mbs=2", "pp=2,dp=2,mbs=2", "pp=2,v=2,tp=2",
                           "pp=4,mbs=1,schedule=zb-h1"}) {
    problem.system.clear_devices_at_once();
    StepCost alone = priceOf(problem, text);
    problem.system.set_devices_at_once(2);
    StepCost shared = priceOf(problem, text);
    EXPECT_GT(shared.nanoseconds(), alone.nanoseconds()) << text;
    EXPECT_LT(shared.nanoseconds(), 1.9 * alone.nanoseconds()) << text;
    EXPECT_GT(shared[TimeItem::Shared], 0) << text;
    EXPECT_LT(shared[TimeItem::Bubble], alone[TimeItem::Bubble] * 2) << text;
    ParallelPlan plan = *parsePlan(text);
    StageCosts stages = stageCosts(problem, plan, partWork(problem, plan));
    PriceBound bound = priceBound(problem, plan, stages);
    EXPECT_LE(bound.nanoseconds, shared.nanoseconds()) << text;
    EXPECT_GT(bound.nanoseconds, shared.nanoseconds() * 3 / 5) << text;
  }
}

/// Ranks that share an expert gather and scatter in their group: rows in
/// published systems, tokens in compiled programs.
TEST(StepCost, ExpertGroupsGatherAndScatter) {
  CostProblem problem = problemOn("h100", 8, gpt(12, 2048, 16), 16);
  problem.model.experts = 8;
  problem.model.topK = 2;
  problem.model.expertFfn = 2048;
  problem.system.mutable_software()->set_expert_overlap(0);
  cluster::OpTimes times(problem.system, problem.step.elementBits);
  ParallelPlan plan = *parsePlan("dp=2,tp=4,sp=1,ep=4,etp=2,mbs=1");
  // A rank's quarter of 2048 tokens, to two experts each, of 2 bytes.
  double token = 512 * 2048.0 * 2, rows = 2 * token;
  auto exchanged = [&] {
    return partWork(problem, plan).layers.back().forward.expert;
  };
  EXPECT_NEAR(exchanged(),
              2 * times.dispatch(token, 2, {4, 2}) +
                  2 * times.allGather(2 * rows, {2, 1}),
              1e-12);
  problem.compiled = true;
  EXPECT_NEAR(exchanged(),
              2 * times.dispatch(2 * rows, 1, {4, 2}) +
                  2 * times.allGather(2 * token, {2, 1}),
              1e-12);
  plan.expertTp = 1;
  EXPECT_NEAR(exchanged(), 2 * times.dispatch(rows, 1, {4, 1}), 1e-12);
}

/// A program does not make a layer's last GEMM again, of three.
TEST(StepCost, ProgramsMakeAgainWhatIsNeeded) {
  CostProblem problem = problemOn("h100", 1, gpt(12, 4096, 32), 16);
  problem.system.mutable_software()->set_gemm_ramp(0);
  ParallelPlan plan = *parsePlan("mbs=2,recompute=full");
  PassWork published = partWork(problem, plan).layers.front();
  problem.compiled = true;
  PassWork compiled = partWork(problem, plan).layers.front();
  EXPECT_EQ(published.again.gemms, published.forward.gemms);
  // Of 12 h^2 parameters 4 h^2.
  EXPECT_NEAR(compiled.again.gemms / published.again.gemms, 2.0 / 3, 1e-9);
  EXPECT_EQ(compiled.again.attention, published.again.attention);
  EXPECT_EQ(compiled.forward.gemms, published.forward.gemms);
}

TEST(StepCost, ZeroShardsWhatItSays) {
  CostProblem problem = problemOn("h100", 8, gpt(12, 2048, 16), 64);
  double count = problem.model.parameters();
  auto state = [&](int64_t zero) {
    ParallelPlan plan;
    plan.dp = 8;
    plan.zero = zero;
    RankMemory memory = priceStep(problem, plan)->memory[0];
    return double(memory[MemoryItem::Parameters] +
                  memory[MemoryItem::Gradients] +
                  memory[MemoryItem::Optimizer]);
  };
  EXPECT_NEAR(state(0), 18 * count, 10);
  EXPECT_NEAR(state(1), (6 + 12.0 / 8) * count, 10);
  EXPECT_NEAR(state(2), (2 + 16.0 / 8) * count, 10);
  EXPECT_NEAR(state(3), 18.0 / 8 * count, 10);
}

int64_t allBytes(const RankMemory &memory) {
  return memory.total() + memory.hostTotal();
}

/// What is offloaded is on the host, in all its bytes; its way there takes what
/// the link says, less what runs beside it.
TEST(StepCost, OffloadsOptimizerState) {
  CostProblem problem = problemOn("h100", 8, gpt(24, 4096, 32), 32);
  const std::string plan = "pp=2,dp=2,tp=2,mbs=2,zero=1";
  StepCost kept = priceOf(problem, plan);
  StepCost away = priceOf(problem, plan + ",offload=optimizer");
  for (size_t rank = 0; rank < 2; ++rank) {
    const RankMemory &before = kept.memory[rank], &after = away.memory[rank];
    int64_t state = before[MemoryItem::Optimizer];
    EXPECT_EQ(after.hostTotal(), state);
    EXPECT_EQ(after.host[size_t(MemoryItem::Optimizer)], state);
    EXPECT_EQ(after[MemoryItem::Optimizer], 0);
    // Three layers of the rank's twelve are on the device during the update.
    EXPECT_EQ(allBytes(after) - allBytes(before), state / 4);
  }
  const cluster::Link &link = problem.system.host_link();
  auto rank = size_t(away.busiest);
  double state = double(away.memory[rank].hostTotal());
  double seconds = state / (link.bandwidth() * link.efficiency()) +
                   link.latency() - double(kept[TimeItem::Update]) * 1e-9;
  ASSERT_EQ(kept.busiest, away.busiest);
  EXPECT_NEAR(double(away[TimeItem::Offload]), seconds * 1e9, 2);
  EXPECT_EQ(away.nanoseconds() - kept.nanoseconds(), away[TimeItem::Offload]);
}

TEST(StepCost, OffloadsActivations) {
  CostProblem problem = problemOn("h100", 8, gpt(24, 4096, 32), 32);
  const std::string plan = "pp=2,dp=2,tp=2,mbs=2";
  StepCost kept = priceOf(problem, plan);
  StepCost away = priceOf(problem, plan + ",offload=activations");
  for (size_t rank = 0; rank < 2; ++rank) {
    int64_t live = kept.memory[rank][MemoryItem::Activations];
    EXPECT_EQ(away.memory[rank].hostTotal(), live);
    // Of a microbatch's twelve layers three; there are 2 - rank microbatches.
    int64_t layer = live / (2 - int64_t(rank)) / 12;
    EXPECT_NEAR(
        double(allBytes(away.memory[rank]) - allBytes(kept.memory[rank])),
        3 * double(layer), 24);
  }
  // As fast a link as one likes hides all but its latency; a slow one is what
  // all passes wait for.
  problem.system.mutable_host_link()->set_latency(0);
  problem.system.mutable_host_link()->set_bandwidth(1e15);
  StepCost fast = priceOf(problem, plan + ",offload=activations");
  EXPECT_EQ(fast.nanoseconds(), kept.nanoseconds());
  EXPECT_EQ(fast[TimeItem::Offload], 0);
  problem.system.mutable_host_link()->set_bandwidth(1e8);
  StepCost slow = priceOf(problem, plan + ",offload=activations");
  double chunk = double(kept.memory[0][MemoryItem::Activations]) / 2;
  double pass = chunk / (1e8 * problem.system.host_link().efficiency());
  // Eight microbatches, one way in and one way out of the other rank.
  EXPECT_NEAR(slow.seconds() / (2 * 9 * pass), 1, 0.02);
}

TEST(StepCost, OffloadingIsCheckedAndBounded) {
  CostProblem problem = problemOn("h100", 8, gpt(24, 4096, 32), 32);
  for (const char *text :
       {"pp=2,dp=2,tp=2,offload=all", "dp=8,zero=2,offload=optimizer",
        "pp=4,dp=2,v=3,mbs=2,offload=activations,recompute=full"}) {
    ParallelPlan plan = *parsePlan(text);
    StepCost cost = priceOf(problem, text);
    PriceBound bound = priceBound(
        problem, plan, stageCosts(problem, plan, partWork(problem, plan)));
    EXPECT_LE(bound.nanoseconds, cost.nanoseconds()) << text;
    EXPECT_LE(bound.bytes, cost.bytes()) << text;
  }
  auto why = [&](const char *text) {
    return priceStep(problem, *parsePlan(text)).status().message();
  };
  EXPECT_THAT(why("pp=2,dp=4,schedule=zb-h1,offload=all"),
              HasSubstr("splits the backward"));
  problem.system.clear_host_link();
  EXPECT_THAT(why("dp=8,offload=optimizer"),
              HasSubstr("the description of h100 has no host_link"));
  EXPECT_THAT(parsePlan("offload=some").status().message(),
              HasSubstr("write none, optimizer, activations or all"));
}

TEST(ParallelPlan, ChecksSayWhatDoesNotDivide) {
  ModelShape model = gpt(24, 4096, 32);
  StepShape step{2048, 64};
  auto message = [&](const char *text) {
    return checkPlan(*parsePlan(text), model, step).message();
  };
  EXPECT_EQ(message("tp=8,pp=4"), "");
  EXPECT_THAT(message("tp=5"), HasSubstr("S22: plan.tensor_parallel is 5, "
                                         "which does not divide model.heads"));
  EXPECT_THAT(message("dp=3"), HasSubstr("S14: training.global_batch_size"));
  EXPECT_THAT(message("schedule=best"), HasSubstr("Q10: there is no schedule"));
  // What programs can have and prices do not know.
  EXPECT_THAT(message("recompute=auto"), HasSubstr("is not priced"));
  EXPECT_THAT(message("recompute=full,recompute_block=1"),
              HasSubstr("is not priced"));
  EXPECT_THAT(message("pp=2,balance_cost=1"), HasSubstr("write layers="));
  EXPECT_THAT(message("dp=2,shardings=s.txt"), HasSubstr("is not priced"));
}

TEST(Systems, AllShippedAreSound) {
  EXPECT_THAT(cluster::systemNames(),
              testing::IsSupersetOf({"a100", "b200", "b300", "gb200", "gb300",
                                     "h100", "h200", "v100"}));
  for (const std::string &name : cluster::systemNames()) {
    StatusOr<cluster::System> system = cluster::systemNamed(name);
    ASSERT_TRUE(system.ok()) << system.status().message();
    EXPECT_EQ(system->name(), name);
  }
}

TEST(Systems, SoftwareOfTracesIsChecked) {
  std::string text;
  cluster::System a100 = *cluster::systemNamed("a100");
  a100.mutable_traced()->set_unaligned_gemm(2);
  google::protobuf::TextFormat::PrintToString(a100, &text);
  EXPECT_THAT(cluster::parseSystem("s", text).status().message(),
              HasSubstr("s: traced: software.unaligned_gemm is 2"));
}

/// Older software is what it says over the newest, up to its release.
TEST(Systems, HaveTheSoftwareOfARelease) {
  cluster::System system = *cluster::systemNamed("gb200");
  ASSERT_EQ(system.earlier_size(), 2);
  EXPECT_EQ(system.earlier(0).before(), "26");
  EXPECT_EQ(system.earlier(1).before(), "26.05");
  auto launches = [&](const char *release) {
    return cluster::systemAtRelease(system, release)
        .software()
        .expert_launches();
  };
  double oldest = system.earlier(0).software().expert_launches(),
         older = system.earlier(1).software().expert_launches(),
         newest = system.software().expert_launches();
  EXPECT_EQ(launches("25.11"), oldest);
  EXPECT_EQ(launches("26.02"), older);
  EXPECT_EQ(launches("26.04.01"), older);
  EXPECT_EQ(launches("26.05"), newest);
  EXPECT_EQ(launches(""), newest);
  // What an older one does not say is the newest's.
  EXPECT_EQ(cluster::systemAtRelease(system, "25.11").software().memory(),
            system.software().memory());
  cluster::EarlierSoftware *last = system.add_earlier();
  last->set_before("26");
  EXPECT_THAT(
      cluster::parseSystem("s", system.DebugString()).status().message(),
      HasSubstr("ascending order"));
  last->set_before("27");
  last->mutable_software()->set_gemm(2);
  EXPECT_THAT(
      cluster::parseSystem("s", system.DebugString()).status().message(),
      HasSubstr("before 27: software.gemm is 2"));
}

TEST(Systems, BadOnesAreRefused) {
  auto message = [](const char *text) {
    return cluster::readCluster(text).status().message();
  };
  EXPECT_THAT(message("h100"), HasSubstr("as in h100:1024"));
  EXPECT_THAT(message("h100:0"), HasSubstr("from 1 to 1048576"));
  EXPECT_THAT(message("h100:9999999999"), HasSubstr("from 1 to 1048576"));
  EXPECT_THAT(message("h900:8"), HasSubstr("no system is called 'h900'"));
  EXPECT_THAT(message("./no-such-file:8"), HasSubstr("no-such-file"));
  EXPECT_THAT(cluster::parseSystem("s", "device { memory_bytes: -3 }")
                  .status()
                  .message(),
              HasSubstr("device.memory_bytes is -3"));
  EXPECT_THAT(cluster::parseSystem("s", "devise {").status().message(),
              HasSubstr("s:1:"));
  std::string twice = "spread { one_node: 0.1 many_nodes: nan }";
  EXPECT_FALSE(cluster::parseSystem("s", twice).ok());
  // Who describes multiprocessors describes all that kernels are priced by.
  auto changed = [](auto change) {
    cluster::System system = *cluster::systemNamed("h200");
    change(system);
    return cluster::parseSystem("s", system.DebugString()).status().message();
  };
  EXPECT_EQ(changed([](auto &) {}), "");
  EXPECT_THAT(changed([](auto &system) { system.clear_kernels(); }),
              HasSubstr("kernels.gemm is 0"));
  EXPECT_THAT(changed([](auto &system) {
                system.mutable_device()->clear_multiprocessors();
              }),
              HasSubstr("device.multiprocessors.architecture is ''"));
  EXPECT_THAT(changed([](auto &system) {
                system.mutable_device()->set_memory_latency(0);
              }),
              HasSubstr("device.memory_latency is 0"));
  EXPECT_EQ(changed([](auto &system) {
              system.clear_kernels();
              system.mutable_device()->clear_multiprocessors();
            }),
            "");
}

/// Published systems scatter gradients beside computation, once a step;
/// Hocket's programs with ZeRO-2 and -3 in every microbatch, each matrix by
/// itself, and with ZeRO-3 gather each so: with many ranks the rings' latency
/// is most of it.
TEST(StepCost, CompiledShardsAreScatteredByTheMatrix) {
  CostProblem problem = problemOn("h100", 1024, gpt(96, 12288, 96), 1536);
  auto data = [&](bool compiled, const std::string &text) {
    problem.compiled = compiled;
    return double((*priceStep(problem, *parsePlan(text)))[TimeItem::Data]) *
           1e-9;
  };
  auto more = [&](const std::string &text) {
    return data(true, text) - data(false, text);
  };
  double ring = problem.system.network().latency(), matrices = 96 * 6;
  EXPECT_GT(more("dp=512,tp=2,mbs=3,zero=3,sp=1"), 511 * matrices * ring);
  EXPECT_EQ(more("dp=512,tp=2,mbs=3,zero=1,sp=1"), 0);
  EXPECT_EQ(more("dp=512,tp=2,mbs=3,zero=2,sp=1"), 0);
  // Eight microbatches against one sum of gradients, of which most is hidden.
  double two = data(true, "pp=4,dp=64,tp=4,mbs=3,zero=2,sp=1");
  EXPECT_GT(two, 8 * matrices / 4 * 63 * ring);
  EXPECT_GT(two, 8 * data(true, "pp=4,dp=64,tp=4,mbs=3,zero=1,sp=1"));
}

TEST(StepCost, CompiledLayersShowTheirTensorCollectives) {
  CostProblem problem = problemOn("h100", 64, gpt(32, 4096, 32), 256);
  auto tensor = [&](bool compiled) {
    problem.compiled = compiled;
    ParallelPlan plan = *parsePlan("dp=16,tp=4,mbs=2,zero=1,sp=1");
    return double((*priceStep(problem, plan))[TimeItem::Tensor]);
  };
  double hidden = problem.system.software().tensor_overlap();
  EXPECT_GT(hidden, 0.5);
  EXPECT_NEAR(tensor(false) / tensor(true), 1 - hidden, 1e-3);
}

} // namespace
} // namespace hocket::planning
