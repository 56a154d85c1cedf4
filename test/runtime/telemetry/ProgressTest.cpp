//===- ProgressTest.cpp - Lines for people and for programs ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/Progress.h"

#include "base/File.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;

static StepRecord record(uint64_t step, double loss) {
  StepRecord r;
  r.step = step;
  r.loss = loss;
  r.learningRate = 6e-4;
  r.seconds = 0.5;
  r.tokensPerSecond = 2048;
  r.consumedSamples = step * 4;
  r.batchSize = 4;
  return r;
}

TEST(Progress, ALineEveryIntervalWithTheMeanLoss) {
  Progress progress(2, 5);
  EXPECT_EQ(progress.add(record(1, 3)),
            "iteration        1/       5 | consumed samples:            4 | "
            "elapsed time per iteration (ms): 500.0 | learning rate: "
            "6.000000E-04 | lm loss: 3.000000E+00 | "
            "tokens/s: 2,048 | time left: 2.0s");
  EXPECT_EQ(progress.add(record(2, 2)),
            "iteration        2/       5 | consumed samples:            8 | "
            "elapsed time per iteration (ms): 500.0 | learning rate: "
            "6.000000E-04 | lm loss: 2.000000E+00 | "
            "tokens/s: 2,048 | time left: 1.5s");
  EXPECT_EQ(progress.add(record(3, 9)), std::nullopt);
  StepRecord last = record(4, 1);
  last.gradNorm = 0.25;
  last.lossScale = 65536;
  last.skipped = true;
  EXPECT_EQ(progress.add(last),
            "iteration        4/       5 | consumed samples:           16 | "
            "elapsed time per iteration (ms): 500.0 | learning rate: "
            "6.000000E-04 | lm loss: 5.000000E+00 | "
            "loss scale: 65536.0 | grad norm: 0.250 | tokens/s: 2,048 | number "
            "of skipped iterations: 1 | time left: 500 ms");
}

TEST(Progress, AValidationSaysTheAccuracyByClass) {
  ClassAccuracy classes({"yes", "no", "never"});
  for (bool isRight : {true, true, false})
    classes.add(0, isRight);
  classes.add(1, false);
  EXPECT_EQ(classes.samples(), 4u);
  EXPECT_EQ(classes.accuracy(), 0.5);
  ValidationRecord record{7, 0.5, 4, 0.25, classes, 1.5};
  EXPECT_EQ(Progress::line(record),
            "validation loss at iteration 7, epoch 1.50: 5.000000E-01 | "
            "accuracy: 50.00 % (2 of 4) | yes: 66.67 % of 3 | no: 0.00 % of 1 "
            "| never: none of 0 | time: 250 ms");
  EXPECT_EQ(jsonOf(classes).dump(),
            R"({"yes":{"right":2,"all":3,"accuracy":0.6666666666666666},)"
            R"("no":{"right":0,"all":1,"accuracy":0.0},)"
            R"("never":{"right":0,"all":0,"accuracy":null}})");
}

TEST(Progress, TheLastStepHasALineAndNanIsCounted) {
  Progress progress(100, 4);
  EXPECT_TRUE(progress.add(record(1, 3)));
  EXPECT_FALSE(progress.add(record(2, 3)));
  EXPECT_FALSE(progress.add(record(3, std::nan(""))));
  auto line = progress.add(record(4, 1));
  ASSERT_TRUE(line);
  EXPECT_NE(line->find("lm loss: 2.000000E+00"), std::string::npos) << *line;
  EXPECT_NE(line->find("number of nan iterations: 1"), std::string::npos);
}

TEST(Progress, WhatIsNoNumberHasNoSign) {
  Progress progress(1, 1);
  StepRecord only = record(1, -std::nan(""));
  only.gradNorm = -std::nan("");
  auto line = progress.add(only);
  ASSERT_TRUE(line);
  EXPECT_NE(line->find("grad norm: nan"), std::string::npos) << *line;
  EXPECT_EQ(line->find("-nan"), std::string::npos) << *line;
}

TEST(Progress, TheFirstStepOfARunThatGoesOnHasALineToo) {
  Progress progress(100, 1000);
  EXPECT_TRUE(progress.add(record(61, 3)));
  EXPECT_FALSE(progress.add(record(62, 3)));
  EXPECT_TRUE(progress.add(record(100, 3)));
}

TEST(Progress, BetweenLinesItSaysHowFarItIs) {
  Progress progress(100, 1750);
  StepRecord first = record(1, 9);
  first.seconds = 60; // Loads and tunes; what is left does not.
  progress.add(first);
  for (uint64_t step = 2; step <= 37; ++step)
    progress.add(record(step, 2.71828));
  EXPECT_EQ(progress.brief(), "step 37 of 1,750 (2 %) | lm loss: 2.7183 | "
                              "2,048 tokens/s | time left: 14m 17s");
}

/// Steps of 2, 2, 4 and 4: after the first, five times as much is left.
TEST(Progress, StepsOfABatchThatGrowsTakeTheirTime) {
  StatusOr<BatchSizes> sizes = BatchSizes::create({{0, 2}, {4, 4}});
  ASSERT_TRUE(sizes.ok());
  Progress progress(1, 4, *sizes);
  StepRecord first = record(1, 3);
  first.batchSize = 2;
  std::string line = progress.add(first).value_or("");
  EXPECT_NE(line.find(" | global batch size:     2 | "), std::string::npos)
      << line;
  EXPECT_TRUE(line.ends_with(" | time left: 2.5s")) << line;
  EXPECT_TRUE(progress.brief().ends_with(" | time left: 2.5s"));
  EXPECT_TRUE(progress.add(record(4, 3))->ends_with(" | time left: 0s"));
}

TEST(Progress, ValidationHasItsPerplexity) {
  EXPECT_EQ(Progress::line(ValidationRecord{7, std::log(8.0), 32, 1.25}),
            "validation loss at iteration 7: 2.079442E+00 | perplexity: 8.000 "
            "| samples: 32 | time: 1.2s");
}

TEST(MetricsLog, WritesEveryFieldThatThereIs) {
  std::string path = testing::TempDir() + "/hocket-metrics.jsonl";
  {
    auto log = MetricsLog::open(path, false);
    ASSERT_TRUE(log.ok());
    StepRecord full = record(1, 0.1);
    full.gradNorm = 2;
    full.lossScale = 4;
    full.skipped = false;
    ASSERT_TRUE(log->write(full).ok());
    ASSERT_TRUE(log->write(record(2, 1.0 / 3)).ok());
    ASSERT_TRUE(log->write(ValidationRecord{2, 0.5, 8, 2}).ok());
  }
  EXPECT_EQ(*readFile(path, 1 << 20),
            "{\"step\":1,\"loss\":0.1,\"grad_norm\":2.0,\"lr\":0.0006,"
            "\"tokens_per_second\":2048.0,\"consumed_samples\":4,"
            "\"global_batch_size\":4,\"seconds\":0.5,\"loss_scale\":4.0,"
            "\"skipped\":false}\n"
            "{\"step\":2,\"loss\":0.3333333333333333,\"lr\":0.0006,"
            "\"tokens_per_second\":2048.0,\"consumed_samples\":8,"
            "\"global_batch_size\":4,\"seconds\":0.5}\n"
            "{\"step\":2,\"valid_loss\":0.5,\"valid_samples\":8,"
            "\"seconds\":2.0}\n");
  std::remove(path.c_str());
  MetricsLog nowhere;
  EXPECT_TRUE(nowhere.write(record(1, 1)).ok());
}
