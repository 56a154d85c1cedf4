//===- BlendedDatasetTest.cpp - Mixing token files ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RunSamples.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

/// The dataset of each sample, and that numbers count up in each.
static std::vector<uint16_t> blendOrder(const std::vector<double> &weights,
                                        uint64_t samples) {
  auto order = BlendOrder::open("none", weights, samples, {});
  EXPECT_TRUE(order.ok()) << order.status().message();
  std::vector<uint16_t> parts;
  std::vector<uint32_t> next(weights.size());
  for (uint64_t i = 0; order.ok() && i < samples; ++i) {
    BlendChoice choice = *order->choiceOf(i);
    EXPECT_EQ(choice.number, next[choice.part]++);
    parts.push_back(choice.part);
  }
  return parts;
}

TEST(BlendedDataset, OrderOfTheExample) {
  EXPECT_EQ(blendOrder({.5, .3, .2}, 10),
            (std::vector<uint16_t>{0, 1, 2, 0, 1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(blendOrder({.5, .5}, 4), (std::vector<uint16_t>{0, 1, 0, 1}));
}

TEST(BlendedDataset, OrderFollowsTheWeights) {
  auto order = blendOrder({.07, .62, .31}, 10000);
  std::vector<int> taken(3);
  for (uint16_t d : order)
    ++taken[d];
  EXPECT_NEAR(taken[0], 700, 1);
  EXPECT_NEAR(taken[1], 6200, 1);
  EXPECT_NEAR(taken[2], 3100, 1);
}

TEST(BlendedDataset, HalfAPercentMoreThanTheShare) {
  EXPECT_EQ(samplesOfShare(0.3, 1000), 302u);
  EXPECT_EQ(samplesOfShare(1.0, 1), 2u);
}

// What Megatron's own helper made, its normalised weights included.
TEST(BlendedDataset, OrderIsMegatrons) {
  auto lines = readGolden(HOCKET_SOURCE_DIR
                          "/test/runtime/data/golden/megatron_order.txt");
  unsigned blends = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].word != "weights")
      continue;
    SCOPED_TRACE("blend " + std::to_string(blends++));
    std::vector<double> weights(lines[i].numbers.begin(),
                                lines[i].numbers.end());
    const std::vector<int64_t> &dataset = lines[i + 1].numbers;
    auto order = blendOrder(normalizeWeights(weights), dataset.size());
    EXPECT_EQ(std::vector<int64_t>(order.begin(), order.end()), dataset);
    std::vector<int64_t> taken(weights.size()), samples;
    for (uint16_t d : order)
      samples.push_back(taken[d]++);
    EXPECT_EQ(samples, lines[i + 2].numbers);
  }
  EXPECT_EQ(blends, 7u);
}

// NumPy's sums of so many tenths; one after the other they make others.
TEST(BlendedDataset, WeightsAreAddedAsNumPyDoes) {
  const std::pair<size_t, double> sums[] = {{7, 0x1.6666666666666p-1},
                                            {8, 0x1.999999999999ap-1},
                                            {12, 0x1.3333333333334p+0},
                                            {150, 0x1.dfffffffffffep+3},
                                            {300, 0x1.dffffffffffffp+4}};
  for (auto [count, sum] : sums)
    EXPECT_EQ(normalizeWeights(std::vector<double>(count, 0.1))[0], 0.1 / sum)
        << count;
}

static std::string blendError(const std::vector<std::string> &words) {
  auto parts = parseBlend(words);
  return parts.ok() ? "fine" : parts.status().message();
}

TEST(BlendedDataset, ReadsWeightsAndPrefixes) {
  auto parts = parseBlend({"0.7", "a", "3", "b"});
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ((*parts)[1].prefix, "b");
  EXPECT_EQ((*parts)[1].weight, 3);
  EXPECT_EQ(blendError({"a"}), "fine");
  EXPECT_EQ(blendError({}), "expected a data prefix, found none");
  EXPECT_EQ(blendError({"1", "a", "b"}),
            "expected one data prefix, or pairs WEIGHT PREFIX; found 3 words");
  EXPECT_EQ(blendError({"-1", "a"}),
            "expected a positive weight before 'a', found '-1'");
  EXPECT_EQ(blendError({"x", "a"}),
            "expected a positive weight before 'a', found 'x'");
}

TEST(BlendedDataset, ReadsWeightsAndPrefixesFromAFile) {
  ScratchFolder folder;
  std::string path = folder / "blend", name = "@" + path;
  writeBytes(path, "0.7 data/a\n\t0.3\n  data/b\n");
  auto parts = parseBlend({name});
  ASSERT_TRUE(parts.ok()) << parts.status().message();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].weight, 0.7);
  EXPECT_EQ((*parts)[1].prefix, "data/b");
  writeBytes(path, " data/a ");
  EXPECT_EQ((*parseBlend({name}))[0].prefix, "data/a");
  writeBytes(path, "\n");
  EXPECT_EQ(blendError({name}), path + ": expected a data prefix, found none");
  writeBytes(path, "0.5 a x b");
  EXPECT_EQ(blendError({name}),
            path + ": expected a positive weight before 'b', found 'x'");
  EXPECT_EQ(blendError({name + "s"}),
            path + "s: cannot open: No such file or directory");
  // A list within a list is a prefix, not a list.
  writeBytes(path, name);
  EXPECT_EQ((*parseBlend({name}))[0].prefix, name);
}

TEST(BlendedDataset, TakesEachPartsSamplesInTurn) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({40, 25, 60}, 50));
  writeTokenFile(folder / "b", makeTokenFile({70, 33}, 90));
  GptDatasetOptions options;
  options.sequenceLength = 8;
  options.vocabularySize = 100;
  options.seed = 11;
  options.splitWeights = "1";
  auto blend = openSamples({{3, folder / "a"}, {1, folder / "b"}}, options,
                           Split::Train, 20);
  ASSERT_TRUE(blend.ok()) << blend.status().message();
  ASSERT_EQ((*blend)->size(), 20u);
  auto order = blendOrder({.75, .25}, 20);
  std::vector<std::unique_ptr<SampleSource>> parts;
  for (auto [name, share] : {std::pair{"a", .75}, std::pair{"b", .25}}) {
    auto part = openSamples({{1, folder / name}}, options, Split::Train,
                            samplesOfShare(share, 20));
    ASSERT_TRUE(part.ok()) << part.status().message();
    parts.push_back(*std::move(part));
  }
  std::vector<uint64_t> next(2);
  std::vector<int32_t> got(9), want(9);
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE((*blend)->read(i, got).ok());
    ASSERT_TRUE(parts[order[i]]->read(next[order[i]], want).ok());
    EXPECT_EQ(got, want);
    auto segments = (*blend)->segments(i);
    ASSERT_TRUE(segments.ok());
    EXPECT_EQ(segments->front().prefix, folder / (order[i] ? "b" : "a"));
    ++next[order[i]];
  }
  EXPECT_EQ((*blend)->read(20, got).message(),
            "sample 20 does not exist; there are 20 samples");
}

TEST(BlendedDataset, PrefixesAreFoundByWhatWasPrepared) {
  ScratchFolder folder;
  TokenFile file = makeTokenFile({4}, 9);
  writeTokenFile(folder / "plain", file);
  writeTokenFile(folder / "c_text_document", file);
  EXPECT_EQ(*resolvePrefix(folder / "plain"), folder / "plain");
  EXPECT_EQ(*resolvePrefix(folder / "plain.bin"), folder / "plain");
  EXPECT_EQ(*resolvePrefix(folder / "c"), folder / "c_text_document");
  writeTokenFile(folder / "c_body_document", file);
  EXPECT_EQ(
      resolvePrefix(folder / "c").status().message(),
      folder / "c: several files were prepared, name one: " + folder.path +
          "/c_body_document " + folder.path + "/c_text_document");
  EXPECT_EQ(resolvePrefix("/nonexistent/x").status().message(),
            "/nonexistent/x.idx: there is no such file, and no "
            "/nonexistent/x_<key>_document.idx; `hocket data prepare INPUT -o "
            "/nonexistent/x` writes one");
}

/// Both are used whole, in the order of any data that is.
TEST(RunSamples, ValidationMayHaveDataOfItsOwn) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({40, 25, 60, 9, 31}, 50));
  writeTokenFile(folder / "b", makeTokenFile({70, 33, 12}, 90));
  GptDatasetOptions options;
  options.sequenceLength = 8;
  options.vocabularySize = 100;
  options.splitWeights = "60,40";
  RunLength run{
      .steps = 4, .globalBatchSize = 2, .validInterval = 2, .validBatches = 3};
  auto tokensOf = [&](const StatusOr<std::unique_ptr<SampleSource>> &source) {
    std::vector<int32_t> all, tokens(9);
    EXPECT_TRUE(source.ok()) << source.status().message();
    for (uint64_t i = 0; source.ok() && i < (*source)->size(); ++i) {
      EXPECT_TRUE((*source)->read(i, tokens).ok());
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  };
  GptDatasetOptions whole = options;
  whole.splitWeights = "1";
  RunData apart{{folder / "a"}, {"0.5", folder / "a", "0.5", folder / "b"}};
  EXPECT_EQ(tokensOf(openRunSamples(apart, options, run, Split::Train)),
            tokensOf(openSamples({{1, folder / "a"}}, whole, Split::Train, 8)));
  // (4 / 2 + 1) validations of 3 batches of 2.
  EXPECT_EQ(tokensOf(openRunSamples(apart, options, run, Split::Valid)),
            tokensOf(openSamples({{0.5, folder / "a"}, {0.5, folder / "b"}},
                                 whole, Split::Train, 18)));
  // Without, both are shares of one.
  RunData shared{{folder / "a"}, {}};
  for (Split split : {Split::Train, Split::Valid})
    EXPECT_EQ(tokensOf(openRunSamples(shared, options, run, split)),
              tokensOf(openSamples({{1, folder / "a"}}, options, split,
                                   *samplesOfRun(run, split))));
  EXPECT_EQ(
      openRunSamples(apart, options, run, Split::Test).status().message(),
      "--valid-data: all data is used whole, and nothing is left for test");
  apart.testData = {folder / "b"};
  EXPECT_EQ(tokensOf(openRunSamples(apart, options, run, Split::Test)),
            tokensOf(openSamples({{1, folder / "b"}}, whole, Split::Train, 6)));
  apart.validData.clear();
  EXPECT_EQ(
      openRunSamples(apart, options, run, Split::Valid).status().message(),
      "training.data.test: all data is used whole, and nothing is left "
      "for validation");
  RunData wrong{{"x", "y", "z"}, {"1", "b", "c"}};
  EXPECT_TRUE(openRunSamples(wrong, options, run, Split::Train)
                  .status()
                  .message()
                  .starts_with("--data: expected one data prefix"));
  EXPECT_TRUE(openRunSamples(wrong, options, run, Split::Valid)
                  .status()
                  .message()
                  .starts_with("--valid-data: expected one data prefix"));
}
