//===- DocumentsTest.cpp - Documents that share sequences -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where labels are masked, microbatches and ranks have more or fewer of them.
/// The loss is a mean over the labels of the whole step all the same: whatever
/// the plan, and in however many microbatches, a model is what one rank makes
/// of one microbatch.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/RunSamples.h"
#include "runtime/program/Entries.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

class Documents : public TrainedPlans,
                  public testing::WithParamInterface<PlanCase> {};

TEST_P(Documents, TrainAsOneMicrobatchOnOneRank) {
  auto [model, plan] = GetParam();
  const Outcome &one = oneRank(*model, 1);
  train(compile(*model, *plan, "precision: FP32"), steps, "many");
  if (!HasFatalFailure())
    expectSame(outcomeOf("many", steps), one);
}

const PlanRow inMicrobatches[] = {{"By1", "", 12},
                                  {"By2", "", 6},
                                  {"By4", "", 3},
                                  {"By6InFull", "", 2, "--recompute full"}};

std::vector<PlanCase> casesOfDocuments() {
  std::vector<PlanCase> all;
  auto add = [&](const ModelRow &model, std::span<const PlanRow> plans,
                 const std::vector<std::string> &names) {
    for (const PlanRow &plan : plans)
      if (names.empty() || std::ranges::count(names, plan.name))
        all.push_back({&model, &plan});
  };
  for (const ModelRow *model : {&gptOnDocuments, &llamaOnDocuments})
    add(*model, inMicrobatches, {});
  add(gptOnDocuments, densePlans(),
      {"Dp4", "Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "DualPipeV",
       "Selective", "Auto", "Pp2Dp2Tp2Chunks", "Pp4Dp2Tp2Zero2"});
  add(llamaOnDocuments, contextPlans(), {});
  add(gptOnMaskedDocuments, contextPlans(),
      {"Cp2", "Cp4Tp2Sp", "Cp2AllToAll", "Cp4Ring", "Pp2Cp2RingAuto"});
  add(slidingOnDocuments, contextPlans(),
      {"Cp2", "Cp4Tp2Sp", "Pp2Cp2Tp2", "Dp2Cp2AllToAll", "Cp4Ring",
       "Dp2Cp2Tp2Ring"});
  add(cappedOnDocuments, contextPlans(),
      {"Cp2", "Dp2Cp2AllToAll", "Cp4Ring", "Dp2Cp2Tp2Ring"});
  add(slopedOnDocuments, contextPlans(),
      {"Cp2", "Dp2Cp2AllToAll", "Cp4Ring", "Dp2Cp2Tp2Ring"});
  add(relativeOnDocuments, contextPlans(),
      {"Cp2", "Dp2Cp2AllToAll", "Cp4Ring", "Dp2Cp2Tp2Ring"});
  add(relativeBert, densePlans(),
      {"Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "Selective"});
  add(relativeBert, contextPlans(), {"Cp2", "Cp4Ring", "Dp2Cp2AllToAll"});
  add(prefixed, inMicrobatches, {});
  add(prefixed, densePlans(),
      {"Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "DualPipeV",
       "Selective", "Auto", "Pp2Dp2Tp2Chunks"});
  add(prefixed, contextPlans(),
      {"Cp4Tp2Sp", "Dp2Cp2AllToAll", "Cp4Ring", "Pp2Cp2RingAuto"});
  add(relativePrefixed, dropoutPlans(), {"Dp2Tp2Full", "Dp2Cp2Tp2"});
  add(twoStacks, inMicrobatches, {});
  add(twoStacks, densePlans(),
      {"Dp4",           "Dp3Zero3",    "Tp4Sp",       "Selective",
       "Uniform2",      "Block1Zero3", "Auto",        "Dp4Tp4SpZero3",
       "Zero2Buckets",  "GPipe",       "OneFOneB",    "Interleaved",
       "ZeroBubbleH2",  "ZeroBubbleV", "DualPipeV",   "List",
       "ByCost",        "Pp2Auto",     "Pp2Dp2Zero3", "Pp2Dp2Tp2Chunks",
       "Pp4Dp2Tp2Zero2"});
  add(twoStacks, contextPlans(), {});
  add(twoStacksOfFewInputs, contextPlans(),
      {"Cp2", "Cp4Tp2Sp", "Cp2AllToAll", "Cp2Ring", "Pp2Cp2RingAuto"});
  add(twoStacksWithDropout, dropoutPlans(), {});
  add(dropoutOnDocuments, dropoutPlans(), {});
  add(bert, inMicrobatches, {});
  add(bert, densePlans(),
      {"Dp4", "Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "DualPipeV",
       "HeadAlone", "Auto", "Pp2Dp2Tp2Chunks", "Pp4Dp2Tp2Zero2"});
  add(bert, contextPlans(), {});
  add(bertWithDropout, dropoutPlans(), {});
  add(bertClasses, inMicrobatches, {});
  add(bertClasses, densePlans(),
      {"Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "HeadAlone", "Full",
       "Auto", "Pp2Dp2Tp2Chunks"});
  add(bertClasses, contextPlans(), {"Cp2", "Cp4Ring", "Dp2Cp2AllToAll"});
  add(bertClassesWithDropout, dropoutPlans(), {});
  // Microbatches of 3, 6 or 12 sequences, for questions have three.
  add(bertChoices, inMicrobatches, {"By6InFull"});
  add(bertChoices, densePlans(),
      {"Dp2", "Dp2Zero1", "Dp4Tp4SpZero3", "Tp4Sp", "GPipe", "Interleaved",
       "ZeroBubbleH1", "DualPipeV", "HeadAlone", "Auto", "Selective",
       "Dp2Tp4Zero3"});
  add(bertChoices, contextPlans(), {"Cp2", "Dp2Cp2AllToAll"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Documents, testing::ValuesIn(casesOfDocuments()),
                         [](const auto &info) { return info.param.name(); });

/// The positions of the tokens that each rank takes in, of 16.
std::vector<std::vector<int64_t>>
positionsOfRanks(const program::Program &program) {
  std::vector<std::vector<int64_t>> all;
  for (const program::Role &role : program.roles())
    for (unsigned rank : role.ranks()) {
      std::vector<int64_t> &own = all.emplace_back();
      for (const program::Host *host : hostsOf(role, role.entries(0)))
        if (host->name() == "tokens" && own.empty())
          for (const auto &shard : host->shards())
            for (uint64_t i = 0; i < shard.size(1); ++i)
              own.push_back(
                  scalarOfRank(program, shard.start(1), rank).value_or(-1) +
                  int64_t(i));
    }
  return all;
}

/// Plans that share sequences by position deal them out finely, of documents
/// alone.
TEST_F(TrainedPlans, DocumentsAreDealtOutInRounds) {
  using Ranks = std::vector<std::vector<int64_t>>;
  auto positions = [](const ModelRow &model, const char *mesh,
                      const char *flags) {
    return positionsOfRanks(*compile(model, {"", mesh, 1, flags}));
  };
  const Ranks rounds = {{0, 3, 4, 7, 8, 11, 12, 15},
                        {1, 2, 5, 6, 9, 10, 13, 14}};
  const Ranks one = {{0, 1, 2, 3, 12, 13, 14, 15}, {4, 5, 6, 7, 8, 9, 10, 11}};
  const Ranks order = {{0, 1, 2, 3, 4, 5, 6, 7},
                       {8, 9, 10, 11, 12, 13, 14, 15}};
  const char *ring = "--cp-strategy ring", *heads = "--cp-strategy alltoall";
  EXPECT_EQ(positions(llamaOnDocuments, "cp=2", ""), rounds);
  EXPECT_EQ(positions(llamaOnDocuments, "cp=2", ring), rounds);
  EXPECT_EQ(positions(slidingOnDocuments, "cp=2", ring), rounds);
  EXPECT_EQ(positions(llamaOnDocuments, "cp=2", heads), order);
  EXPECT_EQ(positions(llama, "cp=2", ""), one);
  EXPECT_EQ(positions(bert, "cp=2", ring), one);
  EXPECT_EQ(
      positions(gptOnMaskedDocuments, "cp=4", ring),
      (Ranks{{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}}));
}

/// That the data of these tests is what it is for: microbatches that differ in
/// their labels, and documents that begin in the midst of sequences.
TEST_F(TrainedPlans, DocumentsOfTheseTestsDiffer) {
  data::GptDatasetOptions options;
  options.sequenceLength = 16;
  options.vocabularySize = 61;
  data::RunData from;
  from.data = {tokens()};
  auto source = data::openRunSamples(from, options, {.trainSamples = 72},
                                     data::Split::Train);
  ASSERT_TRUE(source.ok()) << source.status().message();
  std::vector<uint64_t> labels;
  for (uint64_t first = 0; first < 72; first += 4) {
    data::Batch batch;
    ASSERT_TRUE(data::readBatch(**source, first, 4, batch, {20, true}).ok());
    labels.push_back(batch.countLabels(0, 4));
    auto begins = std::ranges::count(batch.positions, 0);
    EXPECT_GE(begins, 4);
  }
  auto [least, most] = std::ranges::minmax(labels);
  EXPECT_LT(least + 2, most);
  EXPECT_LE(most, 4U * 16);
}

} // namespace
