//===- BatchSourceTest.cpp - Who trains on which sample, and when ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/BatchSource.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;

namespace {
/// Token t of sample i is 10 i + t.
struct Counting : SampleSource {
  explicit Counting(uint64_t count) : count(count) {}
  uint64_t size() const override { return count; }
  uint64_t sequenceLength() const override { return 3; }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override {
    HOCKET_RETURN_IF_ERROR(checkSample(sample));
    for (size_t t = 0; t < tokens.size(); ++t)
      tokens[t] = int32_t(10 * sample + t);
    return okStatus();
  }
  StatusOr<std::vector<SampleSegment>> segments(uint64_t) const override {
    return std::vector<SampleSegment>();
  }
  uint64_t count;
};
} // namespace

static std::unique_ptr<BatchSource>
open(const BatchGeometry &geometry, uint64_t consumed, uint64_t count = 1000) {
  auto source = BatchSource::create(std::make_shared<Counting>(count), geometry,
                                    consumed);
  EXPECT_TRUE(source.ok());
  return *std::move(source);
}

TEST(BatchSource, TokensAndTheTokensThatFollow) {
  auto source = open({.microBatchSize = 2}, 4);
  Batch batch;
  ASSERT_TRUE(source->next(batch).ok());
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{40, 41, 42, 50, 51, 52}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{41, 42, 43, 51, 52, 53}));
  EXPECT_EQ(batch.firstSample, 4u);
}

/// An end at the end of a sequence, in its midst and at its beginning.
TEST(BatchSource, DocumentsThatShareASequence) {
  Counting source(1000);
  Batch batch;
  for (bool masks : {false, true})
    for (int32_t end : {42, 51, 60}) {
      SCOPED_TRACE(std::to_string(end) + (masks ? " masks" : ""));
      ASSERT_TRUE(readBatch(source, 4, 3, batch, {end, masks}).ok());
      std::vector<int32_t> positions = {0, 1, 2, 0, 1, 2, 0, 1, 2};
      std::vector<int32_t> labels = {41, 42, 43, 51, 52, 53, 61, 62, 63};
      for (size_t i = 0; i < 9; ++i) {
        if (batch.tokens[i] != end)
          continue;
        if (masks)
          labels[i] = -1;
        int32_t position = 0; // Of what follows in its sequence.
        for (size_t j = i + 1; j % 3 != 0; ++j)
          positions[j] = position++;
      }
      EXPECT_EQ(batch.positions, positions);
      EXPECT_EQ(batch.labels, labels);
      EXPECT_EQ(batch.countLabels(0, 3), masks ? 8u : 9u);
      EXPECT_EQ(batch.countLabels(1, 1), masks && end == 51 ? 2u : 3u);
    }
}

// All ranks together use each sample once, in the order of one rank that has
// the whole batch.
TEST(BatchSource, RanksShareAStepWithoutGapOrOverlap) {
  for (uint64_t ranks : {1u, 2u, 4u}) {
    BatchGeometry geometry;
    geometry.microBatchSize = 3;
    geometry.microbatches = 2;
    geometry.ranks = ranks;
    std::vector<uint64_t> used;
    for (geometry.rank = 0; geometry.rank < ranks; ++geometry.rank) {
      auto source = open(geometry, 7);
      Batch batch;
      for (uint64_t m = 0; m < 2 * geometry.microbatches; ++m) {
        ASSERT_TRUE(source->next(batch).ok());
        // Rank r's rows of microbatch m of step s.
        EXPECT_EQ(batch.firstSample, 7 + m * 3 * ranks + 3 * geometry.rank);
        for (uint64_t row = 0; row < 3; ++row)
          used.push_back(batch.firstSample + row);
      }
      EXPECT_EQ(source->consumedSamples(), 7 + 2 * 6 * ranks);
    }
    std::sort(used.begin(), used.end());
    for (size_t i = 0; i < used.size(); ++i)
      EXPECT_EQ(used[i], 7 + i);
    EXPECT_EQ(used.size(), 12 * ranks);
  }
}

TEST(BatchSource, ContinuesWhereAnotherStopped) {
  BatchGeometry geometry{.microBatchSize = 2, .microbatches = 3};
  auto whole = open(geometry, 0);
  Batch batch, other;
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(whole->next(batch).ok());
  auto resumed = open(geometry, whole->consumedSamples());
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(whole->next(batch).ok());
    ASSERT_TRUE(resumed->next(other).ok());
    EXPECT_EQ(batch.tokens, other.tokens);
    EXPECT_EQ(batch.labels, other.labels);
  }
}

TEST(BatchSource, EndsWithTheSamples) {
  auto source = open({.microBatchSize = 2}, 0, 5);
  Batch batch;
  EXPECT_TRUE(source->next(batch).ok());
  EXPECT_TRUE(source->next(batch).ok());
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(source->next(batch).message(),
              "sample 5 does not exist; there are 5 samples");
}

TEST(BatchSource, StopsWhileReadingAhead) {
  for (int i = 0; i < 50; ++i) {
    auto source = open({.microBatchSize = 1}, 0, 1000000);
    Batch batch;
    EXPECT_TRUE(source->next(batch).ok());
  }
}

TEST(BatchSource, RefusesAnEmptyOrHugeGeometry) {
  auto message = [](const BatchGeometry &geometry) {
    return BatchSource::create(std::make_shared<Counting>(1), geometry, 0)
        .status()
        .message();
  };
  EXPECT_EQ(message({.microBatchSize = 0}),
            "expected at least one sample, one microbatch and a rank below 1; "
            "found 0 samples, 1 microbatch, rank 0");
  EXPECT_EQ(message({.ranks = 2, .rank = 2}),
            "expected at least one sample, one microbatch and a rank below 2; "
            "found 1 sample, 1 microbatch, rank 2");
  EXPECT_EQ(message({.microBatchSize = 1ull << 40}),
            "1 microbatch of 1099511627776 x 3 tokens on 1 rank; expected "
            "at most 2^31 tokens and 2^31 of the others");
}
