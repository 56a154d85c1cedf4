//===- PlanRulesTest.cpp - What a plan must keep --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/PlanRules.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::plan;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// The numbers of the rules that a plan of a model with 24 layers breaks.
std::vector<int> broken(const char *text, int64_t experts = 0) {
  PlanSizes sizes;
  sizes.layers = 24;
  sizes.heads = 32;
  sizes.kvHeads = 8;
  sizes.experts = experts;
  sizes.sequence = 2048;
  sizes.globalBatch = 64;
  StatusOr<ParallelPlan> plan = parsePlan(text);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::vector<int> numbers;
  for (const BrokenRule &rule : brokenRules(*plan, sizes)) {
    EXPECT_FALSE(rule.text.empty());
    EXPECT_TRUE(rule.field.starts_with("plan") ||
                rule.field.starts_with("training"))
        << rule.field;
    numbers.push_back(rule.number);
  }
  return numbers;
}

TEST(PlanRules, AreKeptByOrdinaryPlans) {
  EXPECT_THAT(broken(""), IsEmpty());
  EXPECT_THAT(broken("pp=4,dp=2,tp=8,v=3,mbs=2,sp=1,zero=3"), IsEmpty());
  EXPECT_THAT(broken("pp=2,layers=20/4"), IsEmpty());
  EXPECT_THAT(broken("dp=4,tp=4,ep=8,etp=2,sp=1", 64), IsEmpty());
}

/// The numbers of the rules that a plan breaks where 8-bit numbers have a scale
/// a block, of 32 heads of 64 that share 2 key heads.
std::vector<int> brokenInBlocks(const char *text, int64_t block) {
  PlanSizes sizes;
  sizes.layers = 24;
  sizes.heads = 32;
  sizes.kvHeads = 2;
  sizes.headDim = 64;
  sizes.ffn = {5632};
  sizes.sequence = 2048;
  sizes.globalBatch = 64;
  sizes.block = block;
  std::vector<int> numbers;
  for (const BrokenRule &rule : brokenRules(*parsePlan(text), sizes))
    numbers.push_back(rule.number);
  return numbers;
}

TEST(PlanRules, LetNoShardCutABlock) {
  EXPECT_THAT(brokenInBlocks("tp=2", 0), IsEmpty());
  EXPECT_THAT(brokenInBlocks("tp=4", 32), IsEmpty());
  // Two ranks have a key head of 64 each.
  EXPECT_THAT(brokenInBlocks("tp=2", 128), ElementsAre(61));
  EXPECT_THAT(brokenInBlocks("tp=16", 32), IsEmpty());
  // 5632 / 32 = 176 is five blocks and a half.
  EXPECT_THAT(brokenInBlocks("tp=32", 32), ElementsAre(61));
  EXPECT_THAT(brokenInBlocks("cp=8", 128), IsEmpty());
  EXPECT_THAT(brokenInBlocks("cp=16", 128), ElementsAre(62));
  EXPECT_THAT(brokenInBlocks("cp=4,tp=4,sp=1", 32), IsEmpty());
  EXPECT_THAT(brokenInBlocks("cp=16,tp=8,sp=1", 32), ElementsAre(62));
}

TEST(PlanRules, HoldForEveryBatchOfOneThatGrows) {
  PlanSizes sizes;
  sizes.globalBatch = 64;
  sizes.smallerBatches = {8, 24, 40};
  EXPECT_THAT(brokenRules(*parsePlan("dp=4,mbs=2"), sizes), IsEmpty());
  std::vector<BrokenRule> rules = brokenRules(*parsePlan("dp=16"), sizes);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].number, 14);
  EXPECT_EQ(rules[0].field, "training.batch_size_steps");
  EXPECT_EQ(rules[0].text, "the batch grows through 8, which is not a multiple "
                           "of micro_batch_size (1) * plan.data_parallel (16); "
                           "write 16");
}

TEST(PlanRules, AreBrokenOneByOne) {
  EXPECT_THAT(broken("pp=0"), ElementsAre(4));
  EXPECT_THAT(broken("zero=4"), ElementsAre(4));
  EXPECT_THAT(broken("dp=3"), ElementsAre(14));
  EXPECT_THAT(broken("mbs=5"), ElementsAre(14));
  EXPECT_THAT(broken("v=2"), ElementsAre(18));
  EXPECT_THAT(broken("pp=25"), ElementsAre(18));
  EXPECT_THAT(broken("pp=2,layers=9/9"), ElementsAre(18));
  EXPECT_THAT(broken("pp=2,layers=24"), ElementsAre(18));
  EXPECT_THAT(broken("pp=2,layers=25/0"), ElementsAre(18));
  EXPECT_THAT(broken("dp=64,tp=1048576"), ElementsAre(20));
  EXPECT_THAT(broken("ep=2", 64), ElementsAre(21));
  EXPECT_THAT(broken("tp=3"), ElementsAre(22));
  EXPECT_THAT(broken("cp=3"), ElementsAre(23));
  EXPECT_THAT(broken("dp=2,ep=2"), ElementsAre(35));
  EXPECT_THAT(broken("dp=2,ep=2", 7), ElementsAre(35));
  EXPECT_THAT(broken("cp=16,context=alltoall"), ElementsAre(36));
  EXPECT_THAT(broken("tp=4,etp=2,sp=1"), ElementsAre(37));
  EXPECT_THAT(broken("tp=4,etp=2", 64), ElementsAre(37));
  EXPECT_THAT(broken("tp=4,etp=3,sp=1", 64), ElementsAre(38));
  EXPECT_THAT(broken("recompute_block=1"), ElementsAre(40));
  EXPECT_THAT(broken("recompute=full,modules=mlp"), ElementsAre(40));
  EXPECT_THAT(broken("shardings=s.txt"), ElementsAre(43));
  EXPECT_THAT(broken("pp=2,shardings=s.txt"), ElementsAre(43));
  EXPECT_THAT(broken("dp=2,shardings=s.txt", 64), ElementsAre(43));
}

TEST(PlanRules, LookAtNothingThatIsUnknown) {
  ParallelPlan plan = *parsePlan("pp=7,dp=3,cp=11,tp=13,mbs=5");
  EXPECT_THAT(brokenRules(plan, {}), IsEmpty());
}

} // namespace
