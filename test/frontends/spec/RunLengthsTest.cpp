//===- RunLengthsTest.cpp - Runs in samples, schedules as fractions -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/LoadSpec.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::spec;

namespace {

const char *const model = "model { layers: 2 hidden: 64 heads: 4 vocab_size: "
                          "257 max_positions: 32 }\n";

StatusOr<LoadedSpec> parse(const std::string &training,
                           const LoadOptions &options = {}) {
  return parseSpec(model + ("training { " + training + " }\n"), "a.textproto",
                   options);
}

struct Lengths {
  int64_t steps = 0, warmup = 0, decay = 0, wsdDecay = 0;
  bool operator==(const Lengths &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Lengths &lengths) {
  return out << lengths.steps << " steps, " << lengths.warmup
             << " of warm-up, decay " << lengths.decay << ", of WSD "
             << lengths.wsdDecay;
}

Lengths lengthsOf(const std::string &training,
                  const LoadOptions &options = {}) {
  StatusOr<LoadedSpec> loaded = parse(training, options);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.status().message();
    return {};
  }
  const Training &found = loaded->spec.training();
  EXPECT_FALSE(found.has_train_samples());
  const LearningRate &rate = found.learning_rate();
  EXPECT_FALSE(rate.has_warmup_samples() || rate.has_decay_samples() ||
               rate.has_wsd_decay_samples() || rate.has_warmup_fraction());
  return {found.steps(), rate.warmup_steps(), rate.decay_steps(),
          rate.wsd_decay_steps()};
}

std::string errorOf(const std::string &training,
                    const LoadOptions &options = {}) {
  StatusOr<LoadedSpec> loaded = parse(training, options);
  if (loaded.ok())
    return "accepted";
  EXPECT_EQ(loaded.status().code(), StatusCode::InvalidArgument);
  return loaded.status().message();
}

TEST(RunLengths, WholeStepsAreExact) {
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 800"),
            (Lengths{100, 0, 100, 0}));
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 800 learning_rate { "
                      "warmup_samples: 80 decay_samples: 640 }"),
            (Lengths{100, 10, 80, 0}));
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 800 learning_rate { "
                      "schedule: WSD warmup_samples: 80 wsd_decay_samples: 160 "
                      "}"),
            (Lengths{100, 10, 100, 20}));
}

TEST(RunLengths, BrokenStepsAreRoundedAsTheScheduleChanges) {
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 807 learning_rate { "
                      "warmup_samples: 81 decay_samples: 647 }"),
            (Lengths{100, 11, 80, 0}));
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 15 learning_rate { "
                      "warmup_samples: 15 }"),
            (Lengths{1, 1, 1, 0}));
  // The defaults of WSD are those of a run in steps.
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 800 learning_rate { "
                      "schedule: WSD }"),
            (Lengths{100, 0, 100, 10}));
}

TEST(RunLengths, TheBatchMayFollowFromThePlan) {
  EXPECT_EQ(lengthsOf("micro_batch_size: 2 train_samples: 80",
                      {"", {"plan.data_parallel=4"}}),
            (Lengths{10, 0, 10, 0}));
  EXPECT_EQ(lengthsOf("micro_batch_size: 2 train_samples: 80",
                      {"", {"training.global_batch_size=16"}}),
            (Lengths{5, 0, 5, 0}));
}

TEST(RunLengths, AFractionIsOfTheDecay) {
  EXPECT_EQ(lengthsOf("steps: 1000 learning_rate { warmup_fraction: 0.07 }"),
            (Lengths{1000, 70, 1000, 0}));
  EXPECT_EQ(lengthsOf("steps: 1000 learning_rate { warmup_fraction: 0.1 "
                      "decay_steps: 301 }"),
            (Lengths{1000, 31, 301, 0}));
  EXPECT_EQ(lengthsOf("global_batch_size: 8 train_samples: 807 learning_rate { "
                      "warmup_fraction: 0.5 decay_samples: 400 }"),
            (Lengths{100, 25, 50, 0}));
  EXPECT_EQ(lengthsOf("steps: 10 learning_rate { warmup_fraction: 1 }"),
            (Lengths{10, 10, 10, 0}));
}

/// Megatron's schedule counts samples; with t steps done it warms up while
/// t * batch <= warmup, decays while t * batch <= decay, and WSD holds the peak
/// while t * batch <= decay - wsdDecay.
TEST(RunLengths, EveryPartBeginsAtMegatronsStep) {
  for (int64_t batch : {1, 3, 8, 13})
    for (int64_t warmup : {0, 1, 12, 13, 14, 50})
      for (int64_t decay : {60, 64, 65, 111})
        for (int64_t wsd : {0, 1, 5, 8}) {
          Lengths found =
              lengthsOf("global_batch_size: " + std::to_string(batch) +
                        " train_samples: 120 learning_rate { schedule: WSD "
                        "warmup_samples: " +
                        std::to_string(warmup) +
                        " decay_samples: " + std::to_string(decay) +
                        " wsd_decay_samples: " + std::to_string(wsd) + " }");
          EXPECT_EQ(found.steps, 120 / batch);
          for (int64_t t = 0; t <= found.steps; ++t) {
            EXPECT_EQ(t >= found.warmup, t * batch >= warmup);
            EXPECT_EQ(t > found.decay, t * batch > decay);
            // Both may be within one step; the warm-up then ends with it.
            if (t > found.warmup)
              EXPECT_EQ(t > found.decay - found.wsdDecay,
                        t * batch > decay - wsd);
          }
        }
}

TEST(RunLengths, ErrorsNameThePlace) {
  const std::string at = "a.textproto:2:", rate = "learning_rate { ";
  EXPECT_EQ(errorOf("train_samples: 8 steps: 8"),
            at + "12: S44: training.train_samples and training.steps both say "
                 "how long the run is; leave one out");
  EXPECT_EQ(errorOf("train_samples: 8", {"", {"training.steps=8"}}),
            at + "12: S44: training.train_samples and training.steps both say "
                 "how long the run is; leave one out");
  EXPECT_EQ(errorOf("train_samples: 0"),
            at + "12: S4: training.train_samples is 0; write a number from 1 "
                 "to 281474976710656");
  EXPECT_EQ(errorOf("train_samples: 8.5"),
            at + "27: S1: Expected integer, got: 8.5");
  EXPECT_EQ(errorOf("global_batch_size: 8 train_samples: 7"),
            at + "33: S44: training.train_samples is 7, less than a step "
                 "takes; write at least global_batch_size (8)");
  EXPECT_EQ(errorOf("train_samples: 8 " + rate + "warmup_samples: 9 }"),
            at + "45: S15: warmup_samples is 9; write at most decay_samples "
                 "(8)");
  EXPECT_EQ(errorOf("train_samples: 8 " + rate + "decay_samples: 0 }"),
            at + "45: S4: training.learning_rate.decay_samples is 0; write a "
                 "number from 1 to 281474976710656");
  EXPECT_EQ(errorOf("train_samples: 8 " + rate + "warmup_steps: 2 }"),
            at + "45: S44: warmup_steps is in steps, but the run is in samples "
                 "(train_samples); write warmup_samples");
  EXPECT_EQ(errorOf("steps: 8 " + rate + "decay_samples: 2 }"),
            at + "37: S44: decay_samples is in samples, but the run is in "
                 "steps; write decay_steps, or train_samples for the run");
  EXPECT_EQ(errorOf(rate + "warmup_steps: 2 warmup_fraction: 0.5 }"),
            at + "44: S44: training.learning_rate.warmup_fraction and "
                 "training.learning_rate.warmup_steps both say how long the "
                 "warm-up is; leave one out");
  EXPECT_EQ(errorOf(rate + "warmup_fraction: 1.5 }"),
            at + "28: S10: training.learning_rate.warmup_fraction is 1.5; "
                 "write a number of at least 0 and at most 1");
  EXPECT_EQ(errorOf("train_samples: 8 " + rate + "wsd_decay_samples: 2 }"),
            at + "45: S15: wsd_decay_samples has no use with schedule: COSINE; "
                 "write schedule: WSD, or leave it out");
  EXPECT_EQ(errorOf("train_samples: 8 " + rate +
                    "schedule: WSD warmup_samples: 3 wsd_decay_samples: 6 }"),
            at + "77: S15: wsd_decay_samples is 6; write at most decay_samples "
                 "- warmup_samples (5)");
  // Of a batch that is wrong itself.
  EXPECT_EQ(errorOf("global_batch_size: 0 train_samples: 8"),
            at + "12: S4: training.global_batch_size is 0; write a number from "
                 "1 to 16777216");
}

} // namespace
