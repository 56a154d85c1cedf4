//===- SampleIndexTest.cpp - Against a slow statement of the order --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SampleIndex.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <limits>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

template <typename T> static std::vector<int64_t> widen(const T &values) {
  return {values.begin(), values.end()};
}

static std::vector<int64_t> flatten(const std::vector<SampleStart> &starts) {
  std::vector<int64_t> flat;
  for (SampleStart start : starts) {
    flat.push_back(start.position);
    flat.push_back(start.offset);
  }
  return flat;
}

TEST(SampleIndex, MatchesGolden) {
  auto lines = readGolden(HOCKET_SOURCE_DIR
                          "/test/runtime/data/golden/sample_index.txt");
  ASSERT_EQ(lines.size(), 13u * 6u);
  for (size_t i = 0; i < lines.size(); i += 6) {
    SCOPED_TRACE("case " + std::to_string(i / 6));
    const auto &c = lines[i].numbers;
    std::vector<int32_t> lengths(lines[i + 1].numbers.begin(),
                                 lines[i + 1].numbers.end());
    SampleIndexRequest request;
    request.lengths = lengths;
    request.begin = uint64_t(c[0]);
    request.end = uint64_t(c[1]);
    request.samples = uint64_t(c[2]);
    request.sequenceLength = uint64_t(c[3]);
    request.seed = uint32_t(c[4]);
    auto index = buildSampleIndex(request);
    ASSERT_TRUE(index.ok()) << index.status().message();
    EXPECT_EQ(int64_t(index->plan.epochs), lines[i + 2].numbers[0]);
    EXPECT_EQ(index->plan.separateFinalEpoch, lines[i + 2].numbers[1] != 0);
    EXPECT_EQ(widen(index->documents), lines[i + 3].numbers);
    EXPECT_EQ(flatten(index->starts), lines[i + 4].numbers);
    EXPECT_EQ(widen(index->shuffle), lines[i + 5].numbers);
    EXPECT_GE(index->plan.samples, request.samples);
  }
}

// What Megatron's own helper made of documents in NumPy's order.
TEST(SampleIndex, CutsAsMegatronDoes) {
  auto lines = readGolden(HOCKET_SOURCE_DIR
                          "/test/runtime/data/golden/megatron_order.txt");
  unsigned cases = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].word != "lengths")
      continue;
    SCOPED_TRACE("case " + std::to_string(cases++));
    std::vector<int32_t> lengths(lines[i].numbers.begin(),
                                 lines[i].numbers.end());
    std::vector<int32_t> documents(lines[i + 2].numbers.begin(),
                                   lines[i + 2].numbers.end());
    const std::vector<int64_t> &starts = lines[i + 3].numbers;
    EXPECT_EQ(flatten(cutSamples(lengths, documents, starts.size() / 2 - 1,
                                 uint64_t(lines[i + 1].numbers[0]))),
              starts);
  }
  EXPECT_EQ(cases, 6u);
}

TEST(SampleIndex, WorkedExample) {
  std::vector<int32_t> lengths = {5, 3, 7, 4}, order = {2, 0, 3, 1};
  std::vector<SampleStart> expected = {{0, 0}, {0, 4}, {1, 1}, {2, 0}, {3, 0}};
  EXPECT_EQ(cutSamples(lengths, order, 4, 4), expected);
}

static std::string planError(uint64_t tokens, uint64_t samples,
                             uint64_t length) {
  auto plan = planEpochs(tokens, samples, length);
  return plan.ok() ? "fine" : plan.status().message();
}

TEST(SampleIndex, RefusesWhatCannotBe) {
  constexpr uint64_t huge = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(planError(0, 1, 4), "expected documents with tokens, found none");
  EXPECT_EQ(planError(10, 1, 0),
            "expected a sequence length of at least 1, found 0");
  EXPECT_EQ(planError(4, 0, 4),
            "expected at least 4 + 1 tokens for one sample, found 4");
  EXPECT_EQ(planError(5, 0, 4), "fine");
  EXPECT_EQ(planError(10, huge, 2),
            "18446744073709551615 samples of 2 tokens overflow 64 bits");
  EXPECT_EQ(planError(10, huge / 2, 2),
            "9223372036854775807 samples of 2 tokens overflow 64 bits");
}

TEST(SampleIndex, RefusesMoreThanItsNumbersHold) {
  std::vector<int32_t> lengths = {3, 4};
  SampleIndexRequest request;
  request.lengths = lengths;
  request.end = 2;
  request.samples = 6000000000;
  request.sequenceLength = 1;
  auto index = buildSampleIndex(request);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(index.status().message(),
            "857142858 epochs of 2 documents make 6000000005 samples; a sample "
            "index holds at most 4294967294 of either");
}

TEST(Split, RoundsHalfToEven) {
  // .5 * 5 = 2.5 -> 2 and .5 * 7 = 3.5 -> 4.
  EXPECT_EQ(*parseSplitBounds("1,1", 5), (SplitBounds{0, 2, 5, 5}));
  EXPECT_EQ(*parseSplitBounds("1,1", 7), (SplitBounds{0, 4, 7, 7}));
  EXPECT_EQ(*parseSplitBounds("969,30,1", 1000),
            (SplitBounds{0, 969, 999, 1000}));
  EXPECT_EQ(*parseSplitBounds("100", 3), (SplitBounds{0, 3, 3, 3}));
  EXPECT_EQ(*parseSplitBounds("0,0,1", 3), (SplitBounds{0, 0, 0, 3}));
  EXPECT_EQ(*parseSplitBounds("8,1,1", 0), (SplitBounds{0, 0, 0, 0}));
}

static std::string splitError(const std::string &text) {
  auto bounds = parseSplitBounds(text, 10);
  return bounds.ok() ? "fine" : bounds.status().message();
}

TEST(Split, RefusesBadWeights) {
  std::string hint = "; expected up to three weights such as 969,30,1";
  EXPECT_EQ(splitError(""), "data split '': not a number" + hint);
  EXPECT_EQ(splitError("9,a"), "data split '9,a': not a number" + hint);
  EXPECT_EQ(splitError("9;1"), "data split '9;1': not a number" + hint);
  EXPECT_EQ(splitError("9,nan"), "data split '9,nan': not a number" + hint);
  EXPECT_EQ(splitError("9,-1"),
            "data split '9,-1': a weight is negative" + hint);
  EXPECT_EQ(splitError("1,1,1,1"),
            "data split '1,1,1,1': more than three weights" + hint);
  EXPECT_EQ(splitError("0,0"),
            "data split '0,0': the weights do not sum to a positive number" +
                hint);
}

TEST(Split, Names) {
  EXPECT_EQ(*parseSplit("valid"), Split::Valid);
  EXPECT_EQ(splitName(Split::Test), "test");
  EXPECT_EQ(parseSplit("dev").status().message(),
            "expected the split train, valid or test, found 'dev'");
}

TEST(Split, SamplesOfARun) {
  RunLength run{.steps = 1000,
                .globalBatchSize = 8,
                .validInterval = 300,
                .validBatches = 5};
  EXPECT_EQ(*samplesOfRun(run, Split::Train), 8000u);
  EXPECT_EQ(*samplesOfRun(run, Split::Valid), 4u * 5 * 8);
  EXPECT_EQ(*samplesOfRun(run, Split::Test), 40u);
  run.validInterval = 0;
  EXPECT_EQ(*samplesOfRun(run, Split::Valid), 40u);
  run.steps = 1ull << 62;
  EXPECT_EQ(samplesOfRun(run, Split::Train).status().message(),
            "4611686018427387904 steps of 8 samples and 1 validations of 5 "
            "batches overflow 64 bits");
}
