//===- ChosenShardingsTest.cpp - Shardings from a file --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program whose parameters and ops are split as a file says trains as one
/// rank does: as the strategy solver has chosen, and as chance has, of all that
/// can be chosen.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/ChosenSplits.h"
#include "passes/planning/strategy/StrategySolve.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;
using namespace hocket::test;

namespace {

/// GEMMs that are large beside their 32 tokens a microbatch.
const ModelRow wide = {"Wide",
                       "layers: 2 hidden: 64 heads: 4 ffn: 1024 vocab_size: 64 "
                       "activation: GELU_TANH bias: false "
                       "tied_embeddings: false position: ROTARY "};

struct ShardingsCase {
  const char *name;
  const ModelRow *model;
  const char *mesh;
  int64_t microbatches;
};

std::ostream &operator<<(std::ostream &out, const ShardingsCase &choice) {
  return out << choice.name;
}

class ChosenShardings : public TrainedPlans,
                        public testing::WithParamInterface<ShardingsCase> {
protected:
  PlanRow row() const {
    return {GetParam().name, GetParam().mesh, GetParam().microbatches};
  }

  /// The program that `choice` makes of the case.
  SharedProgram compileChoice(const StrategyProblem &problem,
                              const StrategyChoice &choice) {
    auto text = writtenChosenSplits(problem, choice);
    EXPECT_TRUE(text.ok()) << text.status().message();
    std::string file = folder + "/shardings.txt";
    std::ofstream(file) << (text.ok() ? *text : "");
    std::string flags = "--shardings " + file;
    PlanRow plan = row();
    plan.flags = flags.c_str();
    return compile(*GetParam().model, plan, "precision: FP32");
  }

  void expectTrainsAsOneRank(const SharedProgram &program) {
    train(program, steps, "chosen");
    ASSERT_FALSE(HasFatalFailure());
    expectSame(outcomeOf("chosen", steps),
               oneRank(*GetParam().model, GetParam().microbatches));
  }
};

TEST_P(ChosenShardings, SolvedTrainAsOneRank) {
  StrategyProblem problem = strategiesOf(*GetParam().model, row());
  ASSERT_FALSE(problem.nodes.empty());
  StrategyPlan plan = solveStrategies(problem);
  ASSERT_TRUE(plan.fits);
  // Something is split, and where it is worth it.
  StrategyChoice whole(problem.nodes.size(), 0);
  ASSERT_LT(plan.cost, strategyCost(problem, whole));
  SharedProgram program = compileChoice(problem, plan.choice);
  expectTrainsAsOneRank(program);
  ASSERT_FALSE(HasFailure());
  // What it saved goes on where nothing is split.
  train(program, steps / 2, "half");
  train(compile(*GetParam().model, {"One", "", GetParam().microbatches},
                "precision: FP32"),
        steps, "resumed", "half");
  ASSERT_FALSE(HasFatalFailure());
  Outcome resumed = outcomeOf("resumed", steps);
  Outcome expected = oneRank(*GetParam().model, GetParam().microbatches);
  for (auto *numbers : {&expected.losses, &expected.norms})
    numbers->erase(numbers->begin(), numbers->begin() + steps / 2);
  expectSame(resumed, expected);
}

TEST_P(ChosenShardings, AnyTrainAsOneRank) {
  StrategyProblem problem = strategiesOf(*GetParam().model, row());
  ASSERT_FALSE(problem.nodes.empty());
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    StrategyChoice choice;
    for (const StrategyNode &node : problem.nodes)
      choice.push_back(int64_t(random() % node.costs.size()));
    expectTrainsAsOneRank(compileChoice(problem, choice));
    ASSERT_FALSE(HasFailure());
  }
}

const ShardingsCase shardingsCases[] = {
    {"GptDp2", &gpt, "dp=2", 3},
    {"GptTp2", &gpt, "tp=2", 2},
    {"GptDp2Tp2", &gpt, "dp=2,tp=2", 3},
    {"DropoutDp2Tp2", &gptWithDropout, "dp=2,tp=2", 2},
    {"LlamaTp2", &llama, "tp=2", 1},
    {"LlamaDp2Tp2", &llama, "dp=2,tp=2", 2},
    // Two key heads: the axis tp is two.
    {"LlamaTp4", &llama, "tp=4", 2},
    {"SlidingTp2", &sliding, "tp=2", 3},
    {"WideTp4", &wide, "tp=4", 6},
    {"WideDp2Tp2", &wide, "dp=2,tp=2", 6},
};

INSTANTIATE_TEST_SUITE_P(Plans, ChosenShardings,
                         testing::ValuesIn(shardingsCases),
                         [](const testing::TestParamInfo<ShardingsCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
