//===- BatchGrowthTest.cpp - Batches that grow ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/LoadSpec.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace hocket;
using namespace hocket::spec;
using testing::HasSubstr;

namespace hocket {
static std::ostream &operator<<(std::ostream &out, const BatchSize &row) {
  return out << row.size << " from " << row.from;
}
} // namespace hocket

namespace {

const char *const grownModel =
    "model { layers: 4 hidden: 64 heads: 4 vocab_size: "
    "257 max_positions: 32 }\n";

StatusOr<LoadedSpec> parseGrowth(const std::string &training,
                                 const LoadOptions &options = {}) {
  return parseSpec(grownModel + ("training { " + training + " }\n"),
                   "a.textproto", options);
}

Training loadGrowth(const std::string &training,
                    const LoadOptions &options = {}) {
  StatusOr<LoadedSpec> loaded = parseGrowth(training, options);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.status().message();
    return {};
  }
  return loaded->spec.training();
}

std::vector<BatchSize> growthSizes(const std::string &training) {
  return batchSizesOf(loadGrowth(training)).sizes();
}

std::string growthError(const std::string &training,
                        const LoadOptions &options = {}) {
  StatusOr<LoadedSpec> loaded = parseGrowth(training, options);
  if (loaded.ok())
    return "accepted";
  EXPECT_EQ(loaded.status().code(), StatusCode::InvalidArgument);
  return loaded.status().message();
}

std::string rampup(int64_t start, int64_t increment, int64_t samples) {
  return " rampup_batch_size { start: " + std::to_string(start) +
         " increment: " + std::to_string(increment) +
         " samples: " + std::to_string(samples) + " } ";
}

/// golden/rampup.txt is what Megatron-LM's own calculator says.
TEST(BatchGrowth, IsMegatronsRampup) {
  std::ifstream file(HOCKET_SOURCE_DIR
                     "/test/frontends/spec/golden/rampup.txt");
  std::string line;
  int cases = 0;
  for (; std::getline(file, line); ++cases) {
    std::istringstream numbers(line);
    int64_t start, increment, samples, whole;
    numbers >> start >> increment >> samples >> whole;
    std::vector<BatchSize> expected;
    for (BatchSize row; numbers >> row.size >> row.from;)
      expected.push_back(row);
    ASSERT_GE(expected.size(), 2u);
    EXPECT_EQ(growthSizes("global_batch_size: " + std::to_string(whole) +
                          rampup(start, increment, samples)),
              expected)
        << line;
  }
  EXPECT_EQ(cases, 10);
}

TEST(BatchGrowth, ATableIsReadRowByRow) {
  EXPECT_EQ(growthSizes("global_batch_size: 12 "
                        "batch_size_steps { batch_size: 3 samples: 7 } "
                        "batch_size_steps { batch_size: 4 samples: 10 }"),
            (std::vector<BatchSize>{{0, 3}, {9, 4}, {17, 12}}));
  // A row that the step before it has gone over has no steps.
  EXPECT_EQ(growthSizes("global_batch_size: 12 "
                        "batch_size_steps { batch_size: 3 samples: 7 } "
                        "batch_size_steps { batch_size: 4 samples: 2 }"),
            (std::vector<BatchSize>{{0, 3}, {9, 12}}));
}

/// What is written into an executable reads back as itself.
TEST(BatchGrowth, IsTheSameOnceResolved) {
  for (const std::string &training :
       {"global_batch_size: 8 train_samples: 120 learning_rate { schedule: WSD "
        "warmup_fraction: 0.1 }" +
            rampup(2, 2, 30),
        "global_batch_size: 12 steps: 40 learning_rate { warmup_steps: 3 } "
        "batch_size_steps { batch_size: 3 samples: 7 }" +
            std::string(),
        "global_batch_size: 12 steps: 40 learning_rate { warmup_samples: 5 } "
        "batch_size_steps { batch_size: 3 samples: 7 }" +
            std::string()}) {
    StatusOr<LoadedSpec> once = parseGrowth(training);
    ASSERT_TRUE(once.ok()) << once.status().message();
    StatusOr<LoadedSpec> again =
        parseSpec(printSpec(once->spec), "b.textproto");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(printSpec(again->spec), printSpec(once->spec));
  }
}

TEST(BatchGrowth, StepsAreCounted) {
  // 2 2 2 2 2, 4 4 4, 6 6, then 8 at a time: Megatron throws the rest away.
  Training found =
      loadGrowth("global_batch_size: 8 train_samples: 120" + rampup(2, 2, 30));
  EXPECT_EQ(found.steps(), 5 + 3 + 2 + (120 - 34) / 8);
  EXPECT_FALSE(found.has_train_samples());
  EXPECT_FALSE(found.has_rampup_batch_size());
  EXPECT_EQ(found.learning_rate().decay_samples(), 120);
  EXPECT_FALSE(found.learning_rate().has_decay_steps());
  // A run may end before the batch is whole.
  EXPECT_EQ(
      loadGrowth("global_batch_size: 8 train_samples: 13" + rampup(2, 2, 30))
          .steps(),
      5);
}

TEST(BatchGrowth, TheScheduleKeepsItsUnit) {
  LearningRate rate =
      loadGrowth("global_batch_size: 8 steps: 40 learning_rate { "
                 "warmup_steps: 5 }" +
                 rampup(2, 2, 30))
          .learning_rate();
  EXPECT_EQ(rate.warmup_steps(), 5);
  EXPECT_EQ(rate.decay_steps(), 40);
  EXPECT_FALSE(rate.has_decay_samples());
  rate =
      loadGrowth("global_batch_size: 8 steps: 40 learning_rate { schedule: WSD "
                 "warmup_samples: 9 }" +
                 rampup(2, 2, 30))
          .learning_rate();
  EXPECT_EQ(rate.warmup_samples(), 9);
  EXPECT_EQ(rate.decay_samples(), 34 + 30 * 8);
  EXPECT_EQ(rate.wsd_decay_samples(), (34 + 30 * 8) / 10);
  EXPECT_FALSE(rate.has_warmup_steps() || rate.has_decay_steps());
}

TEST(BatchGrowth, ErrorsNameThePlace) {
  const std::string eight = "global_batch_size: 8";
  auto row = [](int64_t size, int64_t samples) {
    return " batch_size_steps { batch_size: " + std::to_string(size) +
           " samples: " + std::to_string(samples) + " } ";
  };
  struct Wrong {
    std::string training, message;
    LoadOptions options = {};
  };
  const std::vector<Wrong> all = {
      {eight + rampup(2, 2, 30) + row(2, 8),
       "S46: training.rampup_batch_size and batch_size_steps both say how the "
       "batch grows; leave one out"},
      {eight + " rampup_batch_size { start: 2 samples: 8 }",
       "S46: training.rampup_batch_size wants start, increment and samples"},
      {eight + rampup(8, 2, 30),
       "S46: training.rampup_batch_size.start is 8; write less than "
       "global_batch_size (8), to which the batch grows"},
      {eight + rampup(2, 4, 30),
       "S46: training.rampup_batch_size.increment is 4; write a divisor of "
       "global_batch_size - start (6)"},
      {"global_batch_size: 2000" + rampup(1, 1, 30000),
       "S46: the batch grows 1999 times; write a larger increment, for at "
       "most 1024"},
      {eight + rampup(0, 2, 30), "S4: training.rampup_batch_size.start is 0"},
      {eight + rampup(2, 2, 0), "S4: training.rampup_batch_size.samples is 0"},
      {eight + rampup(2, -2, 9),
       "S4: training.rampup_batch_size.increment is -2"},
      {eight + " batch_size_steps { batch_size: 2 }",
       "S46: training.batch_size_steps[0] wants batch_size and samples"},
      {eight + row(2, 8) + row(2, 8),
       "S46: the batch grows, but training.batch_size_steps[0].batch_size is "
       "2, and behind it comes 2; write a smaller one"},
      {eight + row(2, 8) + row(9, 8),
       "S46: the batch grows, but training.batch_size_steps[1].batch_size is "
       "9, and behind it comes 8 (global_batch_size); write a smaller one"},
      {eight + row(0, 8), "S4: training.batch_size_steps[0].batch_size is 0"},
      {eight + row(2, int64_t(1) << 60),
       "S4: training.batch_size_steps[0].samples is 1152921504606846976"},
      {eight + " train_samples: 1" + rampup(2, 2, 30),
       "S44: training.train_samples is 1, less than a step takes; write at "
       "least the first batch (2)"},
      {eight + " steps: 9 learning_rate { warmup_steps: 2 decay_samples: 40 }" +
           rampup(2, 2, 30),
       "S44: warmup_steps is in steps, but the rest of the schedule is in "
       "samples; write warmup_samples"},
      {eight + " train_samples: 99 learning_rate { warmup_steps: 2 }" +
           rampup(2, 2, 30),
       "S44: warmup_steps is in steps, but the run is in samples"},
      {eight + " train_samples: 99 learning_rate { warmup_samples: 100 }" +
           rampup(2, 2, 30),
       "S15: warmup_samples is 100; write at most decay_samples (99)"},
      {eight + rampup(2, 2, 30),
       "S14: the batch grows through 2, which is not a multiple of "
       "micro_batch_size (1) * plan.data_parallel (4); write 4",
       {"", {"plan.data_parallel=4"}}},
  };
  for (const Wrong &wrong : all) {
    std::string error = growthError(wrong.training, wrong.options);
    EXPECT_THAT(error, HasSubstr(wrong.message)) << wrong.training;
    EXPECT_THAT(error, testing::StartsWith("a.textproto:2:"));
  }
}

/// Who only asks a model takes no batch apart.
TEST(BatchGrowth, CountsForNothingWhereNothingIsTrained) {
  LoadOptions options;
  options.anyBatch = true;
  options.overrides = {"plan.data_parallel=4"};
  Training found = loadGrowth("global_batch_size: 8 steps: 40 learning_rate { "
                              "warmup_samples: 9 }" +
                                  rampup(2, 2, 30),
                              options);
  EXPECT_FALSE(batchGrows(found));
}

} // namespace
