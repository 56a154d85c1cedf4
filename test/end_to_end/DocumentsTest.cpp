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

#include "test/end_to_end/CompiledModel.h"
#include "test/end_to_end/TrainedPlans.h"

#include "runtime/data/BatchSource.h"
#include "runtime/data/RunSamples.h"

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
  add(dropoutOnDocuments, dropoutPlans(), {});
  add(bert, inMicrobatches, {});
  add(bert, densePlans(),
      {"Dp4", "Dp3Zero3", "Tp4Sp", "Interleaved", "ZeroBubbleH2", "DualPipeV",
       "HeadAlone", "Auto", "Pp2Dp2Tp2Chunks", "Pp4Dp2Tp2Zero2"});
  add(bert, contextPlans(), {});
  add(bertWithDropout, dropoutPlans(), {});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Documents, testing::ValuesIn(casesOfDocuments()),
                         [](const auto &info) { return info.param.name(); });

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
