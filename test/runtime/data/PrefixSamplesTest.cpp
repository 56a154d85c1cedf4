//===- PrefixSamplesTest.cpp - Samples with a prefix ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/LossMask.h"
#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "test/runtime/data/TokenFiles.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {

constexpr uint64_t length = 20;

class PrefixSamples : public testing::Test {
protected:
  void SetUp() override {
    writeTokenFile(folder / "s",
                   makeTokenFile(std::vector<int32_t>(40, 50), 900));
    options.sequenceLength = length;
    options.vocabularySize = 1000;
    options.seed = 7;
    options.splitWeights = "1";
  }
  std::shared_ptr<SampleSource> open(PrefixOptions prefix) {
    options.prefix = prefix;
    auto source = openSamples({{1, folder / "s"}}, options, Split::Train, 0);
    EXPECT_TRUE(source.ok()) << source.status().message();
    return source.ok() ? *std::move(source) : nullptr;
  }
  /// How many tokens of a sample are not learned.
  static uint64_t prefixOf(const SampleSource &source, uint64_t sample) {
    std::vector<uint8_t> learned(length + 1);
    EXPECT_TRUE(source.readLearned(sample, learned).ok());
    EXPECT_TRUE(std::ranges::is_sorted(learned));
    return uint64_t(std::ranges::count(learned, 0));
  }

  ScratchFolder folder;
  GptDatasetOptions options;
};

// 5 + numpy.random.RandomState(7 + i).randint(0, 11) of sample i.
TEST_F(PrefixSamples, AreAsLongAsNumPyDraws) {
  auto source = open({.least = 0.25, .most = 0.75});
  ASSERT_TRUE(source && source->hasPrefixes());
  std::vector<uint64_t> found;
  for (uint64_t i = 0; i < 12; ++i)
    found.push_back(prefixOf(*source, i));
  EXPECT_EQ(found, (std::vector<uint64_t>{9, 8, 10, 14, 14, 11, 7, 13, 13, 14,
                                          6, 15}));
}

TEST_F(PrefixSamples, LeaveOneTokenAtEitherEnd) {
  auto least = open({.least = 0, .most = 0}),
       most = open({.least = 1, .most = 1});
  ASSERT_TRUE(least && most);
  EXPECT_EQ(prefixOf(*least, 3), 1u);
  EXPECT_EQ(prefixOf(*most, 3), length);
}

TEST_F(PrefixSamples, SeeThePrefixAndLearnTheRest) {
  auto source = open({.least = 0.2, .most = 0.8});
  ASSERT_TRUE(source);
  Batch batch;
  ASSERT_TRUE(readBatch(*source, 2, 3, batch).ok());
  ASSERT_EQ(batch.keyCounts.size(), 3 * length);
  for (uint64_t row = 0; row < 3; ++row) {
    std::vector<int32_t> tokens(length + 1);
    ASSERT_TRUE(source->read(2 + row, tokens).ok());
    uint64_t prefix = prefixOf(*source, 2 + row);
    for (uint64_t i = 0; i < length; ++i) {
      EXPECT_EQ(batch.labels[row * length + i],
                i + 1 < prefix ? -1 : tokens[i + 1]);
      EXPECT_EQ(batch.keyCounts[row * length + i],
                i < prefix ? int32_t(prefix) : int32_t(i + 1));
    }
  }
}

TEST_F(PrefixSamples, AreThoseOfEachFileOfABlend) {
  writeTokenFile(folder / "t",
                 makeTokenFile(std::vector<int32_t>(40, 50), 900));
  options.prefix = PrefixOptions{.least = 0.25, .most = 0.75};
  auto blend = openSamples({{1, folder / "s"}, {1, folder / "t"}}, options,
                           Split::Train, 20);
  ASSERT_TRUE(blend.ok()) << blend.status().message();
  EXPECT_TRUE((*blend)->hasPrefixes());
  for (uint64_t i = 0; i < 20; ++i) {
    uint64_t prefix = prefixOf(**blend, i);
    EXPECT_GE(prefix, 5u);
    EXPECT_LE(prefix, 15u);
  }
}

TEST_F(PrefixSamples, AreNotOfConversations) {
  auto mask = LossMaskWriter::create(folder / "s");
  ASSERT_TRUE(mask.ok());
  ASSERT_TRUE(mask->append(std::vector<uint8_t>(40 * 50, 1)).ok());
  ASSERT_TRUE(mask->finish(length, 1).ok());
  options.prefix = PrefixOptions();
  auto source = openSamples({{1, folder / "s"}}, options, Split::Train, 0);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().message(),
            (folder / "s") +
                ": conversations share sequences, each of which has one "
                "prefix; prepare texts, or train with model.attention_mask: "
                "CAUSAL");
}

} // namespace
