//===- LearningRateTest.cpp - Schedules against their closed forms --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/LearningRate.h"

#include <cmath>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace hocket;

static program::LearningRate schedule(const char *name) {
  program::LearningRate rate;
  rate.set_schedule(name);
  rate.set_peak(1e-3);
  rate.set_minimum(1e-4);
  rate.set_warmup_steps(10);
  rate.set_decay_steps(110);
  rate.set_wsd_decay_steps(20);
  return rate;
}

TEST(LearningRate, EveryScheduleWarmsUpFromZero) {
  for (const char *name :
       {"constant", "linear", "cosine", "inverse_sqrt", "wsd"}) {
    program::LearningRate rate = schedule(name);
    EXPECT_EQ(learningRateAt(rate, 0), 0) << name;
    EXPECT_DOUBLE_EQ(learningRateAt(rate, 1), 1e-4) << name;
    EXPECT_DOUBLE_EQ(learningRateAt(rate, 7), 7e-4) << name;
    EXPECT_DOUBLE_EQ(learningRateAt(rate, 10), 1e-3) << name;
  }
}

TEST(LearningRate, DecaysAsTheClosedFormsSay) {
  for (uint64_t t : {11, 35, 60, 85, 90, 100, 109, 110}) {
    double r = double(t - 10) / 100;
    EXPECT_DOUBLE_EQ(learningRateAt(schedule("constant"), t), 1e-3);
    EXPECT_DOUBLE_EQ(learningRateAt(schedule("linear"), t),
                     1e-4 + 9e-4 * (1 - r));
    EXPECT_DOUBLE_EQ(learningRateAt(schedule("cosine"), t),
                     1e-4 + 9e-4 * (std::cos(M_PI * r) + 1) / 2);
    EXPECT_DOUBLE_EQ(learningRateAt(schedule("inverse_sqrt"), t),
                     1e-3 * std::sqrt(10.0 / double(t)));
    double expected =
        t <= 90 ? 1e-3
                : 1e-4 + 9e-4 * (2 * std::exp2(-double(t - 90) / 20) - 1);
    EXPECT_DOUBLE_EQ(learningRateAt(schedule("wsd"), t), expected) << t;
  }
}

// Values that a person can check.
TEST(LearningRate, HasTheRightMarks) {
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("linear"), 60), 5.5e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("cosine"), 60), 5.5e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("inverse_sqrt"), 40), 5e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("cosine"), 110), 1e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("wsd"), 110), 1e-4);
}

TEST(LearningRate, StaysAtTheMinimumAfterwards) {
  for (const char *name : {"linear", "cosine", "inverse_sqrt", "wsd"})
    EXPECT_DOUBLE_EQ(learningRateAt(schedule(name), 111), 1e-4) << name;
  EXPECT_DOUBLE_EQ(learningRateAt(schedule("constant"), 100000), 1e-3);
  program::LearningRate rate = schedule("inverse_sqrt");
  rate.set_minimum(9e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 100), 9e-4);
}

TEST(LearningRate, DegenerateLengthsGiveNumbers) {
  program::LearningRate rate = schedule("linear");
  rate.set_warmup_steps(0);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 0), 1e-3);
  rate.set_decay_steps(0);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 0), 1e-4);
  rate = schedule("wsd");
  rate.set_wsd_decay_steps(0);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 110), 1e-3);
  rate.set_warmup_steps(200);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 150), 7.5e-4);
}

static program::TrainingInfo trainingWith(const program::LearningRate &rate) {
  program::TrainingInfo training;
  training.set_global_batch_size(8);
  *training.mutable_learning_rate() = rate;
  return training;
}

TEST(LearningRate, TheDecayIsOverAtAStep) {
  auto first = [](const char *name) {
    return firstStepAfterDecay(trainingWith(schedule(name)));
  };
  for (const char *name : {"linear", "cosine", "wsd"})
    EXPECT_EQ(first(name), 111u) << name;
  EXPECT_EQ(first("inverse_sqrt"), 112u);
  EXPECT_EQ(first("constant"), std::nullopt);
  for (const char *name : {"linear", "cosine", "wsd", "inverse_sqrt"}) {
    uint64_t step = *first(name);
    EXPECT_GT(learningRateAt(schedule(name), step - 2), 1e-4) << name;
    EXPECT_EQ(learningRateAt(schedule(name), step - 1), 1e-4) << name;
  }
  program::LearningRate flat = schedule("cosine");
  flat.set_minimum(flat.peak());
  EXPECT_EQ(firstStepAfterDecay(trainingWith(flat)), std::nullopt);
}

/// Of a batch of 1, 1, 1, 1, 2, 2, 2 and then 8 sequences.
static program::TrainingInfo growingWith(const char *name, uint64_t decay) {
  program::LearningRate rate = schedule(name);
  rate.clear_warmup_steps();
  rate.clear_decay_steps();
  rate.clear_wsd_decay_steps();
  rate.set_warmup_samples(3);
  rate.set_decay_samples(decay);
  rate.set_wsd_decay_samples(5);
  program::TrainingInfo training = trainingWith(rate);
  for (auto [from, size] :
       {std::pair(0, 1), std::pair(4, 2), std::pair(10, 8)}) {
    training.add_batch_sizes()->set_from(uint64_t(from));
    training.mutable_batch_sizes()->rbegin()->set_size(uint64_t(size));
  }
  return training;
}

TEST(LearningRate, MayFollowFromSamples) {
  program::LearningRate rate = growingWith("linear", 23).learning_rate();
  EXPECT_TRUE(isInSamples(rate));
  EXPECT_FALSE(isInSamples(schedule("linear")));
  EXPECT_EQ(learningRateAt(rate, 0), 0);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 3), 1e-3);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 13), 5.5e-4);
  EXPECT_DOUBLE_EQ(learningRateAt(rate, 24), 1e-4);
  // As a run goes, step by step.
  const std::vector<uint64_t> consumed = {0, 1, 2, 3, 4, 6, 8, 10, 18, 26, 34};
  for (const char *name : {"linear", "cosine", "wsd", "inverse_sqrt"})
    for (uint64_t decay = 4; decay < 30; ++decay) {
      program::TrainingInfo training = growingWith(name, decay);
      uint64_t step = 1;
      while (learningRateAt(training.learning_rate(), consumed[step - 1]) >
                 1e-4 ||
             consumed[step - 1] < decay)
        ++step;
      EXPECT_EQ(firstStepAfterDecay(training), step) << name << " " << decay;
    }
}

TEST(LearningRate, StepsAfterTheDecayAreAnnounced) {
  program::LearningRate rate = schedule("cosine");
  EXPECT_EQ(decayNotice(trainingWith(rate), 1, 110), std::nullopt);
  EXPECT_EQ(decayNotice(trainingWith(rate), 1, 5000),
            "steps 111 to 5,000 train at learning rate 0.0001: its decay ends "
            "after step 110. To stretch it, compile with --set "
            "training.learning_rate.decay_steps=5000");
  EXPECT_EQ(decayNotice(trainingWith(rate), 201, 5000)->substr(0, 18),
            "steps 201 to 5,000");
  rate.set_minimum(0);
  EXPECT_EQ(decayNotice(trainingWith(rate), 1, 111)->substr(0, 40),
            "step 111 trains at learning rate 0: its ");
  EXPECT_EQ(decayNotice(trainingWith(schedule("constant")), 1, 5000),
            std::nullopt);
  EXPECT_EQ(decayNotice(growingWith("cosine", 12), 1, 20),
            "steps 9 to 20 train at learning rate 0.0001: its decay ends after "
            "sample 12. To stretch it, compile with --set "
            "training.learning_rate.decay_samples=114");
}
