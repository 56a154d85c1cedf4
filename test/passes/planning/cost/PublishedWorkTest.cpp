//===- PublishedWorkTest.cpp - What published models and systems do -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/passes/planning/cost/CostProblems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace hocket::planning {
namespace {

/// A Mamba-2 block's numbers, term by term, of Nemotron-H 8B's sizes (arXiv
/// 2504.03624) with its 128 heads of 64, states of 128 and 8 groups.
TEST(StateSpace, CountsMatricesAndScan) {
  StateSpace block{1, 128, 64, 128, 8};
  double h = 4096, inner = 8192, both = 2 * 8 * 128;
  double in = h * (2 * inner + both + 128), out = inner * h;
  double convolution = (4 + 1) * (inner + both), heads = 3 * 128;
  EXPECT_DOUBLE_EQ(block.parameters(4096),
                   in + out + convolution + heads + inner);
  // In a chunk of 128: scores of 8 groups, and these times x; the state made of
  // B and x, and read by C.
  double scores = 2.0 * 128 * 8 * 128, values = 2.0 * 128 * inner,
         states = 2 * inner * 128, read = 2 * inner * 128;
  EXPECT_DOUBLE_EQ(block.scanFlops(), scores + values + states + read);
  // A model of nothing else: six FLOPs a number of its matrices, and 21 inner
  // state, as Megatron-LM counts.
  ModelShape model = gpt(4, 4096, 32);
  StepShape step{2048, 2};
  double without = modelFlops(model, step);
  model.stateSpace = block;
  model.stateSpace.blocks = 4;
  EXPECT_NEAR(modelFlops(model, step) - without,
              step.tokens() * 4 * (6 * (in + out) + 21 * inner * 128),
              1e-9 * without);
}

/// A hybrid layer's time is its blocks', in the mean: one attention block in
/// two layers, and a Mamba-2 block in each.
TEST(StateSpace, LayersArePricedByTheirBlocks) {
  CostProblem problem = problemOn("gb200", 8, gpt(4, 4096, 32), 64);
  ParallelPlan plan = *parsePlan("dp=4,tp=2,mbs=2,sp=1");
  auto layer = [&] { return partWork(problem, plan).layers.front(); };
  PassWork attention = layer();
  problem.model.attentionBlocks = 2;
  PassWork half = layer();
  problem.model.stateSpace = {4, 128, 64, 128, 8};
  PassWork hybrid = layer();
  cluster::OpTimes times(problem.system, 16);
  // Per rank 4096 tokens, 64 heads and four groups.
  double in = times.gemm({4096, 2 * 4096 + 1024 + 64, 4096}),
         out = times.gemm({4096, 4096, 4096});
  EXPECT_NEAR(hybrid.forward.gemms - half.forward.gemms, in + out, 1e-12);
  EXPECT_NEAR(hybrid.backward.gemms - half.backward.gemms, 2 * (in + out),
              1e-12);
  // Attention's two GEMMs, of which half of the layers have none.
  double qkv = times.gemm({4096, 3 * 2048, 4096}),
         projection = times.gemm({4096, 4096, 2048});
  EXPECT_NEAR(attention.forward.gemms - half.forward.gemms,
              (qkv + projection) / 2, 1e-12);
  EXPECT_NEAR(half.forward.attention * 2, attention.forward.attention, 1e-12);
  // Bytes of a microbatch's states alone: of 64 heads and 32 chunks, 64 x 128
  // numbers of 32 bits, written, passed on and read.
  double states = 4.0 * 4 * 32 * 64 * 64 * 128;
  EXPECT_GT(hybrid.forward.attention - half.forward.attention,
            times.memory(states));
}

/// Latent attention has the parameters of DeepSeek-V3's report: 187 million a
/// layer, where plain attention with its heads would have 4 h n d.
TEST(LatentAttention, HasItsMatricesAndTime) {
  ModelShape model = gpt(4, 7168, 128);
  model.headDim = 128;
  double plain = model.attentionParameters();
  EXPECT_DOUBLE_EQ(plain, 4.0 * 7168 * 128 * 128);
  model.latent = {1536, 512, 128, 64, 128};
  double h = 7168;
  EXPECT_DOUBLE_EQ(model.attentionParameters(),
                   h * 1536 + 1536.0 * 128 * 192 + h * (512 + 64) +
                       512.0 * 128 * 256 + 128 * 128 * h);
  EXPECT_NEAR(model.attentionParameters(), 187.1e6, 0.1e6);
  // Queries and keys of 192 numbers, values of 128: 160 in the mean.
  EXPECT_DOUBLE_EQ(model.scoreWidth(), 128.0 * 160);
  CostProblem problem = problemOn("gb200", 8, model, 64);
  ParallelPlan plan = *parsePlan("dp=8,mbs=2");
  PassWork latent = partWork(problem, plan).layers.front();
  problem.model.latent = {};
  PassWork whole = partWork(problem, plan).layers.front();
  EXPECT_LT(latent.forward.gemms, whole.forward.gemms);
  EXPECT_NEAR(latent.forward.attention / whole.forward.attention, 160.0 / 128,
              1e-9);
}

/// Half of the layers see a window: their scores are of that.
TEST(ModelShape, WindowsOfSomeLayers) {
  ModelShape model = gpt(4, 4096, 32);
  StepShape step{2048, 2};
  double all = modelFlops(model, step);
  model.window = 128;
  double windows = modelFlops(model, step);
  model.windowBlocks = 2;
  EXPECT_NEAR(modelFlops(model, step), (all + windows) / 2, 1e-9 * all);
  CostProblem problem = problemOn("h100", 8, model, 64);
  ParallelPlan plan = *parsePlan("dp=8,mbs=1");
  auto forward = [&](int64_t window, int64_t blocks) {
    problem.model.window = window;
    problem.model.windowBlocks = blocks;
    return partWork(problem, plan).layers.front().forward.attention;
  };
  EXPECT_NEAR(forward(128, 2), (forward(0, 0) + forward(128, 0)) / 2, 1e-12);
}

/// A token goes once to a rank that several of its experts are on: of 8 ranks
/// and 8 choices to 8 (1 - (7/8)^8) = 5.25 in the mean, of which 7/8 are
/// others.
TEST(OpTimes, DispatchesOnceToEachRank) {
  cluster::System system = *cluster::systemNamed("gb200");
  cluster::RankGroup group{8, 1};
  const cluster::Link &link = system.node_link();
  auto seconds = [&](bool once) {
    system.mutable_software()->set_dispatch_once(once);
    return cluster::OpTimes(system, 16).dispatch(1e9, 8, group) -
           link.latency();
  };
  double speed = link.bandwidth() * link.efficiency();
  EXPECT_NEAR(seconds(false), 1e9 * 8 * 7 / 8 / speed, 1e-12);
  EXPECT_NEAR(seconds(true), 1e9 * 7 * (1 - std::pow(7.0 / 8, 8)) / speed,
              1e-12);
  // Of two choices and 64 ranks hardly any meet.
  group.size = 64;
  system.mutable_software()->set_dispatch_once(true);
  EXPECT_NEAR(cluster::OpTimes(system, 16).dispatch(1e9, 2, group) /
                  (1e9 * 63 * 2 / 64 / speed + link.latency()),
              1, 0.01);
}

/// All-to-all sends every copy over the network; with dispatch_once a node gets
/// a token once. 32 ranks are four nodes, of which three are others.
TEST(OpTimes, TokensCrossTheNetworkOnceOrForEachExpert) {
  cluster::System system = *cluster::systemNamed("h100");
  cluster::RankGroup group{32, 1};
  const cluster::Link &link = system.network();
  auto crossings = [&](bool once, double share) {
    system.mutable_software()->set_dispatch_once(once);
    double seconds =
        cluster::OpTimes(system, 16).dispatch(1e9, 8, group, share);
    return (seconds - link.latency()) * link.bandwidth() * link.efficiency() /
           1e9;
  };
  EXPECT_NEAR(crossings(false, 1), 8 * 3.0 / 4, 1e-9);
  EXPECT_NEAR(crossings(true, 1), 3 * (1 - std::pow(0.75, 8)), 1e-9);
  // A token that goes to two of the four nodes alone.
  EXPECT_NEAR(crossings(true, 0.5), 0.75 * 2 * (1 - std::pow(0.5, 8)), 1e-9);
  EXPECT_NEAR(crossings(false, 0.5), 8 * 3.0 / 4, 1e-9);
}

/// DeepSeek-V3's tokens go to experts of four of eight groups, which are its
/// nodes where 64 ranks share the experts: of 7 * (1 - (7/8)^8) = 4.59
/// crossings 7/8 * 4 (1 - (3/4)^8) = 3.15 are left.
TEST(StepCost, GroupsOfExpertsLimitNodes) {
  CostProblem problem = problemOn("h100", 64, gpt(4, 2048, 16), 64);
  ModelShape &model = problem.model;
  model.experts = 256;
  model.topK = 8;
  model.expertFfn = 1024;
  problem.system.mutable_software()->set_dispatch_once(true);
  problem.system.mutable_software()->set_expert_overlap(0);
  problem.system.mutable_network()->set_latency(0);
  ParallelPlan plan = *parsePlan("dp=64,ep=64,mbs=1");
  auto expert = [&] {
    return partWork(problem, plan).layers.back().forward.expert;
  };
  double anywhere = expert();
  model.expertGroups = 8;
  model.topGroups = 4;
  const cluster::Link &link = problem.system.network();
  double row = 2048 * 2048 * 2 / (link.bandwidth() * link.efficiency());
  EXPECT_NEAR(anywhere, 2 * row * 7 * (1 - std::pow(7.0 / 8, 8)), 1e-9);
  EXPECT_NEAR(expert(), 2 * row * 3.5 * (1 - std::pow(0.75, 8)), 1e-9);
}

/// What published systems do beside the GEMMs of 8 bits and of experts, each by
/// its own figure; compiled programs do none of it.
TEST(StepCost, PublishedExpertsCostWhatIsSaid) {
  CostProblem problem = problemOn("gb200", 8, gpt(4, 2048, 16), 64);
  ModelShape &model = problem.model;
  model.experts = 16;
  model.topK = 2;
  model.expertFfn = 1024;
  problem.step.elementBits = 8;
  cluster::Software &soft = *problem.system.mutable_software();
  soft.set_quantize_bytes(0);
  soft.set_expert_moves(0);
  soft.set_expert_launches(0);
  soft.set_expert_gemm(1);
  ParallelPlan plan = *parsePlan("dp=8,ep=4,mbs=1");
  auto work = [&] { return partWork(problem, plan).layers.back(); };
  PassWork none = work();
  cluster::OpTimes times(problem.system, 8);
  double rows = 2048 * 2; // Of a rank, to four experts of its own.
  soft.set_expert_moves(4);
  PassWork moves = work();
  EXPECT_NEAR(moves.forward.memory - none.forward.memory,
              times.memory(4 * rows * 2048 * 2), 1e-12);
  EXPECT_NEAR(moves.backward.memory - none.backward.memory,
              times.memory(6 * rows * 2048 * 2), 1e-12);
  soft.set_expert_moves(0);
  soft.set_expert_launches(3);
  PassWork launched = work();
  // Three for each of four experts, of two matrices, of a GEMM and two kernels
  // that quantize; twice that backward.
  double each = soft.kernel_seconds();
  EXPECT_NEAR(launched.forward.gaps - none.forward.gaps, 72 * each, 1e-12);
  EXPECT_NEAR(launched.backward.gaps - none.backward.gaps, 144 * each, 1e-12);
  // In 16 bits GEMMs alone, and nothing quantizes their inputs or gradients:
  // of attention's two and of experts' two.
  problem.step.elementBits = 16;
  Work wide = work().forward, wideBackward = work().backward;
  EXPECT_NEAR(launched.forward.gaps - wide.gaps, (48 + 8) * each, 1e-12);
  EXPECT_NEAR(launched.backward.gaps - wideBackward.gaps, (96 + 8) * each,
              1e-12);
  problem.step.elementBits = 8;
  soft.set_expert_launches(0);
  soft.set_expert_gemm(0.5);
  double experts = times.gemm({rows / 4, 1024, 2048, 4}) +
                   times.gemm({rows / 4, 2048, 1024, 4});
  EXPECT_NEAR(work().forward.gemms - none.forward.gemms, experts, 1e-12);
  soft.set_expert_gemm(1);
  soft.set_quantize_bytes(4);
  // The inputs of attention's two GEMMs and of experts' two; the router is
  // wide.
  double inputs = 2048 * (2048.0 + 2048) + rows * (2048 + 1024);
  EXPECT_NEAR(work().forward.memory - none.forward.memory,
              times.memory(4 * inputs), 1e-12);
  problem.compiled = true;
  Work compiled = work().forward;
  soft.set_expert_moves(9);
  soft.set_expert_launches(9);
  soft.set_expert_gemm(0.1);
  soft.set_quantize_bytes(9);
  soft.set_expert_host_seconds(1);
  EXPECT_EQ(work().forward.device(), compiled.device());
  EXPECT_EQ(work().forward.host, compiled.host);
}

/// A part that is timed by itself takes what the host or the device takes
/// longer, and its sums; together with another, the host may catch up.
TEST(Work, PartsTimedApartMakeUpForNothing) {
  Work busy, waiting;
  busy.gemms = 5, busy.host = 2, busy.tensor = 1;
  waiting.gemms = 1, waiting.host = 3, waiting.tensor = 1;
  Work both = busy;
  both += waiting;
  EXPECT_EQ(both.seconds(), 8);
  busy.waitForHost(), waiting.waitForHost();
  EXPECT_EQ(busy.seconds(), 6);
  EXPECT_EQ(waiting.seconds(), 4);
  busy += waiting;
  EXPECT_EQ(busy.seconds(), 10);
}

/// Of published systems alone, in every part.
TEST(StepCost, TracesTimePartsApart) {
  CostProblem problem = problemOn("a100", 8, gpt(4, 2048, 16), 64);
  ParallelPlan plan = *parsePlan("dp=1,tp=8,mbs=1");
  auto hosts = [&] {
    PartWork parts = partWork(problem, plan);
    return std::tuple(parts.layers[0].forward.host, parts.input.backward.host,
                      parts.output.forward.host);
  };
  auto [layer, input, output] = hosts();
  EXPECT_GT(std::min({layer, input, output}), 0);
  problem.system.mutable_software()->set_parts_apart(true);
  EXPECT_EQ(hosts(), std::tuple(0.0, 0.0, 0.0));
  problem.compiled = true;
  EXPECT_GT(std::get<0>(hosts()), 0);
}

/// GPT-2's 50257 tokens are slower than those of two ranks, 25128.
TEST(OpTimes, UnalignedGemmsReachLess) {
  cluster::System system = *cluster::systemNamed("a100");
  auto seconds = [&](double columns) {
    return cluster::OpTimes(system, 16).gemm({8192, columns, 4096});
  };
  double odd = seconds(50257), even = seconds(50257.0 / 2);
  system.mutable_software()->set_unaligned_gemm(0.25);
  EXPECT_NEAR(seconds(50257) / odd, 4, 1e-9);
  EXPECT_EQ(seconds(50257.0 / 2), even);
}

/// Of a layer's two sums backward only what is longer than the GEMM of the
/// weights' gradient beside it.
TEST(TensorParallelism, SumsRunBesideWeightsGradients) {
  CostProblem problem = problemOn("a100", 8, gpt(4, 2048, 16), 64);
  problem.step.sequence = 1024;
  ParallelPlan plan = *parsePlan("dp=1,tp=8,mbs=2");
  PassWork layer = partWork(problem, plan).layers[0];
  cluster::OpTimes times(problem.system, 16);
  double sum = times.allReduce(2.0 * 2048 * 2048, {8, 1});
  double query = times.gemm({2048, 3 * 256, 2048}),
         up = times.gemm({2048, 1024, 2048});
  ASSERT_GT(sum, up);
  EXPECT_NEAR(layer.forward.tensor, 2 * sum, 1e-12);
  EXPECT_NEAR(layer.backward.tensor, 2 * sum - query - up, 1e-12);
  problem.compiled = true;
  EXPECT_NEAR(partWork(problem, plan).layers[0].backward.tensor, 2 * sum,
              1e-12);
}

TEST(Loss, MovesItsBytesOfALogit) {
  CostProblem problem = problemOn("a100", 1, gpt(4, 2048, 16), 64);
  ParallelPlan plan = *parsePlan("mbs=2");
  auto moved = [&](double bytes) {
    problem.system.mutable_software()->set_loss_bytes(bytes);
    PassWork work = partWork(problem, plan).output;
    return std::pair(work.forward.memory, work.backward.memory);
  };
  auto [forward, backward] = moved(30);
  auto [more, moreBackward] = moved(60);
  double logits = 2.0 * double(problem.step.sequence) * 51200;
  cluster::OpTimes times(problem.system, 16);
  EXPECT_NEAR(more - forward, times.memory(20 * logits), 1e-9);
  EXPECT_NEAR(moreBackward - backward, times.memory(10 * logits), 1e-9);
}

/// Megatron-Core's module moe makes a block again with its exchanges.
TEST(Recompute, WholeExpertsAreMadeAgainWithTheirExchanges) {
  CostProblem problem = problemOn("h100", 16, gpt(4, 2048, 16), 64);
  problem.model.experts = 64;
  problem.model.topK = 8;
  problem.model.expertFfn = 768;
  ParallelPlan plan =
      *parsePlan("dp=16,ep=8,mbs=1,recompute=selective,modules=moe");
  Work some = partWork(problem, plan).layers.back().again;
  EXPECT_EQ(some.expert, 0);
  problem.system.mutable_software()->set_whole_experts_again(true);
  Work all = partWork(problem, plan).layers.back().again;
  PassWork layer = partWork(problem, plan).layers.back();
  EXPECT_NEAR(all.expert, layer.forward.expert, 1e-12);
  EXPECT_GT(all.gemms, some.gemms);
}

/// Megatron-Core's module mla_up_proj: heads are made again of the small
/// vectors, of DeepSeek-V3's sizes, whatever else is.
TEST(Recompute, HeadsOfLatentAttentionAreMadeAgain) {
  ModelShape model = gpt(4, 7168, 128);
  model.headDim = 128;
  model.latent = {1536, 512, 128, 64, 128};
  CostProblem problem = problemOn("h100", 16, model, 64);
  auto again = [&](const char *plan) {
    return partWork(problem, *parsePlan(plan)).layers.back().again;
  };
  const char *plain = "dp=8,tp=2,mbs=1,sp=1";
  const char *norms =
      "dp=8,tp=2,mbs=1,sp=1,recompute=selective,modules=layernorm";
  Work before = again(norms);
  EXPECT_EQ(again(plain).device(), 0);
  problem.system.mutable_software()->set_latent_again(true);
  cluster::OpTimes times(problem.system, 16);
  // Of 2,048 tokens and 64 heads of the rank.
  double gemms = times.gemm({2048, 64 * 192.0, 1536}) +
                 times.gemm({2048, 64 * 256.0, 512});
  EXPECT_NEAR(again(plain).gemms, gemms, 1e-12);
  EXPECT_NEAR(again(norms).gemms, gemms, 1e-12);
  EXPECT_NEAR(again(norms).memory - before.memory, again(plain).memory, 1e-12);
  EXPECT_EQ(again(plain).tensor, 0);
  problem.compiled = true;
  EXPECT_EQ(again(plain).device(), 0);
}

/// Bytes of the kernels that Megatron-Core limits GPT-OSS's activations and
/// adds its biases with, tensor by tensor, of two bytes an element but for sums
/// of weighted biases, of four; masks have one.
TEST(StepCost, LimitsAndBiasesOfExpertsHaveTheirKernels) {
  CostProblem problem = problemOn("h100", 8, gpt(4, 2048, 16), 64);
  ModelShape &model = problem.model;
  model.experts = 16;
  model.topK = 2;
  model.expertFfn = 1024;
  model.gated = true;
  ParallelPlan plan = *parsePlan("dp=8,ep=4,mbs=1");
  auto work = [&] { return partWork(problem, plan).layers.back(); };
  PassWork without = work();
  model.expertLimits = true;
  PassWork with = work();
  cluster::OpTimes times(problem.system, 16);
  double rows = 2048 * 2, halves = rows * 1024, made = rows * 2048;
  double limited = 2 * (2 + 2) + 2 * (2 + 2);
  // Masks of one comparison, and of two and their product; what they choose.
  double masked = (2 + 1) + (1 + 2 + 2) + 2 * (2 + 1) + (1 + 1 + 1) +
                  (1 + 2 + 2) + 2 * (2 + 2);
  double added = 4 + (2 + 4 + 4) + (4 + 4) + (4 + 2);
  double summed = (2 + 4) + (4 + 2) + (2 + 2) + 2 * (4 + 4 + 4);
  EXPECT_NEAR(with.forward.memory - without.forward.memory,
              times.memory(limited * halves + added * made), 1e-12);
  EXPECT_NEAR(with.backward.memory - without.backward.memory,
              times.memory(masked * halves + summed * made), 1e-12);
  // Of each of four experts two kernels, and four, two; backward five, and
  // seven, two.
  double each = times.software().kernel_seconds();
  EXPECT_NEAR(with.forward.gaps - without.forward.gaps, 14 * each, 1e-12);
  EXPECT_NEAR(with.backward.gaps - without.backward.gaps, 29 * each, 1e-12);
  // Activations that are made again are limited again.
  plan = *parsePlan("dp=8,ep=4,mbs=1,recompute=selective,modules=moe_act");
  Work limitedAgain = work().again;
  model.expertLimits = false;
  EXPECT_NEAR(limitedAgain.memory - work().again.memory,
              times.memory(limited * halves), 1e-12);
  // With GEMMs of all experts at once: a kernel for each bias.
  model.expertLimits = true;
  problem.system.mutable_software()->set_expert_launches(0);
  Work grouped = work().forward;
  model.expertLimits = false;
  EXPECT_NEAR(grouped.memory - work().forward.memory,
              times.memory((2 + 2) * (2 * halves + made)), 1e-12);
  model.expertLimits = true;
  problem.compiled = true;
  Work compiled = work().forward;
  model.expertLimits = false;
  EXPECT_EQ(compiled.device(), work().forward.device());
}

} // namespace
} // namespace hocket::planning
