//===- EpochsTest.cpp - Classes of texts, epoch by epoch ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run of so many epochs: as many steps as its data makes of them, a
/// validation of all samples behind each, a learning rate that decays over the
/// whole run, and all of it the same on many ranks.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

using namespace hocket;
using namespace hocket::test;
using nlohmann::json;

namespace {

class Epochs : public TrainingFolder {
protected:
  /// Steps of 12 sequences; the 40 samples of an epoch are 4 steps.
  static std::shared_ptr<const program::Program>
  compile(const std::string &mesh, const std::string &training) {
    CompileChoice choice;
    if (!mesh.empty())
      choice.flags.emplace_back("--mesh", mesh);
    return std::make_shared<const program::Program>(compileProgram(
        "model { layers: 2 hidden: 32 heads: 4 ffn: 72 vocab_size: 61 "
        "max_positions: 16 attention_qkv_bias: false attention_mask: "
        "BIDIRECTIONAL token_types: 2 embedding_norm: true classes: 3 } "
        "training { sequence_length: 16 global_batch_size: 12 "
        "micro_batch_size: 3 seed: 5 data { split: \"1\" } clip_norm: 0 "
        "classification { cls_token: 1 sep_token: 2 pad_token: 0 } " +
            training + " }",
        choice));
  }

  struct Run {
    std::vector<json> steps, validations;
    std::vector<std::string> printed;
  };

  Run train(const std::shared_ptr<const program::Program> &program,
            const std::string &name, TrainingOptions options = {}) const {
    Run run;
    options.data = {labelled()};
    options.validData = {labelled()};
    options.logFile = folder + "/" + name + ".jsonl";
    options.print = [&](const std::string &line) {
      run.printed.push_back(line);
    };
    Status status = runTraining(program, options);
    EXPECT_TRUE(status.ok()) << status.message();
    std::istringstream log(*readFile(options.logFile, 1 << 20));
    for (std::string line; std::getline(log, line);) {
      json record = json::parse(line);
      (record.contains("valid_loss") ? run.validations : run.steps)
          .push_back(record);
    }
    return run;
  }
};

constexpr const char *threeEpochs =
    "epochs: 3 learning_rate { schedule: LINEAR peak: 6e-3 "
    "warmup_fraction: 0.25 } ";

TEST_F(Epochs, AreAsManyStepsAsTheDataHas) {
  Run run = train(compile("", threeEpochs), "one");
  EXPECT_THAT(run.printed, testing::Contains("3 epochs of 4 steps, each "
                                             "followed by validation"));
  ASSERT_EQ(run.steps.size(), 12u);
  EXPECT_DOUBLE_EQ(run.steps[3]["lr"], 6e-3);
  EXPECT_DOUBLE_EQ(run.steps[7]["lr"], 6e-3 * 5 / 9);
  ASSERT_EQ(run.validations.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const json &record = run.validations[i];
    EXPECT_EQ(record["step"], 4 * (i + 1));
    EXPECT_EQ(record["epoch"], double(i + 1));
    EXPECT_EQ(record["valid_samples"], 40);
    uint64_t right = 0;
    std::vector<uint64_t> all;
    for (const char *name : {"a", "b", "c"}) {
      right += record["valid_classes"][name]["right"].get<uint64_t>();
      all.push_back(record["valid_classes"][name]["all"]);
    }
    EXPECT_THAT(all, testing::ElementsAre(14, 13, 13));
    EXPECT_DOUBLE_EQ(record["valid_accuracy"], double(right) / 40);
  }
}

/// Losses of an epoch's steps, each by its samples, are the mean over all
/// samples once: the last step has 4 of them. With a rate of 0 that is the loss
/// of validation, which goes through them in another order.
TEST_F(Epochs, WeighEachSampleAlike) {
  Run run = train(compile("", "epochs: 2 learning_rate { peak: 0 } "), "zero");
  ASSERT_EQ(run.steps.size(), 8u);
  ASSERT_EQ(run.validations.size(), 2u);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    double sum = 0;
    for (size_t i = 0; i < 4; ++i)
      sum += run.steps[4 * epoch + i]["loss"].get<double>() * (i < 3 ? 12 : 4);
    EXPECT_NEAR(sum / 40, run.validations[epoch]["valid_loss"], 1e-6);
  }
  EXPECT_NE(run.steps[0]["loss"], run.steps[4]["loss"]) << "the same order";
}

TEST_F(Epochs, AreTheSameOnManyRanks) {
  Run one = train(compile("", threeEpochs), "one");
  for (const char *mesh : {"dp=2,tp=2", "pp=2,dp=2", "cp=2,tp=4", "dp=4"}) {
    SCOPED_TRACE(mesh);
    Run many = train(compile(mesh, threeEpochs), mesh);
    ASSERT_EQ(many.steps.size(), one.steps.size());
    for (size_t i = 0; i < one.steps.size(); ++i)
      EXPECT_NEAR(many.steps[i]["loss"], one.steps[i]["loss"], 1e-5);
    ASSERT_EQ(many.validations.size(), one.validations.size());
    for (size_t i = 0; i < one.validations.size(); ++i) {
      EXPECT_NEAR(many.validations[i]["valid_loss"],
                  one.validations[i]["valid_loss"], 1e-5);
      EXPECT_EQ(many.validations[i]["valid_classes"],
                one.validations[i]["valid_classes"]);
    }
  }
}

/// A run that stops within an epoch goes on where it was.
TEST_F(Epochs, GoOnWhereTheyStopped) {
  auto program = compile("", threeEpochs);
  Run whole = train(program, "whole");
  TrainingOptions options;
  options.saveDir = folder + "/save";
  options.steps = 6;
  train(program, "half", options);
  options.steps.reset();
  options.resume = true;
  Run rest = train(program, "rest", options);
  ASSERT_EQ(rest.steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(rest.steps[i]["loss"], whole.steps[6 + i]["loss"]);
  EXPECT_EQ(rest.validations.back()["valid_classes"],
            whole.validations.back()["valid_classes"]);
}

TEST_F(Epochs, RefuseOtherData) {
  auto program = compile("", threeEpochs);
  TrainingOptions options;
  options.data = {tokens()};
  Status status = runTraining(program, options);
  EXPECT_THAT(status.message(), testing::HasSubstr("`hocket data prepare "
                                                   "--task`"));
  options.data = {};
  EXPECT_THAT(runTraining(program, options).message(),
              testing::StartsWith("training wants --data PREFIX"));
}

} // namespace
