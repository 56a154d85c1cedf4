//===- PerplexityTest.cpp - How well a text is predicted ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/Perplexity.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace hocket::evaluate;

/// Token i of the text is i.
static std::vector<int32_t> textOf(size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(SlidingWindows, AskAboutEveryTokenOnce) {
  for (size_t count : {2, 3, 7, 8, 9, 10, 16, 17, 33, 100})
    for (size_t window : {1, 2, 7, 8, 50, 200})
      for (size_t stride = 1; stride <= window; stride += 1 + window / 5) {
        SCOPED_TRACE(testing::Message() << count << " tokens, window " << window
                                        << ", stride " << stride);
        int32_t next = 1;
        for (const ScoreRequest &request :
             slidingWindows(textOf(count), window, stride)) {
          ASSERT_LE(request.tokens.size(), window + 1);
          ASSERT_LT(request.first, request.tokens.size());
          ASSERT_GE(request.first, 1u);
          EXPECT_EQ(request.tokens[request.first], next);
          // Behind the first window a token has what the stride leaves it.
          if (next > 1)
            EXPECT_GE(request.first, window - stride + 1);
          next = request.tokens.back() + 1;
        }
        EXPECT_EQ(next, int32_t(count));
      }
}

TEST(SlidingWindows, OfTextsTooShortAreNone) {
  EXPECT_TRUE(slidingWindows(textOf(0), 4, 2).empty());
  EXPECT_TRUE(slidingWindows(textOf(1), 4, 2).empty());
}

TEST(Likelihood, IsToldByTokenAndByWord) {
  Likelihood sum = sumOf({{{-1, -2}, {}}, {{-3}, {}}});
  EXPECT_EQ(sum.tokens, 3u);
  EXPECT_EQ(sum.logProbability, -6);
  EXPECT_EQ(sum.loss(), 2);
  EXPECT_DOUBLE_EQ(sum.perplexity(), std::exp(2.0));
  // Megatron-LM: loss * tokens / (words - 1).
  EXPECT_DOUBLE_EQ(sum.wordPerplexity(4), std::exp(2.0));
  EXPECT_DOUBLE_EQ(sum.wordPerplexity(3), std::exp(3.0));
  EXPECT_TRUE(std::isnan(sum.wordPerplexity(1)));
  EXPECT_TRUE(std::isnan(Likelihood().loss()));
}
