//===- ShowSamplesTest.cpp - Samples as text or JSON ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ShowSamples.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

static std::string rangeText(const std::string &text) {
  auto range = parseSampleRange(text);
  return range.ok()
             ? std::to_string(range->begin) + " " + std::to_string(range->end)
             : range.status().message();
}

TEST(ShowSamples, ReadsRanges) {
  EXPECT_EQ(rangeText("2:5"), "2 5");
  EXPECT_EQ(rangeText("7"), "7 8");
  for (std::string bad : {"", "5:2", "2:2", "a", "1:b", "-1:2", "1:2:3",
                          "18446744073709551615", "18446744073709551616:1"})
    EXPECT_EQ(rangeText(bad),
              "expected samples A:B with A < B, found '" + bad + "'");
}

namespace {
class ShowSamplesTest : public ::testing::Test {
protected:
  void SetUp() override {
    TokenFile file = makeTokenFile({3, 4}, 9);
    // "hi" a line feed, then "abc" and the end of a document.
    const uint16_t tokens[] = {'h', 'i', '\n', 'a', 'b', 'c', 256};
    file.bin.assign(reinterpret_cast<const char *>(tokens), sizeof(tokens));
    writeTokenFile(folder / "s", file);
    GptDatasetOptions options;
    options.sequenceLength = 5;
    options.vocabularySize = 257;
    options.seed = 1;
    options.splitWeights = "1";
    source = *openSamples({{1, folder / "s"}}, options, Split::Train, 0);
  }
  std::string show(const ShowOptions &options) {
    std::ostringstream out;
    Status status = showSamples(*source, options, out);
    return status.ok() ? out.str() : status.message();
  }
  ScratchFolder folder;
  std::unique_ptr<SampleSource> source;
};
} // namespace

TEST_F(ShowSamplesTest, AsJson) {
  ShowOptions options;
  options.range = {0, 1};
  options.json = true;
  EXPECT_EQ(show(options),
            "{\"sample\":0,\"pieces\":[{\"prefix\":\"" + (folder / "s") +
                "\",\"sequence\":0,\"offset\":0,\"length\":3},{\"prefix\":\"" +
                (folder / "s") +
                "\",\"sequence\":1,\"offset\":0,\"length\":3}],\"tokens\":["
                "104,105,10,97,98,99]}\n");
}

TEST_F(ShowSamplesTest, AsText) {
  auto tokenizer = tokenizer::openTokenizer("byte");
  ShowOptions options;
  options.range = {0, 1};
  options.tokenizer = tokenizer->get();
  EXPECT_EQ(show(options), "sample 0\n  " + (folder / "s") +
                               " sequence 0 [0, 3)  hi\\n\n    104 105 10\n  " +
                               (folder / "s") +
                               " sequence 1 [0, 3)  abc\n    97 98 99\n");
}

TEST_F(ShowSamplesTest, RefusesSamplesThatDoNotExist) {
  ShowOptions options;
  options.range = {0, 2};
  EXPECT_EQ(show(options), "expected samples below 1, found 0:2");
}
