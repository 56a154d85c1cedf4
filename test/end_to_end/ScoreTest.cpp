//===- ScoreTest.cpp - How likely tokens are, under every plan ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ragged requests are answered alike by every plan, and bit for bit alike
/// whatever else is in their batch; and the answer is what training computes.
///
//===----------------------------------------------------------------------===//

#include "runtime/inference/Score.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::inference;
using namespace hocket::test;

namespace {

/// Of the table's models: vocabulary 61, sequences of 16.
constexpr size_t vocabulary = 61, longest = 17;

/// Of every length, and asking about some of the tokens.
std::vector<ScoreRequest> raggedRequests() {
  std::vector<ScoreRequest> requests;
  uint32_t state = 12345;
  for (size_t length = 2; length <= longest; ++length) {
    ScoreRequest &request = requests.emplace_back();
    for (size_t i = 0; i < length; ++i) {
      state = state * 1664525 + 1013904223;
      request.tokens.push_back(int32_t((state >> 8) % vocabulary));
    }
    request.first = 1 + (length * 7) % (length - 1);
    request.asksLikeliest = length % 3 == 0;
  }
  return requests;
}

std::vector<Scores> scoresOf(const SharedProgram &program,
                             const std::vector<ScoreRequest> &requests) {
  auto answers = score(
      program, std::make_shared<const std::vector<ScoreRequest>>(requests), {});
  EXPECT_TRUE(answers.ok()) << answers.status().message();
  return answers.ok() ? *answers : std::vector<Scores>();
}

void expectNear(const std::vector<Scores> &actual,
                const std::vector<Scores> &expected, const char *what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::vector<float> &from = actual[i].logProbabilities;
    const std::vector<float> &to = expected[i].logProbabilities;
    ASSERT_EQ(from.size(), to.size()) << what;
    EXPECT_EQ(actual[i].likeliest, expected[i].likeliest) << what;
    for (size_t j = 0; j < to.size(); ++j)
      EXPECT_NEAR(from[j], to[j], 1e-5 * std::abs(to[j]))
          << what << ", request " << i << ", token " << j;
  }
}

void expectSameBits(const Scores &actual, const Scores &expected) {
  const std::vector<float> &a = actual.logProbabilities;
  const std::vector<float> &b = expected.logProbabilities;
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), b.size() * sizeof(float)), 0);
  EXPECT_EQ(actual.likeliest, expected.likeliest);
}

class ScoredPlans : public TrainedPlans {
protected:
  /// Of every third plan: training compares all of them.
  void expectSameScores(const ModelRow &model, std::span<const PlanRow> plans) {
    std::vector<ScoreRequest> requests = raggedRequests();
    std::vector<Scores> one =
        scoresOf(compile(model, {"One", "", 2}), requests);
    ASSERT_EQ(one.size(), requests.size());
    for (size_t i = 0; i < plans.size(); i += 3)
      expectNear(scoresOf(compile(model, plans[i]), requests), one,
                 plans[i].name);
  }
};

TEST_F(ScoredPlans, OfAGptAgree) { expectSameScores(gpt, contextPlans()); }

TEST_F(ScoredPlans, OfALlamaAgree) { expectSameScores(llama, densePlans()); }

TEST_F(ScoredPlans, OfAMixtureAgree) {
  expectSameScores(experts, expertPlans());
}

/// What is before the tokens that are asked about is their prefix.
TEST_F(ScoredPlans, BehindPrefixesAgree) {
  expectSameScores(prefixed, contextPlans());
}

/// No kernel's sums depend on how many rows there are, or on what is in them.
TEST_F(ScoredPlans, DoNotDependOnTheBatch) {
  for (const ModelRow *model : {&gpt, &llama, &sliding, &experts})
    for (const char *precision :
         {"precision: FP32", "precision: BF16", "precision: FP16"}) {
      SCOPED_TRACE(std::string(model->name) + ", " + precision);
      std::vector<ScoreRequest> requests = raggedRequests();
      std::vector<Scores> all =
          scoresOf(compile(*model, {"One", "", 1}, precision), requests);
      SharedProgram small = compile(*model, {"Six", "", 6}, precision);
      ASSERT_EQ(all.size(), requests.size());
      for (size_t i = 0; i < requests.size(); i += 5)
        expectSameBits(scoresOf(small, {requests[i]}).at(0), all[i]);
    }
}

/// The loss of a microbatch that has one label is what that label costs.
TEST_F(ScoredPlans, AreWhatTrainingComputes) {
  for (const char *training : {"precision: FP32", "precision: BF16"}) {
    SCOPED_TRACE(training);
    CompiledModel model(*compile(llama, {"Six", "", 6}, training));
    ASSERT_TRUE(model.valid);
    std::vector<data::Batch> step;
    for (uint64_t i = 0; i < 6; ++i) {
      data::Batch &batch = step.emplace_back(fixedBatch(i, 2, 16, vocabulary));
      std::fill(batch.labels.begin(), batch.labels.end(), -1);
      batch.labels[5 * i + 3] = int32_t(7 * i);
    }
    std::vector<float> expected;
    for (uint64_t i = 0; i < 6; ++i)
      expected.push_back(-model.labels(step[i])[5 * i + 3]);
    StepNumbers numbers = model.run(0, 0, step);
    ASSERT_EQ(numbers.losses.size(), 6u);
    for (uint64_t i = 0; i < 6; ++i)
      EXPECT_EQ(float(numbers.losses[i]), expected[i]) << "microbatch " << i;
  }
}

TEST(ScoreRequests, AreChecked) {
  program::Program program;
  program.mutable_model()->set_vocab_size(10);
  program.mutable_model()->set_sequence_length(4);
  auto fault = [&](const ScoreRequest &request) {
    return checkRequests(program, {request}).message();
  };
  EXPECT_EQ(fault({{1, 2, 3, 4, 5}, 1}), "");
  EXPECT_EQ(fault({{1, 2, 3, 4, 5, 6}, 1}),
            "request 1 has 6 tokens, the program takes 5");
  EXPECT_EQ(fault({{1, 2}, 0}),
            "request 1 asks about no token that has one before it");
  EXPECT_EQ(fault({{1, 2}, 2}),
            "request 1 asks about no token that has one before it");
  EXPECT_EQ(fault({{1, 10}, 1}),
            "request 1 has the token 10, the model has a vocabulary of 10: is "
            "this the tokenizer that it was trained with?");
  EXPECT_EQ(fault({{-1, 2}, 1}),
            "request 1 has the token -1, the model has a vocabulary of 10: is "
            "this the tokenizer that it was trained with?");
}

} // namespace
