//===- SpanDatasetTest.cpp - Samples of corrupted spans -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SpanDataset.h"
#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "runtime/data/samples/ShowSamples.h"
#include "test/runtime/data/TokenFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {

/// Sizes that T5's own code has: 512 tokens are what 568 become.
TEST(SpanLengths, FillTheEncoder) {
  SpanLengths paper = SpanLengths::fitting(512, 0.15, 3);
  EXPECT_EQ(paper.tokens, 568u);
  EXPECT_EQ(paper.encoder(), 512u);
  EXPECT_EQ(paper.labels(), 114u);
  for (double density : {0.1, 0.15, 0.5, 0.9})
    for (double mean : {1.0, 3.0, 10.0})
      for (uint64_t length = 4; length < 400; length += 7) {
        SpanLengths fits = SpanLengths::fitting(length, density, mean);
        EXPECT_LE(fits.encoder(), length);
        EXPECT_GT(SpanLengths::of(fits.tokens + 1, density, mean).encoder(),
                  length);
      }
}

constexpr int32_t firstSentinel = 999, end = 1, pad = 0;

class SpanDatasetTest : public testing::Test {
protected:
  /// Documents of 1 to 90 tokens, each of which says where it stands.
  void SetUp() override {
    std::vector<int32_t> lengths;
    for (int32_t i = 0; i < 200; ++i)
      lengths.push_back(1 + i * i % 90);
    writeTokenFile(folder / "s", makeTokenFile(lengths, 900));
    options.sequenceLength = 20;
    options.vocabularySize = 1000;
    options.seed = 7;
    options.splitWeights = "1";
    options.spans = SpanOptions{.encoderLength = 40,
                                .end = end,
                                .pad = pad,
                                .firstSentinel = firstSentinel};
  }

  StatusOr<std::unique_ptr<SampleSource>> open(uint64_t samples = 0) const {
    return openSamples({{1, folder / "s"}}, options, Split::Train, samples);
  }
  std::string refusal() const {
    auto source = open();
    return source.ok() ? "" : source.status().message();
  }

  struct Sample {
    std::vector<int32_t> encoder, tokens, labels;
    bool operator==(const Sample &) const = default;
  };
  static Sample read(const SampleSource &source, uint64_t number) {
    Sample sample;
    sample.encoder.resize(source.encoderLength());
    sample.tokens.resize(source.sequenceLength());
    sample.labels.resize(source.sequenceLength());
    SpanSample out{sample.encoder, sample.tokens, sample.labels};
    Status status = source.readSpans(number, out);
    EXPECT_TRUE(status.ok()) << status.message();
    return sample;
  }

  ScratchFolder folder;
  GptDatasetOptions options;
};

/// The tokens of both sequences, put together again.
std::vector<int32_t> joined(const std::vector<int32_t> &encoder,
                            const std::vector<int32_t> &labels) {
  std::vector<int32_t> tokens;
  for (int32_t token : encoder) {
    if (token == end)
      break;
    auto span = std::ranges::find(labels, token);
    if (token <= firstSentinel - 100 || span == labels.end())
      tokens.push_back(token);
    else
      while (*++span < firstSentinel - 99 && *span != end)
        tokens.push_back(*span);
  }
  return tokens;
}

TEST_F(SpanDatasetTest, BothSequencesAreTheRun) {
  auto source = *open();
  GptDatasetOptions plain = options;
  plain.spans.reset();
  SpanLengths lengths = SpanLengths::fitting(40, 0.15, 3);
  plain.sequenceLength = lengths.tokens;
  auto runs = *openSamples({{1, folder / "s"}}, plain, Split::Train, 0);
  ASSERT_EQ(source->size(), runs->size());
  for (uint64_t i = 0; i < source->size(); ++i) {
    SCOPED_TRACE("sample " + std::to_string(i));
    Sample sample = read(*source, i);
    std::vector<int32_t> run(lengths.tokens + 1);
    ASSERT_TRUE(runs->read(i, run).ok());
    run.pop_back();
    if (std::ranges::count(run, end) == 0) { // It is a token of the text too.
      ASSERT_EQ(joined(sample.encoder, sample.labels), run);
    }
    ASSERT_EQ(sample.encoder.back(), end);
    ASSERT_EQ(sample.labels[lengths.labels() - 1], end);
    ASSERT_EQ(sample.tokens[0], pad);
    for (uint64_t t = 0; t < options.sequenceLength; ++t) {
      bool isLabel = t < lengths.labels();
      ASSERT_EQ(sample.labels[t] >= 0, isLabel) << t;
      if (t > 0) {
        ASSERT_EQ(sample.tokens[t], isLabel ? sample.labels[t - 1] : pad) << t;
      }
    }
    auto segments = *source->segments(i);
    uint64_t total = 0;
    for (const SampleSegment &segment : segments)
      total += segment.length;
    ASSERT_EQ(total, lengths.tokens);
  }
}

/// What T5's recipe gives (golden/spans.py), of a file of one document.
TEST_F(SpanDatasetTest, SpansAreThoseOfT5) {
  auto lines =
      readGolden(HOCKET_SOURCE_DIR "/test/runtime/data/golden/spans.txt");
  size_t cases = 0;
  for (size_t next = 0; next < lines.size(); ++cases) {
    const auto &how = lines[next++].numbers;
    const auto &sizes = lines[next++].numbers;
    SCOPED_TRACE("encoder of " + std::to_string(how[0]));
    double density = double(how[1]) / 100, mean = double(how[2]) / 100;
    SpanLengths lengths = SpanLengths::fitting(uint64_t(how[0]), density, mean);
    EXPECT_EQ(sizes, (std::vector<int64_t>{int64_t(lengths.tokens),
                                           int64_t(lengths.noise),
                                           int64_t(lengths.spans)}));
    for (int64_t number = 0; number < 3; ++number) {
      // A file of one sample, whose number in the golden file is in the seed.
      auto tokens = int32_t(lengths.tokens);
      TokenFile file = makeTokenFile({tokens + 1}, 1);
      file.bin.clear();
      for (int64_t i = 0; i <= tokens; ++i)
        appendBytes<uint16_t>(file.bin, uint16_t((i * 7 + number) % 600 + 100));
      writeTokenFile(folder / "one", file);
      options.sequenceLength = lengths.labels() + 3;
      options.seed = uint64_t(how[3] + number);
      options.spans->encoderLength = uint64_t(how[0]);
      options.spans->noiseDensity = density;
      options.spans->meanSpanLength = mean;
      auto source =
          openSamples({{1, folder / "one"}}, options, Split::Train, 1);
      ASSERT_TRUE(source.ok()) << source.status().message();
      Sample sample = read(**source, 0);
      sample.labels.resize(lengths.labels());
      sample.encoder.resize(lengths.encoder());
      EXPECT_EQ(
          std::vector<int64_t>(sample.encoder.begin(), sample.encoder.end()),
          lines[next++].numbers);
      EXPECT_EQ(
          std::vector<int64_t>(sample.labels.begin(), sample.labels.end()),
          lines[next++].numbers);
    }
  }
  EXPECT_EQ(cases, 6u);
}

TEST_F(SpanDatasetTest, SamplesGoByTheirNumber) {
  auto once = *open(), again = *open(2 * once->size());
  std::set<std::vector<int32_t>> shapes;
  for (uint64_t i = 0; i < once->size(); ++i) {
    Sample sample = read(*once, i);
    EXPECT_EQ(sample, read(*once, i));
    std::vector<int32_t> shape;
    for (size_t t = 0; t < sample.encoder.size(); ++t)
      if (sample.encoder[t] > firstSentinel - 10)
        shape.push_back(int32_t(t));
    shapes.insert(shape);
  }
  // 37 tokens that are left stand in two groups, cut in any of 36 places.
  EXPECT_GT(shapes.size(), 20u) << "spans are where they were";
  EXPECT_GE(again->size(), 2 * once->size());
}

TEST_F(SpanDatasetTest, BatchesHaveBothSequences) {
  std::shared_ptr<const SampleSource> source = *open();
  Batch batch;
  ASSERT_TRUE(readBatch(*source, 3, 2, batch).ok());
  EXPECT_EQ(batch.encoderLength, 40u);
  for (uint64_t row : {0, 1}) {
    Sample sample = read(*source, 3 + row);
    auto rowOf = [&](const std::vector<int32_t> &list, uint64_t length) {
      auto begin = list.begin() + ptrdiff_t(row * length);
      return std::vector<int32_t>(begin, begin + ptrdiff_t(length));
    };
    EXPECT_EQ(rowOf(batch.encoderTokens, 40), sample.encoder);
    EXPECT_EQ(rowOf(batch.tokens, 20), sample.tokens);
    EXPECT_EQ(rowOf(batch.labels, 20), sample.labels);
  }
  EXPECT_EQ(batch.countLabels(0, 2),
            2 * SpanLengths::fitting(40, 0.15, 3).labels());
}

TEST_F(SpanDatasetTest, BlendsHaveBothSequences) {
  writeTokenFile(folder / "t", makeTokenFile({500, 700}, 800));
  auto source = openSamples({{0.5, folder / "s"}, {0.5, folder / "t"}}, options,
                            Split::Train, 20);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->encoderLength(), 40u);
  EXPECT_EQ(read(**source, 5).encoder.back(), end);
}

TEST_F(SpanDatasetTest, ShowsBothSequences) {
  auto source = *open();
  ShowOptions show;
  show.range = {2, 3};
  std::ostringstream text, json;
  ASSERT_TRUE(showSamples(*source, show, text).ok());
  EXPECT_THAT(text.str(), testing::HasSubstr("\n  encoder "));
  EXPECT_THAT(text.str(), testing::HasSubstr("\n  labels 999 "));
  show.json = true;
  ASSERT_TRUE(showSamples(*source, show, json).ok());
  EXPECT_THAT(json.str(), testing::HasSubstr("\"encoder_tokens\":["));
}

TEST_F(SpanDatasetTest, RefusesWhatDoesNotFit) {
  options.sequenceLength = 8;
  EXPECT_EQ(refusal(), "an encoder of 40 tokens leaves 10 to the decoder, "
                       "whose sequences have 8");
  options.sequenceLength = 20;
  options.spans->sentinels = 1;
  EXPECT_EQ(refusal(), "a sample has 2 spans, and there are 1 sentinel from "
                       "token 999 down");
  options.spans->sentinels = 100;
  options.spans->noiseDensity = 1;
  EXPECT_EQ(refusal(), "spans are corrupted in encoders of 4 tokens or more, "
                       "with a share of noise between 0 and 1 and a mean "
                       "length of 1 or more");
  options.spans.reset();
  auto plain = *open();
  SpanSample sample;
  EXPECT_EQ(plain->readSpans(0, sample).message(),
            "these samples have no corrupted spans");
}

} // namespace
