//===- DataSourcesTest.cpp - The token files that a spec names ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/DataSources.h"

#include "frontends/spec/LoadSpec.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::spec;

namespace {

StatusOr<LoadedSpec> parseData(const std::string &data,
                               const LoadOptions &options = {}) {
  return parseSpec("model { layers: 2 hidden: 64 heads: 4 vocab_size: 257 "
                   "max_positions: 32 }\ntraining { data {\n" +
                       data + " } }\n",
                   "a.textproto", options);
}

using SourceWords = std::vector<std::string>;

TEST(DataSources, AreTheWordsOfACommandLine) {
  auto loaded =
      parseData("train { path: \"data/a b\" weight: 0.7 } "
                "train { path: \"c\" weight: 0.1 } train { path: \"d\" } "
                "valid { path: \"e\" weight: 5 }");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Data &data = loaded->spec.training().data();
  EXPECT_EQ(blendWords(data.train()),
            (SourceWords{"0.7", "data/a b", "0.1", "c", "1", "d"}));
  EXPECT_EQ(blendWords(data.valid()), (SourceWords{"e"}));
  EXPECT_EQ(blendWords(data.test()), (SourceWords{}));
  std::string once = printSpec(loaded->spec);
  auto again = parseSpec(once, "b.textproto");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(printSpec(again->spec), once);
}

TEST(DataSources, OverridesNameAnEntry) {
  auto loaded = parseData("train { path: \"a\" }",
                          {"",
                           {"training.data.train[0].weight=3",
                            "training.data.train[1]={path: \"b\"}",
                            "training.data.test[0].path=@blend.txt"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Data &data = loaded->spec.training().data();
  EXPECT_EQ(blendWords(data.train()), (SourceWords{"3", "a", "1", "b"}));
  EXPECT_EQ(blendWords(data.test()), (SourceWords{"@blend.txt"}));
}

TEST(DataSources, ErrorsNameThePlace) {
  const std::pair<const char *, const char *> cases[] = {
      {"train { }",
       "1: S45: training.data.train[0] names no token files; write its path"},
      {"train { path: \"a\" }\n  train { path: \"\" }",
       "S45: training.data.train[1] names no token files; write its path"},
      {"train { path: \"a\\0b\" }",
       "9: S45: the path of training.data.train[0] has a zero byte; leave it "
       "out"},
      {"train { path: \"a\" weight: 0 }",
       "19: S10: training.data.train[0].weight is 0; write a number above 0 "
       "and at most 1e+06"},
      {"train { path: \"a\" weight: nan }",
       "19: S10: training.data.train[0].weight is nan; write a number above 0 "
       "and at most 1e+06"},
      {"train { path: \"a\" } train { path: \"@b\" }",
       "29: S45: @b is a file with the words of a blend, which is all that "
       "training.data.train can have; write its words as entries"},
      {"valid { path: \"a\" }",
       "1: S45: training.data.valid stands beside the data to train on; write "
       "training.data.train too"},
      {"train { path: \"a\" wieght: 1 }",
       "19: S1: training.data.train has no field \"wieght\"; did you mean "
       "weight?"},
      {"eod_mask_loss: true",
       "1: S48: training.data.eod_mask_loss wants to know where documents end; "
       "write training.data.eod_token, the last token of each"},
      {"reset_position_ids: true",
       "1: S48: training.data.reset_position_ids wants to know where documents "
       "end; write training.data.eod_token, the last token of each"},
      {"reset_attention_mask: true eod_token: 1000000000",
       "28: S48: training.data.eod_token is 1000000000; write a token of the "
       "vocabulary, below 257"},
      {"eod_token: -1",
       "1: S4: training.data.eod_token is -1; write a number from 0 to "
       "2147483646"},
      {"train { path: a }", "15: S1: Expected string, got: a"},
      {"train: \"a\"", "8: S1: Expected \"{\", found \"\"a\"\"."},
  };
  for (auto [data, message] : cases) {
    auto loaded = parseData(data);
    ASSERT_FALSE(loaded.ok()) << data;
    EXPECT_EQ(loaded.status().code(), StatusCode::InvalidArgument);
    std::string found = loaded.status().message();
    bool isSecondLine = std::string(data).find('\n') != std::string::npos;
    EXPECT_EQ(found, (isSecondLine ? "a.textproto:4:11: " : "a.textproto:3:") +
                         std::string(message));
  }
}

/// A list of words and one of numbers grow by an entry, too.
TEST(DataSources, EveryListTakesAnEntry) {
  auto loaded = parseData(
      "", {"",
           {"plan.recompute=SELECTIVE", "plan.recompute_modules[0]=MLP",
            "plan.layers_per_stage[0]=2"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->spec.plan().recompute_modules(0), Plan::MLP);
}

} // namespace
