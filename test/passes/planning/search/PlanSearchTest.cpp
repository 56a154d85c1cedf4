//===- PlanSearchTest.cpp - Search against exhaustive enumeration ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/PlanProblemText.h"
#include "runtime/cluster/Systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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
  problem.system = *cluster::systemNamed(system);
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

/// Memory of programs, in which experts and split backwards hold other bytes.
TEST(PlanSearch, FindsItForProgramsToo) {
  auto compiled = [](CostProblem problem) {
    problem.compiled = true;
    return problem;
  };
  expectOptimal(compiled(smallProblem("h100", 8, 8, 2048, 16)));
  expectOptimal(compiled(withExperts(smallProblem("h100", 8, 6, 2048, 16))));
  CostProblem many = withExperts(smallProblem("b200", 4, 6, 1024, 8));
  many.model.experts = 32;
  many.model.topK = 4;
  expectOptimal(compiled(many));
}

/// A program with as many logits as Gemma 3 has.
CostProblem withVocabulary(CostProblem problem) {
  problem.compiled = true;
  problem.model.vocab = 262144;
  return problem;
}

/// The loss goes in chunks where that is what it takes to fit, and nowhere
/// else.
TEST(PlanSearch, CutsALossThatDoesNotFit) {
  CostProblem problem = withVocabulary(smallProblem("h100", 4, 8, 1024, 16));
  problem.model.tied = false;
  expectOptimal(problem);
  problem.model.cappedLogits = true;
  expectOptimal(problem);
  expectOptimal(withVocabulary(smallProblem("a100", 8, 6, 2048, 16)));

  PlanSearch search(problem, {});
  SearchOptions options;
  options.top = 20;
  std::set<int64_t> counts;
  for (options.memory = int64_t(1) << 30; options.memory < int64_t(64) << 30;
       options.memory += options.memory / 4)
    for (const PricedPlan &found : search.run(options).best) {
      ParallelPlan plan = found.plan;
      counts.insert(plan.lossChunks);
      EXPECT_TRUE(checkPlan(plan, problem.model, problem.step).ok());
      for (plan.lossChunks /= 2; plan.lossChunks > 0; plan.lossChunks /= 2)
        EXPECT_GT(priceStep(problem, plan)->bytes(), options.memory)
            << printPlan(found.plan);
    }
  EXPECT_THAT(counts, testing::ElementsAre(1, 2, 4, 8));
}

/// What bounds are sound by: more chunks take no less time, and no more memory.
TEST(PlanSearch, ChunksOfALossAreNotFaster) {
  CostProblem problem = withVocabulary(smallProblem("h100", 4, 4, 1024, 8));
  size_t pairs = 0;
  for (const ParallelPlan &rough : roughPlans(problem, {}))
    for (const ParallelPlan &plan : finePlans(problem, rough, {})) {
      auto chunked = withMoreLossChunks(problem, plan, {});
      StatusOr<StepCost> whole = priceStep(problem, plan);
      if (!chunked || !whole.ok())
        continue;
      StatusOr<StepCost> parts = priceStep(problem, *chunked);
      ASSERT_TRUE(parts.ok()) << parts.status().message();
      EXPECT_GE(parts->nanoseconds(), whole->nanoseconds()) << printPlan(plan);
      EXPECT_LE(parts->bytes(), whole->bytes()) << printPlan(plan);
      ++pairs;
    }
  EXPECT_GT(pairs, 100u);
}

/// A number of chunks that is asked for is that of all plans.
TEST(PlanSearch, KeepsChunksThatAreAskedFor) {
  CostProblem problem = withVocabulary(smallProblem("h100", 4, 8, 1024, 16));
  auto kept = PlanConstraints::parse("loss_chunks=4");
  ASSERT_TRUE(kept.ok());
  SearchOptions options;
  options.top = 50;
  SearchResult found = PlanSearch(problem, *kept).run(options);
  SearchResult all = searchExhaustively(problem, *kept, options);
  ASSERT_EQ(found.best.size(), 50u);
  for (size_t i = 0; i < found.best.size(); ++i) {
    const ParallelPlan &plan = found.best[i].plan;
    EXPECT_EQ(plan.lossChunks, 4);
    EXPECT_TRUE(checkPlan(plan, problem.model, problem.step).ok());
    EXPECT_EQ(found.best[i].cost.nanoseconds(), all.best[i].cost.nanoseconds());
  }
}

/// Layers of a Mamba-2 block ('m'), of attention and an MLP ('a'), and of an
/// MLP alone ('f').
CostProblem withKinds(CostProblem problem, const std::string &pattern) {
  problem.compiled = true;
  ModelShape &model = problem.model;
  int64_t inner = 2 * model.hidden;
  model.stateSpace = {0, inner / 64, 64, 128, 4};
  model.stateSpace.normGroups = 4;
  model.kinds = {{.attention = 0, .stateSpace = 1},
                 {.ffn = model.ffn},
                 {.attention = 0, .ffn = model.ffn}};
  for (char layer : pattern)
    model.kindOf.push_back(layer == 'm' ? 0 : layer == 'a' ? 1 : 2);
  model.layers = int64_t(pattern.size());
  return problem;
}

/// An encoder of so many layers and tokens before a decoder.
CostProblem withEncoder(CostProblem problem, int64_t layers, int64_t tokens) {
  problem.compiled = true;
  ModelShape &model = problem.model;
  model.addLayers({.ffn = model.ffn, .encoder = true}, layers);
  model.addLayers({.ffn = model.ffn, .crosses = true}, model.layers);
  model.layers += layers;
  problem.step.encoderSequence = tokens;
  return problem;
}

TEST(PlanSearch, FindsItForTwoStacks) {
  expectOptimal(withEncoder(smallProblem("h100", 8, 3, 512, 16), 5, 2048));
  expectOptimal(withEncoder(smallProblem("a100", 4, 4, 2048, 8), 4, 2048));
}

/// A tower of so many layers before the first stage, in the place of tokens.
CostProblem withTower(CostProblem problem, int64_t layers, int64_t images) {
  problem.compiled = true;
  problem.model.vision = {.layers = layers,
                          .unread = 1,
                          .hidden = 1024,
                          .heads = 8,
                          .ffn = 4096,
                          .rows = 577,
                          .patch = 588,
                          .images = images};
  return problem;
}

/// Frozen, trained, and where nothing but the projector is.
TEST(PlanSearch, FindsItForImages) {
  CostProblem problem = withTower(smallProblem("h100", 8, 6, 2048, 16), 11, 2);
  expectOptimal(problem);
  problem.step.trainedPerMillion = 0;
  expectOptimal(problem);
  problem = withTower(smallProblem("a100", 4, 5, 1024, 8), 23, 4);
  problem.model.vision.towerPerMillion = 1'000'000;
  expectOptimal(problem);
}

/// What is trained in part holds less: no plan that fits is passed over.
TEST(PlanSearch, FindsItForAdapters) {
  CostProblem problem = smallProblem("h100", 4, 8, 4096, 8);
  problem.compiled = true;
  problem.step.trainedPerMillion = 2000;
  expectOptimal(problem);
}

/// Where the tower takes as long as layers, the first stage has fewer of them,
/// and tensor ranks divide the heads of both.
TEST(PlanSearch, MakesRoomForImagesInTheFirstStage) {
  CostProblem problem = withTower(smallProblem("h100", 8, 24, 2048, 64), 40, 4);
  problem.model.vision.heads = 2;
  problem.model.vision.towerPerMillion = 1'000'000;
  auto kept = PlanConstraints::parse("pp=2,dp=4,tp=1,v=1,schedule=1f1b,mbs=1");
  ASSERT_TRUE(kept.ok());
  SearchResult found = PlanSearch(problem, *kept).run({});
  ASSERT_FALSE(found.best.empty());
  std::vector<int64_t> layers = found.best[0].plan.layers;
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_LT(layers[0], layers[1]);
  SearchOptions options;
  options.top = 50;
  for (const PricedPlan &plan : PlanSearch(problem, {}).run(options).best)
    EXPECT_LE(plan.plan.tp, 2) << printPlan(plan.plan);
  EXPECT_THAT(
      checkPlan(*parsePlan("dp=2,tp=4"), problem.model, problem.step).message(),
      testing::HasSubstr("S109: "));
}

TEST(PlanSearch, FindsItForLayersOfSeveralKinds) {
  expectOptimal(withKinds(smallProblem("h100", 8, 0, 2048, 16), "mfmamfma"));
  expectOptimal(withKinds(smallProblem("b200", 4, 0, 1024, 8), "mmmmm"));
  expectOptimal(withKinds(smallProblem("a100", 8, 0, 2048, 16), "mmmmaa"));
}

/// Where the layers of one end take longer, their stages have fewer of them.
TEST(PlanSearch, SharesOutLayersByTheirTimes) {
  CostProblem problem =
      withKinds(smallProblem("h100", 8, 0, 2048, 64), "ffffffffffffaaaaaa");
  auto kept = PlanConstraints::parse("pp=2,dp=4,tp=1,v=1,schedule=1f1b,mbs=1");
  ASSERT_TRUE(kept.ok());
  SearchResult found = PlanSearch(problem, *kept).run({});
  ASSERT_FALSE(found.best.empty());
  std::vector<int64_t> layers = found.best[0].plan.layers;
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_GT(layers[0], layers[1]);
  ParallelPlan even = found.best[0].plan;
  even.layers = {9, 9};
  EXPECT_LT(found.best[0].cost.nanoseconds(),
            priceStep(problem, even)->nanoseconds());
}

/// A plan must have every batch through which one grows.
TEST(PlanSearch, FindsItForBatchesThatGrow) {
  CostProblem problem = smallProblem("h100", 8, 8, 2048, 48);
  problem.step.smallerBatches = {12, 30};
  expectOptimal(problem);
  PlanSearch search(problem, {});
  SearchResult result = search.run({});
  ASSERT_FALSE(result.best.empty());
  for (const PricedPlan &priced : result.best) {
    Status status = checkPlan(priced.plan, problem.model, problem.step);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(6 % (priced.plan.dp * priced.plan.microBatch), 0)
        << printPlan(priced.plan);
  }
}

/// Where the loss depends on which sequences are computed together, that stays.
TEST(PlanSearch, KeepsAMicrobatchThatTheLossDependsOn) {
  CostProblem free = withExperts(smallProblem("h100", 8, 4, 2048, 16));
  CostProblem kept = free;
  kept.step.microbatch = 8;
  expectOptimal(kept);
  SearchOptions options;
  options.top = 20;
  SearchResult found = PlanSearch(kept, {}).run(options);
  ASSERT_GT(found.best.size(), 3u);
  for (const PricedPlan &priced : found.best)
    EXPECT_EQ(priced.plan.dp * priced.plan.microBatch, 8)
        << printPlan(priced.plan);
  // As fast as the best of those among all.
  SearchOptions all;
  all.top = 100000;
  for (const PricedPlan &priced : PlanSearch(free, {}).run(all).best)
    if (priced.plan.dp * priced.plan.microBatch == 8) {
      EXPECT_EQ(priced.cost.nanoseconds(), found.best[0].cost.nanoseconds());
      break;
    }
  kept.step.microbatch = 5;
  EXPECT_TRUE(PlanSearch(kept, {}).run({}).best.empty());
}

CostProblem withOffload(CostProblem problem) {
  problem.mayOffload = true;
  return problem;
}

TEST(PlanSearch, FindsItWithOffloadingToo) {
  expectOptimal(withOffload(smallProblem("h100", 8, 8, 2048, 16)));
  expectOptimal(withOffload(withExperts(smallProblem("a100", 4, 5, 1024, 8))));
  CostProblem full = withOffload(smallProblem("h100", 4, 8, 4096, 8));
  full.system.set_host_memory_bytes(int64_t(3) << 30);
  expectOptimal(full);
}

/// Plans that offload are found on request alone, and where nothing else fits.
TEST(PlanSearch, OffloadsOnRequestAlone) {
  CostProblem problem = smallProblem("h100", 8, 40, 8192, 8);
  problem.compiled = true;
  SearchOptions options;
  options.memory = int64_t(64) << 30;
  EXPECT_TRUE(PlanSearch(problem, {}).run(options).best.empty());
  CostProblem asked = withOffload(problem);
  SearchResult found = PlanSearch(asked, {}).run(options);
  ASSERT_EQ(found.best.size(), 1u);
  EXPECT_NE(found.best[0].plan.offload, Offload::None);
  EXPECT_TRUE(fits(asked, found.best[0].cost.memory, options.memory));
  // A constraint that names it is a request.
  auto named = PlanConstraints::parse("offload=all");
  ASSERT_TRUE(named.ok());
  SearchResult all = PlanSearch(problem, *named).run({});
  ASSERT_EQ(all.best.size(), 1u);
  EXPECT_EQ(all.best[0].plan.offload, Offload::All);
  // Not where there is no room on the host, or no host.
  asked.system.set_host_memory_bytes(1);
  EXPECT_TRUE(PlanSearch(asked, {}).run(options).best.empty());
  asked.system.clear_host_link();
  EXPECT_TRUE(PlanSearch(asked, *named).run({}).best.empty());
}

PlanProblem writtenProblem() {
  PlanProblem problem;
  problem.cost = withOffload(withExperts(smallProblem("b200", 8, 4, 2048, 16)));
  problem.cost.compiled = true;
  problem.constraints = *PlanConstraints::parse("tp=2,zero=1");
  problem.options.top = 3;
  problem.options.memory = int64_t(60) << 30;
  return problem;
}

TEST(PlanProblemText, ReadsBack) {
  std::string text = writePlanProblem(writtenProblem());
  StatusOr<PlanProblem> read = readPlanProblem("p", text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(writePlanProblem(*read), text);
  SearchResult a =
      searchExhaustively(read->cost, read->constraints, read->options);
  PlanProblem own = writtenProblem();
  SearchResult b = searchExhaustively(own.cost, own.constraints, own.options);
  ASSERT_EQ(a.best.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a.best[i].plan, b.best[i].plan);
    EXPECT_EQ(a.best[i].cost.bytes(), b.best[i].cost.bytes());
  }
}

TEST(PlanProblemText, ReadsBackWhatIsKeptBesides) {
  PlanProblem problem = writtenProblem();
  ModelShape &model = problem.cost.model;
  model.cappedLogits = model.inputJitter = model.runsAgain = true;
  model.capacity = 1.1, model.rowsBound = 1 / 3.0;
  std::string text = writePlanProblem(problem);
  StatusOr<PlanProblem> read = readPlanProblem("p", text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->cost.model.cappedLogits);
  EXPECT_TRUE(read->cost.model.inputJitter);
  EXPECT_TRUE(read->cost.model.runsAgain);
  EXPECT_EQ(read->cost.model.capacity, 1.1);
  EXPECT_EQ(read->cost.model.rowsBound, 1 / 3.0);
}

/// Layers of several kinds, each run of them on a line.
TEST(PlanProblemText, ReadsBackKinds) {
  PlanProblem problem;
  problem.cost = withKinds(smallProblem("h100", 4, 0, 1024, 8), "mmfmma");
  problem.cost.model.kinds[1].window = 256;
  problem.cost.model.kinds[1].windowShare = 1;
  std::string text = writePlanProblem(problem);
  EXPECT_THAT(text, testing::HasSubstr("next-layers 2 0 1 0 0 0\n"
                                       "next-layers 1 0 0 0 4096 0\n"
                                       "next-layers 2 0 1 0 0 0\n"
                                       "next-layers 1 1 0 256 4096 0\n"));
  StatusOr<PlanProblem> read = readPlanProblem("p", text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(writePlanProblem(*read), text);
  ParallelPlan plan = *parsePlan("pp=2,dp=2");
  EXPECT_EQ(priceStep(read->cost, plan)->items,
            priceStep(problem.cost, plan)->items);
  auto why = [&](const std::string &more) {
    return readPlanProblem("p", text + more).status().message();
  };
  EXPECT_THAT(why("next-layers 1 1 0 0 4096 0"),
              testing::HasSubstr("each of the layers has one"));
  EXPECT_THAT(why("next-layers 1 2 0 0 4096 0"), testing::HasSubstr("Q30"));
  EXPECT_THAT(why("next-layers 1 1"), testing::HasSubstr("Q30"));
}

/// An encoder of three layers before a decoder of three.
TEST(PlanProblemText, ReadsBackTwoStacks) {
  PlanProblem problem;
  problem.cost = withEncoder(smallProblem("h100", 4, 3, 1024, 8), 3, 2048);
  std::string text = writePlanProblem(problem);
  EXPECT_THAT(text, testing::HasSubstr("encoder-sequence 2048\n"));
  StatusOr<PlanProblem> read = readPlanProblem("p", text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(writePlanProblem(*read), text);
  ParallelPlan plan = *parsePlan("pp=2,dp=2");
  EXPECT_EQ(priceStep(read->cost, plan)->items,
            priceStep(problem.cost, plan)->items);
  auto why = [&] {
    return readPlanProblem("p", writePlanProblem(problem)).status().message();
  };
  using testing::HasSubstr;
  problem.cost.step.encoderSequence = 0;
  EXPECT_THAT(why(), HasSubstr("have a sequence of 1 to 2^31 tokens"));
  problem.cost.step.encoderSequence = 2048;
  std::swap(problem.cost.model.kindOf[0], problem.cost.model.kindOf[5]);
  EXPECT_THAT(why(), HasSubstr("come before a decoder's"));
  problem.cost.model.kinds[1].encoder = true;
  EXPECT_THAT(why(), HasSubstr("come before a decoder's"));
}

TEST(PlanProblemText, ReadsBackImages) {
  PlanProblem problem;
  problem.cost = withTower(smallProblem("h100", 4, 4, 1024, 8), 7, 2);
  problem.cost.model.vision.towerPerMillion = 500'000;
  problem.cost.model.vision.projectorPerMillion = 0;
  std::string text = writePlanProblem(problem);
  EXPECT_THAT(text, testing::HasSubstr("vision-layers 7\nvision-unread 1\n"));
  StatusOr<PlanProblem> read = readPlanProblem("p", text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(writePlanProblem(*read), text);
  ParallelPlan plan = *parsePlan("pp=2,dp=2");
  StatusOr<StepCost> a = priceStep(read->cost, plan),
                     b = priceStep(problem.cost, plan);
  EXPECT_EQ(a->items, b->items);
  EXPECT_EQ(a->bytes(), b->bytes());
  problem.cost.model.vision.images = 0;
  EXPECT_THAT(
      readPlanProblem("p", writePlanProblem(problem)).status().message(),
      testing::HasSubstr("a tower's layers"));
}

TEST(PlanProblemText, BadOnesAreRefused) {
  auto why = [](const char *text) {
    return readPlanProblem("p", text).status().message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(why("plan"), HasSubstr("p:1:1: Q30"));
  EXPECT_THAT(why("plan-problem\nlayers 2"), HasSubstr("'system NAME'"));
  EXPECT_THAT(why("plan-problem\nlayers 0"), HasSubstr("p:2:8: Q30"));
  EXPECT_THAT(why("plan-problem\nlayers 1\nlayers 1"), HasSubstr("once"));
  EXPECT_THAT(why("plan-problem\nlayer 1"), HasSubstr("p:2:1: Q30"));
  EXPECT_THAT(why("plan-problem\nsystem h2"), HasSubstr("no system"));
  EXPECT_THAT(why("plan-problem\nkeep zp=1"), HasSubstr("zp is no key"));
  EXPECT_THAT(why("plan-problem\ngated 2"), HasSubstr("p:2:7: Q30"));
}

/// Each lie about a result is found.
TEST(PlanProblemText, ValidatorFindsLies) {
  PlanProblem problem = writtenProblem();
  PlanSearch search(problem.cost, problem.constraints);
  const SearchResult found = search.run(problem.options);
  ASSERT_EQ(found.best.size(), 3u);
  EXPECT_TRUE(validatePlans(problem, found).ok());
  auto why = [&](auto &&change) {
    PlanProblem other = problem;
    SearchResult result = found;
    change(other, result);
    return validatePlans(other, result).message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(why([](auto &, auto &r) { ++r.best[1].cost.items[0]; }),
              HasSubstr("Q80"));
  EXPECT_THAT(why([](auto &, auto &r) { r.best[1].plan.tp = 3; }),
              HasSubstr("does not divide"));
  EXPECT_THAT(why([](auto &p, auto &) { p.options.memory = 1; }),
              HasSubstr("does not fit"));
  EXPECT_THAT(why([](auto &p, auto &) {
                p.constraints = *PlanConstraints::parse("tp=4");
              }),
              HasSubstr("not what was to be kept"));
  EXPECT_THAT(why([](auto &p, auto &r) {
                p.constraints = {};
                r.best.push_back(r.best[0]);
                r.best.back().plan = r.best[0].plan;
                std::swap(r.best[0], r.best[2]);
              }),
              HasSubstr("faster than the one before it"));
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
    problem.system = *cluster::systemNamed("h100");
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
