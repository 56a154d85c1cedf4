//===- MockDatasetTest.cpp - Samples of random tokens ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/MockDataset.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;

namespace {

constexpr uint64_t mockLength = 1000, mockVocabulary = 10;

std::unique_ptr<SampleSource> mock(uint64_t seed, Split split = Split::Train) {
  GptDatasetOptions options;
  options.sequenceLength = mockLength, options.vocabularySize = mockVocabulary;
  options.seed = seed;
  return *MockDataset::create(options, split, uint64_t(1) << 40);
}

std::vector<int32_t> read(const SampleSource &samples, uint64_t sample) {
  std::vector<int32_t> tokens(mockLength + 1, -1);
  EXPECT_TRUE(samples.read(sample, tokens).ok());
  return tokens;
}

TEST(MockDataset, DrawsEvenlyFromTheVocabulary) {
  std::vector<int> counts(mockVocabulary);
  auto samples = mock(1);
  for (uint64_t sample = 0; sample < 100; ++sample)
    for (int32_t token : read(*samples, sample)) {
      ASSERT_TRUE(token >= 0 && uint64_t(token) < mockVocabulary);
      ++counts[size_t(token)];
    }
  // 10,010 of each are expected; six deviations of sqrt(n p (1 - p)) are 570.
  for (int count : counts)
    EXPECT_NEAR(count, 10010, 570);
}

TEST(MockDataset, DependsOnSeedSplitAndSampleAlone) {
  auto tokens = read(*mock(1), 5);
  EXPECT_EQ(read(*mock(1), 5), tokens);
  EXPECT_NE(read(*mock(2), 5), tokens);
  EXPECT_NE(read(*mock(1), 6), tokens);
  EXPECT_NE(read(*mock(1), 5 + (uint64_t(1) << 32)), tokens);
  EXPECT_NE(read(*mock(1, Split::Valid), 5), tokens);
}

TEST(MockDataset, HasAnEnd) {
  auto samples = mock(1);
  std::vector<int32_t> tokens(mockLength + 1);
  EXPECT_TRUE(samples->read(samples->size() - 1, tokens).ok());
  EXPECT_FALSE(samples->read(samples->size(), tokens).ok());
}

TEST(MockDataset, IsOfNextTokensAlone) {
  GptDatasetOptions options;
  options.sequenceLength = mockLength, options.vocabularySize = mockVocabulary;
  options.spans.emplace();
  auto made = MockDataset::create(options, Split::Train, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("corrupted spans"), std::string::npos);
}

} // namespace
