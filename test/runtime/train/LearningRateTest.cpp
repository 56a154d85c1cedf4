//===- LearningRateTest.cpp - Schedules against their closed forms --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LearningRate.h"

#include <cmath>
#include <gtest/gtest.h>

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

TEST(LearningRate, TheDecayIsOverAtAStep) {
  for (const char *name : {"linear", "cosine", "wsd"})
    EXPECT_EQ(firstStepAfterDecay(schedule(name)), 111u) << name;
  EXPECT_EQ(firstStepAfterDecay(schedule("inverse_sqrt")), 112u);
  EXPECT_EQ(firstStepAfterDecay(schedule("constant")), std::nullopt);
  for (const char *name : {"linear", "cosine", "wsd", "inverse_sqrt"}) {
    uint64_t step = *firstStepAfterDecay(schedule(name));
    EXPECT_GT(learningRateAt(schedule(name), step - 2), 1e-4) << name;
    EXPECT_EQ(learningRateAt(schedule(name), step - 1), 1e-4) << name;
  }
  program::LearningRate flat = schedule("cosine");
  flat.set_minimum(flat.peak());
  EXPECT_EQ(firstStepAfterDecay(flat), std::nullopt);
}

TEST(LearningRate, StepsAfterTheDecayAreAnnounced) {
  program::LearningRate rate = schedule("cosine");
  EXPECT_EQ(decayNotice(rate, 1, 110), std::nullopt);
  EXPECT_EQ(decayNotice(rate, 1, 5000),
            "steps 111 to 5,000 train at learning rate 0.0001: its decay ends "
            "after step 110. To stretch it, compile with --set "
            "training.learning_rate.decay_steps=5000");
  EXPECT_EQ(decayNotice(rate, 201, 5000)->substr(0, 18), "steps 201 to 5,000");
  rate.set_minimum(0);
  EXPECT_EQ(decayNotice(rate, 1, 111)->substr(0, 40),
            "step 111 trains at learning rate 0: its ");
  EXPECT_EQ(decayNotice(schedule("constant"), 1, 5000), std::nullopt);
}
