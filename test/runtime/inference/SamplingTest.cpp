//===- SamplingTest.cpp - From logits to a token --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Sampling.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace hocket;
using namespace hocket::inference;

namespace {

/// Logits of these probabilities, shifted.
std::vector<float> logitsOf(const std::vector<double> &probabilities) {
  std::vector<float> logits;
  for (double p : probabilities)
    logits.push_back(float(std::log(p)) + 3);
  return logits;
}

void expectNear(const std::vector<double> &actual,
                const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-6) << "token " << i;
}

const std::vector<double> four = {0.1, 0.4, 0.3, 0.2};

} // namespace

TEST(Sampling, DrawsFromTheModelUnlessToldOtherwise) {
  expectNear(probabilitiesOf(logitsOf(four), {}, {}), four);
}

TEST(Sampling, TemperatureDividesLogits) {
  // p^2 / sum p^2
  expectNear(probabilitiesOf(logitsOf(four), {}, {.temperature = 0.5}),
             {0.01 / 0.3, 0.16 / 0.3, 0.09 / 0.3, 0.04 / 0.3});
  expectNear(probabilitiesOf(logitsOf(four), {}, {.temperature = 0}),
             {0, 1, 0, 0});
  // Of as likely tokens the lowest.
  expectNear(probabilitiesOf(logitsOf({0.2, 0.4, 0.4}), {}, {.temperature = 0}),
             {0, 1, 0});
  expectNear(
      probabilitiesOf(std::vector<float>{0, 800}, {}, {.temperature = 0.001}),
      {0, 1});
}

TEST(Sampling, CutsOffTheUnlikely) {
  expectNear(probabilitiesOf(logitsOf(four), {}, {.topK = 2}),
             {0, 4. / 7, 3. / 7, 0});
  expectNear(probabilitiesOf(logitsOf(four), {}, {.topK = 9}), four);
  expectNear(
      probabilitiesOf(logitsOf({0.25, 0.25, 0.25, 0.25}), {}, {.topK = 2}),
      {0.5, 0.5, 0, 0});
  // 0.4 + 0.3 reach 0.6; 0.4 alone reaches 0.3.
  expectNear(probabilitiesOf(logitsOf(four), {}, {.topP = 0.6}),
             {0, 4. / 7, 3. / 7, 0});
  expectNear(probabilitiesOf(logitsOf(four), {}, {.topP = 0.3}), {0, 1, 0, 0});
  // At least 0.6 * 0.4.
  expectNear(probabilitiesOf(logitsOf(four), {}, {.minP = 0.6}),
             {0, 4. / 7, 3. / 7, 0});
  expectNear(probabilitiesOf(logitsOf(four), {}, {.minP = 1}), {0, 1, 0, 0});
  // Of the three likeliest, 0.4 of 0.9 does not reach a half.
  expectNear(probabilitiesOf(logitsOf(four), {}, {.topK = 3, .topP = 0.5}),
             {0, 4. / 7, 3. / 7, 0});
}

TEST(Sampling, PenalizesWhatHasOccurredOnce) {
  std::vector<float> logits = {1, -1, 2};
  std::vector<int32_t> occurred = {0, 1, 0, 0};
  std::vector<double> weights = {std::exp(0.5), std::exp(-2.0), std::exp(2.0)};
  double sum = weights[0] + weights[1] + weights[2];
  expectNear(probabilitiesOf(logits, occurred, {.repetitionPenalty = 2}),
             {weights[0] / sum, weights[1] / sum, weights[2] / sum});
}

TEST(Sampling, DrawsByTheRandomNumber) {
  std::vector<float> logits = logitsOf(four);
  auto draw = [&](double random) {
    return *sampleToken(logits, {}, {}, random);
  };
  EXPECT_EQ(draw(0), 0);
  EXPECT_EQ(draw(0.0999), 0);
  EXPECT_EQ(draw(0.1001), 1);
  EXPECT_EQ(draw(0.4999), 1);
  EXPECT_EQ(draw(0.7999), 2);
  EXPECT_EQ(draw(0.8001), 3);
  EXPECT_EQ(draw(std::nextafter(1.0, 0.0)), 3);
  // The last of those that are left, whatever rounding leaves of the sum.
  EXPECT_EQ(*sampleToken(logits, {}, {.topK = 2}, std::nextafter(1.0, 0.0)), 2);
}

TEST(Sampling, RefusesLogitsThatAreNoNumbers) {
  std::vector<float> logits = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(sampleToken(logits, {}, {}, 0.5).status().code(),
            StatusCode::DataLoss);
  logits[1] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(sampleToken(logits, {}, {.temperature = 0}, 0.5).ok());
}

TEST(Sampling, RefusesOptionsOutOfRange) {
  EXPECT_TRUE(checkSampling({}).ok());
  auto fault = [](const SamplingOptions &options) {
    return checkSampling(options).message();
  };
  EXPECT_EQ(fault({.temperature = -1}),
            "temperature is -1, expected 0 or more");
  EXPECT_EQ(fault({.topP = 0}),
            "top_p is 0, expected a number above 0 and up to 1");
  EXPECT_EQ(fault({.topP = 1.5}),
            "top_p is 1.5, expected a number above 0 and up to 1");
  EXPECT_EQ(fault({.minP = -0.1}),
            "min_p is -0.1, expected a number from 0 to 1");
  EXPECT_EQ(fault({.repetitionPenalty = 0}),
            "repetition_penalty is 0, expected a number above 0");
}

/// Moments of the uniform distribution within five of their standard errors,
/// and no two neighbours alike.
TEST(RandomNumbers, AreUniformAndDependOnTheirPlace) {
  constexpr int count = 100000;
  double sum = 0, squares = 0, product = 0, last = 0.5;
  for (int i = 0; i < count; ++i) {
    double random = randomAt(7, uint64_t(i) / 1000, uint64_t(i) % 1000);
    ASSERT_GE(random, 0);
    ASSERT_LT(random, 1);
    sum += random;
    squares += random * random;
    product += (random - 0.5) * (last - 0.5);
    last = random;
  }
  double error = 5 / std::sqrt(double(count));
  EXPECT_NEAR(sum / count, 1. / 2, error * std::sqrt(1. / 12));
  EXPECT_NEAR(squares / count, 1. / 3, error * std::sqrt(4. / 45));
  EXPECT_NEAR(product / count, 0, error / 12);
  EXPECT_NE(randomAt(7, 0, 1), randomAt(7, 1, 0));
  EXPECT_NE(randomAt(7, 0, 0), randomAt(8, 0, 0));
  EXPECT_EQ(randomAt(7, 3, 5), randomAt(7, 3, 5));
}
