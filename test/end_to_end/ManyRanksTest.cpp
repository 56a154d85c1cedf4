//===- ManyRanksTest.cpp - Every plan trains the same model ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plans of PlanTable.cpp, all ranks as threads of this process, against
/// one rank with the same microbatches: losses of six steps and all state at
/// the end, in fp32. A plan with dropout only agrees if its masks are those of
/// one rank.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/TrainedPlans.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

class ManyRanks : public TrainedPlans,
                  public testing::WithParamInterface<PlanCase> {};
class RandomPlans : public TrainedPlans {
protected:
  void trainTheSame(const std::vector<const ModelRow *> &models, int plans);
};

TEST_P(ManyRanks, TrainTheSameModel) {
  auto [model, plan] = GetParam();
  const Outcome &one = oneRank(*model, plan->microbatches);
  train(compile(*model, *plan, "precision: FP32"), steps, "many");
  if (!HasFatalFailure())
    expectSame(outcomeOf("many", steps), one);
}

int64_t keyHeads(const ModelRow &model) {
  bool areFew =
      std::string(model.fields).find("kv_heads: 2") != std::string::npos;
  return areFew ? 2 : 4;
}

/// Into how many microbatches a data rank's sequences can be cut: one a stage
/// at least.
std::vector<int64_t> microbatchesOf(int64_t sequences, int64_t stages) {
  std::vector<int64_t> all;
  for (int64_t count = stages; count <= sequences; ++count)
    if (sequences % count == 0)
      all.push_back(count);
  return all;
}

/// Plans that nobody thought of, the number of microbatches included, against
/// one rank with one microbatch; HOCKET_PLAN_SEED repeats them.
void RandomPlans::trainTheSame(const std::vector<const ModelRow *> &models,
                               int plans) {
  const char *given = std::getenv("HOCKET_PLAN_SEED");
  uint64_t seed = given ? std::stoull(given) : std::random_device()();
  std::mt19937_64 random(seed);
  auto oneOf = [&](std::vector<const char *> values) -> std::string {
    return values[random() % values.size()];
  };
  for (int i = 0; i < plans; ++i) {
    const ModelRow &model = *models[random() % models.size()];
    bool hasExperts = std::string(model.fields).find("moe") < std::string::npos;
    bool hasStates =
        std::string(model.fields).find("MAMBA2") < std::string::npos;
    std::string context = oneOf({"1", "1", "2", "4"});
    bool hasEncoder =
        std::string(model.fields).find("encoder {") < std::string::npos;
    bool hasChoices =
        std::string(model.fields).find("choices") < std::string::npos;
    bool classifies = hasChoices || std::string(model.fields).find("classes") <
                                        std::string::npos;
    std::string sequence = oneOf({"", " --sequence-parallel"});
    bool isLong = context == "4";
    bool isShared = hasStates && context != "1"; // S88: four groups or heads.
    std::string tensor = oneOf({"1", isLong && isShared ? "1" : "2",
                                isLong || isShared ? "1" : "4"}),
                share = tensor;
    if (hasExperts && !sequence.empty())
      share = oneOf({tensor.c_str(), "1", tensor == "4" ? "2" : "1"});
    std::string stages =
        oneOf({"1", hasEncoder && !isLong ? "3" : "1", isLong ? "1" : "2"});
    std::string mesh = "pp=" + stages + ",cp=" + context + ",tp=" + tensor;
    bool spreads = context != "1" || share != tensor;
    mesh += hasExperts && random() % 2
                ? ",dp=2,ep=" + oneOf({"2", spreads ? "4" : "2"})
            : hasChoices
                ? ",dp=" + oneOf({"1", "2"})
                : ",dp=" + oneOf({"1", "2", "3",
                                  context == "1" && stages != "3" ? "6" : "3"});
    if (share != tensor)
      mesh += ",etp=" + share;
    bool dealsHeads =
        keyHeads(model) % (std::stoll(context) * std::stoll(tensor)) == 0;
    std::string zero = oneOf({"0", "1", "2", "3"});
    std::string flags =
        "--zero " + zero + " --loss-chunks " +
        (classifies || zero > "1" ? "1"
                                  : oneOf({"1", "2", "3"})) + // S118, S119.
        sequence +
        " --cp-strategy " +
        oneOf({"allgather", "ring", dealsHeads ? "alltoall" : "allgather"}) +
        " --recompute " +
        oneOf({"none", "selective", "full",
               "selective --recompute-modules core_attn,layernorm",
               "full plan.recompute_method=BLOCK plan.recompute_layers=1"}) +
        " --schedule " + oneOf({"1f1b", "gpipe", "zb-h1"});
    PlanRow plan{"Random", mesh.c_str(), 2, flags.c_str()};
    std::vector<int64_t> counts =
        microbatchesOf(12 / sizeOf(plan, "dp"), sizeOf(plan, "pp"));
    if (hasChoices) // S114: questions have three.
      std::erase_if(counts, [&](int64_t count) {
        return 12 / sizeOf(plan, "dp") / count % 3 != 0;
      });
    plan.microbatches = counts[random() % counts.size()];
    SCOPED_TRACE("HOCKET_PLAN_SEED=" + std::to_string(seed) + ", plan " +
                 std::to_string(i) + ": " + model.name + " " + mesh + " " +
                 flags + ", " + std::to_string(plan.microbatches) +
                 " microbatches");
    const Outcome &one = oneRank(model, 1);
    train(compile(model, plan, "precision: FP32"), steps, "many");
    ASSERT_FALSE(HasFatalFailure());
    expectSame(outcomeOf("many", steps), one);
    fs::remove_all(folder + "/many");
    fs::remove(folder + "/many.jsonl");
  }
}

TEST_F(RandomPlans, TrainTheSameModel) {
  trainTheSame({&gpt, &gptWithDropout, &llama, &experts, &droppingExperts,
                &expertsWithDropout, &llamaOnDocuments, &dropoutOnDocuments},
               8);
}

TEST_F(RandomPlans, TrainTheSameExperts) {
  trainTheSame({&experts, &droppingExperts, &expertsWithDropout}, 8);
}

TEST_F(RandomPlans, TrainTheSameModelOfDocuments) {
  trainTheSame({&gptOnDocuments, &dropoutOnDocuments, &llamaOnDocuments,
                &gptOnMaskedDocuments, &slidingOnDocuments},
               8);
}

TEST_F(RandomPlans, TrainTheSameLayersByPattern) {
  trainTheSame({&patterned, &hybrid}, 10);
}

TEST_F(RandomPlans, TrainTheSameBranchesSideBySide) {
  trainTheSame({&sideBySide, &sideBySideOnOneNorm}, 10);
}

TEST_F(RandomPlans, TrainTheSameWithinSoftcaps) {
  trainTheSame({&capped, &cappedOnDocuments}, 10);
}

TEST_F(RandomPlans, TrainTheSameLatents) {
  trainTheSame({&latent, &latentWithDropout, &latentExperts}, 10);
}

TEST_F(RandomPlans, TrainTheSameSlopes) {
  trainTheSame({&sloped, &slopedOnDocuments}, 10);
}

TEST_F(RandomPlans, TrainTheSameRelativePositions) {
  trainTheSame({&relative, &relativeOnDocuments, &relativeBert}, 10);
}

TEST_F(RandomPlans, TrainTheSameTwoStacks) {
  trainTheSame({&twoStacks, &twoStacksOfFewInputs, &twoStacksWithDropout}, 12);
}

TEST_F(RandomPlans, TrainTheSameImages) {
  trainTheSame({&sighted, &sightedWithDropout, &sightedByProjector}, 10);
}

TEST_F(RandomPlans, TrainTheSameRetrieval) {
  trainTheSame({&retrieving, &retrievingAtOnce, &retrievingWithDropout}, 12);
}

TEST_F(RandomPlans, TrainTheSameStateSpaces) {
  trainTheSame({&stateSpace, &oneGroup}, 10);
}

TEST_F(RandomPlans, TrainTheSameEncoders) {
  trainTheSame({&bert, &bertWithDropout}, 10);
}

TEST_F(RandomPlans, TrainTheSameClasses) {
  trainTheSame({&bertClasses, &bertClassesWithDropout, &bertChoices}, 15);
}

class Buckets : public TrainedPlans, public testing::WithParamInterface<int> {};

/// Whatever goes together, every element is the same sum.
TEST_P(Buckets, ChangeNoBit) {
  Outcome outcomes[2];
  for (const char *bytes : {"0", "4096"}) {
    std::string flags =
        "--zero " + std::to_string(GetParam()) + " plan.bucket_bytes=" + bytes;
    PlanRow plan{"Buckets", "dp=2,tp=2", 3, flags.c_str()};
    train(compile(gpt, plan, "precision: FP32"), steps, bytes);
    ASSERT_FALSE(HasFatalFailure());
    outcomes[*bytes != '0'] = outcomeOf(bytes, steps);
  }
  const auto &[apart, together] = outcomes;
  ASSERT_FALSE(apart.state.empty());
  EXPECT_EQ(apart.losses, together.losses);
  EXPECT_EQ(apart.norms, together.norms);
  EXPECT_EQ(apart.state, together.state);
}

INSTANTIATE_TEST_SUITE_P(Zero, Buckets, testing::Range(0, 4));

std::vector<PlanCase> cases() {
  std::vector<PlanCase> all;
  auto add = [&](const ModelRow &model, std::span<const PlanRow> plans) {
    for (const PlanRow &plan : plans)
      all.push_back({&model, &plan});
  };
  add(gpt, densePlans());
  add(llama, densePlans());
  add(experts, densePlans());
  add(experts, expertPlans());
  add(droppingExperts, expertPlans());
  add(droppingExperts, moreExpertPlans());
  add(stateSpace, densePlans());
  for (const PlanRow &plan : contextPlans())
    if (std::ranges::count(std::vector<std::string>{"Pp2Cp2Tp2", "Dp3Cp2Zero3",
                                                    "Cp4Ring", "Dp2Cp2Tp2Ring",
                                                    "Pp2Cp2RingAuto"},
                           plan.name))
      all.push_back({&stateSpace, &plan});
  add(oneGroup, densePlans().first(10)); // Every axis alone.
  add(gpt, contextPlans());
  add(llama, contextPlans());
  add(patterned, contextPlans());
  add(capped, dropoutPlans());
  add(latent, contextPlans());
  add(latentWithDropout, dropoutPlans());
  add(latentExperts, expertPlans());
  add(sloped, dropoutPlans());
  add(relative, dropoutPlans());
  add(gptWithDropout, dropoutPlans());
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ManyRanks, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
