//===- NearestNamesTest.cpp - What a misspelt name may stand for ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/NearestNames.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

using Names = std::vector<std::string>;

TEST(NearestNames, EditDistance) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("GELU", "gelu"), 0u);
}

TEST(NearestNames, TheNearestComesFirst) {
  Names names = {"hidden_size", "num_layers", "vocab_size"};
  EXPECT_EQ(nearestNames("hiden_size", names).front(), "hidden_size");
  EXPECT_EQ(nearestNames("num_layers", names), Names{"num_layers"});
  EXPECT_TRUE(nearestNames("zzzzzzzzzzzzzz", names).empty());
  EXPECT_EQ(nearestNames("aa", {"ab", "ac", "ad"}, 2), (Names{"ab", "ac"}));
}

TEST(NearestNames, AnswersAreQuestions) {
  EXPECT_EQ(didYouMean("--dta", {"--data", "--seed"}),
            "; did you mean --data?");
  EXPECT_EQ(didYouMean("xyzzyqq", {"--data", "--seed"}), "");
  EXPECT_EQ(joinAlternatives({"a", "b", "c"}), "a, b or c");
}

} // namespace
