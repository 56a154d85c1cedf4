//===- BlockPlansTest.cpp - Plans with a scale a block --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In 8 bits with a scale a block no plan changes a code: neither the sequences
/// that are computed together nor how ranks share the rest. The reference is
/// one rank with one microbatch.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/NarrowRuns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

/// A recipe, a model of which two tensor ranks share whole blocks, and a
/// sequence of which two ranks do.
struct RecipeRow {
  const char *recipe;
  ModelRow model;
  const char *sequence;

  bool hasExperts() const {
    return std::string(model.fields).find("moe") != std::string::npos;
  }
};

#define BLOCKS                                                                 \
  "layers: 2 heads: 2 vocab_size: 61 norm: RMS_NORM activation: SWIGLU "       \
  "position: ROTARY bias: false tied_embeddings: false max_positions: 512 "

const RecipeRow recipes[] = {
    {"MXFP8",
     {"Mxfp8", BLOCKS "hidden: 80 head_dim: 32 ffn: 128 "},
     "training.sequence_length=128"},
    {"BLOCKWISE",
     {"Blockwise", BLOCKS "hidden: 144 head_dim: 128 ffn: 256 "},
     "training.sequence_length=144"},
    {"MXFP8",
     {"Mxfp8Experts",
      BLOCKS "hidden: 80 head_dim: 32 moe { experts: 4 top_k: 2 "
             "ffn: 64 shared_experts: 1 } "},
     "training.sequence_length=128"},
};

class BlockPlans : public NarrowRuns {
protected:
  static std::string trainingOf(const RecipeRow &row) {
    return std::string("precision: BF16 fp8_format: HYBRID fp8_recipe: ") +
           row.recipe;
  }

  Outcome run(const RecipeRow &row, const PlanRow &plan, uint64_t until,
              const std::string &name, const std::string &target = "cpu") {
    std::string flags = std::string(plan.flags) + " " + row.sequence;
    PlanRow whole = plan;
    whole.flags = flags.c_str();
    train(compile(row.model, whole, trainingOf(row), target), until, name);
    Outcome outcome;
    if (!HasFatalFailure())
      outcome = outcomeOf(name, until);
    fs::remove_all(folder + "/" + name);
    return outcome;
  }
};

class Microbatches : public BlockPlans,
                     public testing::WithParamInterface<RecipeRow> {};

/// What a sequence computes has the same bits in any company, so that the first
/// loss differs by how f32 sums up tokens. So has the gradient, as long as the
/// mean of a microbatch is of as many tokens but for a power of two (else bf16
/// rounds other multiples of it, as it does without 8 bits): it differs by how
/// f32 sums up products, 2^-24 of each of some hundred partial sums.
TEST_P(Microbatches, ChangeNoCode) {
  const RecipeRow &row = GetParam();
  Outcome one = run(row, {"One", "", 1}, 1, "one");
  ASSERT_EQ(one.losses.size(), 1u);
  std::vector<PlanRow> plans = {{"Twelve", "", 12},
                                {"Four", "", 4},
                                {"Dp2", "dp=2", 2, "--zero 1"},
                                {"Dp3Zero3", "dp=3", 4, "--zero 3"},
                                {"Pp2", "pp=2", 6},
                                {"Dp3Pp2", "dp=3,pp=2", 2, "--zero 2"}};
  if (row.hasExperts())
    plans.push_back({"Dp2Ep2", "dp=2,ep=2", 2});
  for (const PlanRow &plan : plans) {
    Outcome found = run(row, plan, 1, plan.name);
    ASSERT_EQ(found.losses.size(), 1u) << plan.name;
    EXPECT_NEAR(found.losses[0], one.losses[0], 0x1p-22 * one.losses[0])
        << plan.name;
    if (plan.microbatches % 3 != 0)
      EXPECT_NEAR(found.norms[0], one.norms[0], 0x1p-18 * one.norms[0])
          << plan.name;
  }
}

/// The same with a scale a tensor, to see that the bounds above are tight: what
/// is computed together is another model.
TEST_F(BlockPlans, AreAnotherMatterThanScalesOfTensors) {
  RecipeRow row = recipes[0];
  row.recipe = "TENSORWISE";
  Outcome one = run(row, {"One", "", 1}, 1, "one");
  Outcome many = run(row, {"Twelve", "", 12}, 1, "many");
  ASSERT_EQ(one.losses.size(), 1u);
  EXPECT_GT(std::abs(many.losses[0] / one.losses[0] - 1), 0x1p-20);
}

class RandomBlockPlans : public BlockPlans,
                         public testing::WithParamInterface<RecipeRow> {};

/// Plans that nobody thought of, in the band of one rank (NarrowRuns.h);
/// HOCKET_PLAN_SEED repeats them.
TEST_P(RandomBlockPlans, StayWithinTheBandOfOneRank) {
  const RecipeRow &row = GetParam();
  constexpr uint64_t until = 4;
  const char *given = std::getenv("HOCKET_PLAN_SEED");
  uint64_t seed = given ? std::stoull(given) : std::random_device()();
  std::mt19937_64 random(seed);
  auto oneOf = [&](std::vector<const char *> values) -> std::string {
    return values[random() % values.size()];
  };
  PlanRow alone{"One", "", 1, row.sequence};
  SharedProgram one = compile(row.model, alone, trainingOf(row));
  Difference band = bandOf(one, until), greatest;
  std::cout << "band: " << band << "\n";
  train(one, until, "one");
  Outcome expected = outcomeOf("one", until);
  bool isLong = std::string(row.recipe) == "MXFP8";
  for (int i = 0; i < 4; ++i) {
    std::string mesh =
        "pp=" + oneOf({"1", "2"}) + ",cp=" + oneOf({"1", isLong ? "2" : "1"}) +
        ",tp=" + oneOf({"1", "2"}) + ",dp=" + oneOf({"1", "2", "3"});
    if (row.hasExperts() && mesh.ends_with("dp=2"))
      mesh += ",ep=2";
    std::string flags = "--zero " + oneOf({"0", "1", "2", "3"}) +
                        oneOf({"", isLong ? " --sequence-parallel" : ""}) +
                        " --recompute " + oneOf({"none", "selective", "full"}) +
                        " --schedule " + oneOf({"1f1b", "gpipe", "zb-h1"});
    PlanRow plan{"Random", mesh.c_str(), 2, flags.c_str()};
    // Two at least for a pipeline, and a power of two (see above).
    plan.microbatches = sizeOf(plan, "dp") == 2 || random() % 2 ? 2 : 4;
    SCOPED_TRACE("HOCKET_PLAN_SEED=" + std::to_string(seed) + ", plan " +
                 std::to_string(i) + ": " + mesh + " " + flags + ", " +
                 std::to_string(plan.microbatches) + " microbatches");
    Outcome found = run(row, plan, until, "random");
    ASSERT_FALSE(HasFatalFailure());
    Difference difference = differenceOf(found, expected);
    EXPECT_LE(difference.loss, band.loss);
    EXPECT_LE(difference.norm, band.norm);
    EXPECT_LE(difference.state, band.state);
    greatest = greatest | difference;
  }
  std::cout << "plans: " << greatest << "\n";
}

const auto nameOf = [](const testing::TestParamInfo<RecipeRow> &info) {
  return std::string(info.param.model.name);
};
INSTANTIATE_TEST_SUITE_P(Recipes, Microbatches, testing::ValuesIn(recipes),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Recipes, RandomBlockPlans, testing::ValuesIn(recipes),
                         nameOf);

} // namespace
