//===- BatchSizesTest.cpp - A global batch that may grow ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

BatchSizes sizesOf(std::vector<BatchSize> rows) {
  StatusOr<BatchSizes> sizes = BatchSizes::create(std::move(rows));
  EXPECT_TRUE(sizes.ok()) << sizes.status().message();
  return sizes.ok() ? *sizes : BatchSizes(1);
}

std::string faultOf(std::vector<BatchSize> rows) {
  StatusOr<BatchSizes> sizes = BatchSizes::create(std::move(rows));
  return sizes.ok() ? "accepted" : sizes.status().message();
}

/// Step by step, as a run goes.
void expectSameAsCounting(const BatchSizes &sizes, uint64_t most) {
  uint64_t consumed = 0;
  for (uint64_t steps = 0; consumed < most; ++steps) {
    EXPECT_EQ(sizes.samplesIn(steps), consumed);
    uint64_t size = sizes.sizeAfter(consumed);
    for (uint64_t samples = consumed; samples < consumed + size; ++samples)
      EXPECT_EQ(sizes.stepsIn(samples), steps) << samples;
    consumed += size;
  }
}

TEST(BatchSizes, CountAsARunDoes) {
  expectSameAsCounting(BatchSizes(3), 40);
  expectSameAsCounting(sizesOf({{0, 1}, {4, 3}, {10, 8}}), 60);
  expectSameAsCounting(sizesOf({{0, 2}, {2, 5}, {32, 6}}), 80);
}

TEST(BatchSizes, DoNotOverflow) {
  EXPECT_EQ(BatchSizes(8).samplesIn(uint64_t(1) << 61), std::nullopt);
  EXPECT_EQ(sizesOf({{0, 1}, {4, 8}}).samplesIn((uint64_t(1) << 61) + 4),
            std::nullopt);
}

TEST(BatchSizes, SayWhatIsWrong) {
  EXPECT_EQ(faultOf({}), "the first batch size is not from sample 0");
  EXPECT_EQ(faultOf({{2, 1}}), "the first batch size is not from sample 0");
  EXPECT_EQ(faultOf({{0, 0}}), "batch size 0 from sample 0 is none");
  EXPECT_EQ(faultOf({{0, 2}, {4, 2}}),
            "batch size 2 from sample 4 does not grow: the one before it is 2 "
            "from sample 0");
  EXPECT_EQ(faultOf({{0, 2}, {0, 3}}),
            "batch size 3 from sample 0 does not grow: the one before it is 2 "
            "from sample 0");
  EXPECT_EQ(faultOf({{0, 2}, {5, 3}}),
            "batch size 3 from sample 5 begins within a step of 2");
}

TEST(TrainEntries, HaveOneNameForEachNumber) {
  for (uint64_t most : {1, 8, 100})
    for (uint64_t number = 1; number <= most; ++number) {
      std::string name = trainEntryName(number, most);
      EXPECT_TRUE(isTrainEntry(name));
      EXPECT_EQ(microbatchesOfEntry(name, most), number);
    }
  EXPECT_EQ(trainEntryName(8, 8), "train_step");
  EXPECT_EQ(trainEntryName(2, 8), "train_step.2");
  for (const char *other : {"eval_step", "train_stepper", "train", ""}) {
    EXPECT_FALSE(isTrainEntry(other)) << other;
    EXPECT_EQ(microbatchesOfEntry(other, 8), std::nullopt);
  }
  for (const char *odd :
       {"train_step.", "train_step.08", "train_step.8", "train_step.0",
        "train_step.x", "train_step.-1", "train_step.99999999999999999999"})
    EXPECT_EQ(microbatchesOfEntry(odd, 8), std::nullopt) << odd;
}

} // namespace
