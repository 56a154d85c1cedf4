//===- GenerateTest.cpp - What a model writes, under every plan -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A text is the same whatever the plan and whatever else is asked, and each of
/// its tokens has the log-probability, bit for bit, that scoring gives it.
///
//===----------------------------------------------------------------------===//

#include "runtime/inference/Generate.h"
#include "runtime/inference/Score.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using namespace hocket::inference;
using namespace hocket::test;

namespace {

/// Of the table's models: vocabulary 61, sequences of 16.
constexpr size_t vocabulary = 61, length = 16;

/// Prompts of several lengths, more than there are rows.
std::vector<GenerateRequest> raggedRequests(double temperature) {
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < 15; ++i) {
    GenerateRequest &request = requests.emplace_back();
    for (size_t j = 0; j <= (i * 5) % 13; ++j)
      request.prompt.push_back(int32_t((i * 31 + j * 17) % vocabulary));
    request.tokens = i % 4;
    request.sampling.temperature = temperature;
  }
  return requests;
}

std::vector<GeneratedText>
textsOf(const SharedProgram &program,
        const std::vector<GenerateRequest> &requests) {
  auto texts = generate(
      program, std::make_shared<const std::vector<GenerateRequest>>(requests),
      {});
  EXPECT_TRUE(texts.ok()) << texts.status().message();
  return texts.ok() ? texts->texts
                    : std::vector<GeneratedText>(requests.size());
}

using GeneratedPlans = TrainedPlans;

TEST_F(GeneratedPlans, WriteTheSameText) {
  std::vector<GenerateRequest> requests = raggedRequests(0.8);
  for (const ModelRow *model : {&gpt, &llama, &experts}) {
    auto one = textsOf(compile(*model, {"One", "", 2}), requests);
    std::vector<PlanRow> plans = {{"Tensor", "tp=2,dp=2", 2},
                                  {"Pipeline", "pp=2,tp=2", 2},
                                  {"Context", "cp=2,dp=2", 2}};
    for (const PlanRow &plan : plans) {
      auto texts = textsOf(compile(*model, plan), requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(texts[i].tokens, one[i].tokens) << model->name << plan.name;
        EXPECT_EQ(texts[i].finish, one[i].finish);
        ASSERT_EQ(texts[i].logProbabilities.size(),
                  one[i].logProbabilities.size());
        for (size_t j = 0; j < one[i].logProbabilities.size(); ++j)
          EXPECT_NEAR(texts[i].logProbabilities[j], one[i].logProbabilities[j],
                      1e-5 * std::abs(one[i].logProbabilities[j]));
      }
    }
  }
}

/// What a text and what is told of it are made of.
void expectSameText(const GeneratedText &text, const GeneratedText &whole) {
  EXPECT_EQ(text.tokens, whole.tokens);
  EXPECT_EQ(text.logProbabilities, whole.logProbabilities);
  EXPECT_EQ(text.finish, whole.finish);
  ASSERT_EQ(text.prompt.size(), whole.prompt.size());
  for (size_t i = 0; i < text.prompt.size(); ++i) {
    EXPECT_EQ(text.prompt[i].token, whole.prompt[i].token);
    EXPECT_EQ(text.prompt[i].logProbability, whole.prompt[i].logProbability);
    ASSERT_EQ(text.prompt[i].likeliest.size(),
              whole.prompt[i].likeliest.size());
    for (size_t j = 0; j < text.prompt[i].likeliest.size(); ++j)
      EXPECT_EQ(text.prompt[i].likeliest[j].token,
                whole.prompt[i].likeliest[j].token);
  }
}

/// A cache changes no bit of what the forward pass of whole sequences gives:
/// for every kind of layer, precision and plan, over the ends of pages, with
/// prompts in parts.
TEST_F(GeneratedPlans, KeepKeysAndValuesToTheBit) {
  std::vector<GenerateRequest> requests = raggedRequests(0.8);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].tokens = (i * 7) % 12;
    requests[i].tellsOfPrompt = i % 3 == 0;
    requests[i].likeliest = i % 2;
  }
  for (int i = 0; i < 60; ++i)
    requests[4].prompt.push_back(i);
  struct Row {
    const ModelRow &model;
    const char *mesh, *flags, *precision;
  };
  std::string shape = " training.sequence_length=80 model.max_positions=80";
  for (const Row &row : std::initializer_list<Row>{
           {gpt, "", "", "precision: FP32"},
           {gpt, "tp=2,dp=2", "--sequence-parallel", "precision: BF16"},
           {llama, "tp=2", "", "precision: FP16"},
           {llama, "pp=2,tp=2", "", "precision: FP32"},
           {llama, "dp=2", "model.sliding_window=21", "precision: BF16"},
           {capped, "tp=2", "", "precision: FP32"},
           {capped, "pp=2", "", "precision: BF16"},
           {latent, "tp=2,dp=2", "--sequence-parallel", "precision: BF16"},
           {latentExperts, "pp=2,tp=2", "", "precision: FP32"},
           {sloped, "tp=2,dp=2", "", "precision: BF16"},
           {sloped, "pp=2", "", "precision: FP32"},
           {relative, "", "", "precision: FP32"},
           {relative, "tp=2,dp=2", "", "precision: BF16"},
           {relative, "pp=2", "", "precision: FP32"},
           {stateSpace, "", "", "precision: FP32"},
           {stateSpace, "tp=2,dp=2", "--sequence-parallel", "precision: BF16"},
           {stateSpace, "pp=2,tp=2", "--prefill-tokens 7", "precision: FP16"},
           {oneGroup, "tp=2", "--prefill-tokens 5", "precision: FP32"},
           {oneGroup, "dp=2,pp=2", "model.state_space.conv_width=1",
            "precision: BF16"},
           {experts, "", "", "precision: FP32"},
           {experts, "dp=2,tp=2", "plan.expert_parallel=2", "precision: BF16"},
           {llama, "pp=2", "",
            "precision: BF16 fp8_format: HYBRID fp8_recipe: MXFP8"},
           {experts, "dp=2", "plan.expert_parallel=2",
            "precision: BF16 fp8_format: HYBRID fp8_recipe: BLOCKWISE"}}) {
    SCOPED_TRACE(std::string(row.model.name) + row.mesh + row.flags);
    std::string whole = row.flags + shape;
    std::string cached = whole + " --entries generate";
    auto expected =
        textsOf(compile(row.model, {"Whole", row.mesh, 2, whole.c_str()},
                        row.precision),
                requests);
    auto texts =
        textsOf(compile(row.model, {"Cached", row.mesh, 2, cached.c_str()},
                        row.precision),
                requests);
    for (size_t i = 0; i < requests.size(); ++i)
      expectSameText(texts[i], expected[i]);
  }
}

/// Both in one executable, which trains as ever.
TEST_F(GeneratedPlans, WriteBesideTraining) {
  std::vector<GenerateRequest> requests = raggedRequests(0.8);
  PlanRow plan{"Pipeline", "pp=2,dp=2", 2};
  auto expected = textsOf(compile(llama, plan), requests);
  plan.flags = "--entries train,generate";
  SharedProgram both = compile(llama, plan);
  auto texts = textsOf(both, requests);
  for (size_t i = 0; i < requests.size(); ++i)
    expectSameText(texts[i], expected[i]);
}

/// What scoring says of the tokens of `texts`. Each of `chunks` chunks has the
/// neighbours of its request.
std::vector<std::vector<float>>
scoresOf(const SharedProgram &program,
         const std::vector<GenerateRequest> &requests,
         const std::vector<GeneratedText> &texts, size_t chunks = 0) {
  auto scored = std::make_shared<std::vector<ScoreRequest>>();
  for (size_t i = 0; i < requests.size(); ++i) {
    ScoreRequest &request = scored->emplace_back();
    request.tokens = requests[i].prompt;
    request.first = request.tokens.size();
    request.tokens.insert(request.tokens.end(), texts[i].tokens.begin(),
                          texts[i].tokens.end());
    for (size_t chunk = 0; chunk < chunks; ++chunk)
      request.neighbors.insert(request.neighbors.end(),
                               requests[i].neighbors.begin(),
                               requests[i].neighbors.end());
  }
  auto scores = score(program, scored, {});
  EXPECT_TRUE(scores.ok()) << scores.status().message();
  std::vector<std::vector<float>> result(requests.size());
  for (size_t i = 0; scores.ok() && i < result.size(); ++i)
    result[i] = (*scores)[i].logProbabilities;
  return result;
}

/// Also under a plan, and where a sequence is full.
TEST_F(GeneratedPlans, GiveEachTokenItsScore) {
  for (const char *mesh : {"", "tp=2,pp=2"})
    for (const char *precision : {"precision: FP32", "precision: BF16"}) {
      SCOPED_TRACE(std::string(mesh) + precision);
      SharedProgram program = compile(llama, {"One", mesh, 2}, precision);
      std::vector<GenerateRequest> requests = raggedRequests(1);
      for (GenerateRequest &request : requests)
        request.tokens = 5;
      auto texts = textsOf(program, requests);
      auto scores = scoresOf(program, requests, texts);
      for (size_t i = 0; i < requests.size(); ++i) {
        bool isFull =
            requests[i].prompt.size() + texts[i].tokens.size() == length + 1;
        EXPECT_EQ(texts[i].finish, isFull && texts[i].tokens.size() < 5
                                       ? Finish::Full
                                       : Finish::Length);
        EXPECT_TRUE(isFull || texts[i].tokens.size() == 5);
        EXPECT_EQ(texts[i].logProbabilities, scores[i]);
      }
    }
}

/// A prompt is the prefix of what is written, and what was retrieved for it is
/// every chunk's: under any plan, beside other prompts.
TEST_F(GeneratedPlans, WriteBehindPrefixesAndNeighbors) {
  for (const ModelRow *model : {&prefixed, &retrieving}) {
    size_t chunks = model == &retrieving ? length / 4 : 0;
    std::vector<GenerateRequest> requests = raggedRequests(0.8);
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].tokens = 2 + i % 3;
      for (size_t j = 0; chunks > 0 && j < 2 * 6; ++j)
        requests[i].neighbors.push_back(int32_t((i * 7 + j * 5) % vocabulary));
    }
    std::vector<GeneratedText> one;
    for (const char *mesh : {"", "tp=2,dp=2", "pp=2", "cp=2"}) {
      SCOPED_TRACE(std::string(model->name) + mesh);
      SharedProgram program =
          compile(*model, {"Plan", mesh, 2}, "precision: FP32");
      auto texts = textsOf(program, requests);
      if (one.empty())
        one = texts;
      auto scores = scoresOf(program, requests, texts, chunks);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(texts[i].tokens, one[i].tokens);
        EXPECT_EQ(texts[i].tokens.size(), requests[i].tokens);
        EXPECT_EQ(texts[i].logProbabilities, scores[i]);
      }
    }
    // Other neighbours, or the first token alone as the prefix, give other
    // texts: the last prompt has two chunks.
    SharedProgram program = compile(*model, {"Plan", "", 2}, "precision: FP32");
    GenerateRequest &last = requests.back();
    ASSERT_GE(last.prompt.size(), 6u);
    auto same = scoresOf(program, requests, one, chunks);
    if (chunks > 0) {
      last.neighbors.front() += 1;
    } else {
      one.back().tokens.insert(one.back().tokens.begin(),
                               last.prompt.begin() + 1, last.prompt.end());
      last.prompt.resize(1);
    }
    EXPECT_NE(scoresOf(program, requests, one, chunks).back().back(),
              same.back().back());
  }
}

/// Two stacks: each token has the score that a program gives it whose encoder
/// takes in as many tokens as the prompt has, none of which is padding. More
/// prompts than rows, so that texts begin beside others.
TEST_F(GeneratedPlans, ReadPromptsWithAnEncoder) {
  constexpr size_t lengths[] = {24, 10, 16, 10, 24, 16, 10};
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < std::size(lengths); ++i) {
    GenerateRequest &request = requests.emplace_back();
    for (size_t j = 0; j < lengths[i]; ++j)
      request.prompt.push_back(int32_t((i * 31 + j * 17) % vocabulary));
    request.tokens = 3 + i % 4;
    request.sampling.temperature = 0.8;
  }
  std::map<size_t, SharedProgram> scoring;
  for (size_t size : {10, 16, 24}) {
    std::string flags =
        "training.encoder_sequence_length=" + std::to_string(size);
    scoring[size] =
        compile(twoStacks, {"Score", "", 2, flags.c_str()}, "precision: FP32");
  }
  std::vector<GeneratedText> one;
  for (const char *mesh : {"", "tp=2", "tp=2,dp=2", "pp=2", "pp=3,dp=2"}) {
    SCOPED_TRACE(mesh);
    auto texts =
        textsOf(compile(twoStacks, {"Two", mesh, 6, "--entries generate"},
                        "precision: FP32"),
                requests);
    if (one.empty())
      one = texts;
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(texts[i].tokens, one[i].tokens);
      ScoreRequest scored;
      scored.encoder = requests[i].prompt;
      scored.labels = texts[i].tokens;
      scored.tokens = {0};
      scored.tokens.insert(scored.tokens.end(), scored.labels.begin(),
                           scored.labels.end() - 1);
      auto scores = score(
          scoring[lengths[i]],
          std::make_shared<const std::vector<ScoreRequest>>(1, scored), {});
      ASSERT_TRUE(scores.ok()) << scores.status().message();
      const auto &expected = scores->front().logProbabilities;
      ASSERT_EQ(texts[i].logProbabilities.size(), expected.size());
      for (size_t j = 0; j < expected.size(); ++j)
        EXPECT_NEAR(texts[i].logProbabilities[j], expected[j], 1e-5);
    }
  }
}

/// Prompts with up to two images of the table's size, between texts.
std::vector<GenerateRequest> sightedRequests() {
  constexpr size_t rows = 4, numbers = (1 + rows) * 12;
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < 9; ++i) {
    GenerateRequest &request = requests.emplace_back();
    for (size_t image = 0; image < i % 3; ++image) {
      request.prompt.push_back(int32_t(30 + i));
      request.prompt.insert(request.prompt.end(), rows, 7);
      std::vector<float> pixels(numbers, 0);
      for (size_t p = 12; p < numbers; ++p)
        pixels[p] = float((p * (i + 3) + image) % 17) / 8 - 1;
      request.images.push_back(
          std::make_shared<const std::vector<float>>(std::move(pixels)));
    }
    if (i % 2 == 0 || i % 3 == 0)
      request.prompt.push_back(int32_t(40 + i));
    request.tokens = 2 + i % 4;
    request.sampling.temperature = 0.8;
    request.tellsOfPrompt = i % 4 == 0;
  }
  return requests;
}

/// Images that the tower sees once, and whose rows are kept, are those of whole
/// sequences, in 32 bits to the bit: in 16, one image alone is fused otherwise.
/// Texts with images begin and end beside others.
TEST_F(GeneratedPlans, SeeImagesOfPrompts) {
  std::vector<GenerateRequest> requests = sightedRequests();
  struct Row {
    const char *mesh, *flags, *precision;
  };
  std::vector<GeneratedText> one;
  for (const Row &row : std::initializer_list<Row>{
           {"", "", "precision: FP32"},
           {"tp=2,dp=2", "", "precision: FP32"},
           {"pp=2,dp=2", "--prefill-tokens 3", "precision: FP32"},
           {"dp=2",
            "model.vision.select=ALL training.images_per_sequence=3 "
            "training.sequence_length=32",
            "precision: FP32"},
           {"tp=2", "--prefill-tokens 7 --sequence-parallel",
            "precision: BF16"}}) {
    SCOPED_TRACE(std::string(row.mesh) + row.flags);
    std::vector<GenerateRequest> asked = requests;
    bool hasClass = std::string(row.flags).find("ALL") != std::string::npos;
    bool isWide = std::string(row.precision).ends_with("FP32");
    for (GenerateRequest &request : asked) // An image has a token more.
      for (size_t at = 0; hasClass && at < request.prompt.size(); ++at)
        if (request.prompt[at] == 7) {
          request.prompt.insert(request.prompt.begin() + ptrdiff_t(at), 7);
          at += 4;
        }
    std::string cached = std::string(row.flags) + " --entries generate";
    auto expected = textsOf(
        compile(sighted, {"Whole", row.mesh, 2, row.flags}, row.precision),
        asked);
    auto texts =
        textsOf(compile(sighted, {"Cached", row.mesh, 2, cached.c_str()},
                        row.precision),
                asked);
    for (size_t i = 0; i < asked.size(); ++i) {
      EXPECT_EQ(texts[i].tokens.size(), asked[i].tokens);
      if (isWide)
        expectSameText(texts[i], expected[i]);
      ASSERT_EQ(texts[i].prompt.size(), expected[i].prompt.size());
      for (size_t j = 0; j < texts[i].prompt.size(); ++j)
        EXPECT_NEAR(texts[i].prompt[j].logProbability,
                    expected[i].prompt[j].logProbability, 2e-2);
    }
    if (one.empty())
      one = texts;
    // Another image, another text.
    asked[1].images[0] = requests[2].images[1];
    EXPECT_NE(textsOf(compile(sighted, {"Cached", row.mesh, 2, cached.c_str()},
                              row.precision),
                      asked)[1]
                  .logProbabilities,
              texts[1].logProbabilities);
  }
}

TEST_F(GeneratedPlans, TakeTheLikeliestIfTheyAreTold) {
  SharedProgram program = compile(gpt, {"One", "", 2});
  std::vector<GenerateRequest> requests = raggedRequests(0);
  auto texts = textsOf(program, requests);
  auto scored = std::make_shared<std::vector<ScoreRequest>>();
  for (size_t i = 0; i < requests.size(); ++i) {
    if (texts[i].tokens.empty())
      continue;
    ScoreRequest &request = scored->emplace_back();
    request.tokens = requests[i].prompt;
    request.first = request.tokens.size();
    request.asksLikeliest = true;
    request.tokens.insert(request.tokens.end(), texts[i].tokens.begin(),
                          texts[i].tokens.end());
  }
  auto scores = score(program, scored, {});
  ASSERT_TRUE(scores.ok()) << scores.status().message();
  for (const Scores &each : *scores)
    EXPECT_EQ(std::count(each.likeliest.begin(), each.likeliest.end(), false),
              0);
}

TEST_F(GeneratedPlans, EndWhereTheyAreTold) {
  SharedProgram program = compile(gpt, {"One", "", 2});
  GenerateRequest request;
  request.prompt = {1, 2, 3};
  request.tokens = 9;
  GeneratedText whole = textsOf(program, {request}).at(0);
  ASSERT_EQ(whole.tokens.size(), 9u);
  EXPECT_EQ(whole.finish, Finish::Length);
  request.ends = [](std::span<const int32_t> written) {
    return written.size() == 4;
  };
  GeneratedText ended = textsOf(program, {request}).at(0);
  EXPECT_EQ(ended.finish, Finish::Ended);
  whole.tokens.resize(4);
  EXPECT_EQ(ended.tokens, whole.tokens);
  // Another seed, another text.
  request.sampling.seed = 99;
  EXPECT_NE(textsOf(program, {request}).at(0).tokens, whole.tokens);
}

/// The input `name` of the first role's decode.
program::Host &decodeInput(program::Program &program, const char *name) {
  program::Role &role = *program.mutable_roles(0);
  for (const program::Entry &entry : role.entries())
    if (entry.name() == "decode")
      for (const program::Entry::Run &run : entry.runs())
        for (auto &instruction : *role.mutable_sequences(int(run.sequence()))
                                      ->mutable_instructions())
          if (instruction.has_host() && instruction.host().name() == name)
            return *instruction.mutable_host();
  ADD_FAILURE() << "takes in no '" << name << "'";
  static program::Host none;
  return none;
}

/// What entries that write take in is the whole of a batch of their own.
TEST_F(GeneratedPlans, TakeInEachTokenOnce) {
  SharedProgram sound =
      compile(llama, {"Writer", "dp=2", 2, "--entries generate"});
  auto fault = [&](const char *name, auto damage) {
    program::Program program = *sound;
    damage(decodeInput(program, name));
    return checkProgram(program).message();
  };
  auto moveOn = [](program::Host &host) {
    host.mutable_shards(0)->mutable_start(0)->set_addend(1);
  };
  EXPECT_EQ(fault("tokens", [](program::Host &) {}), "");
  for (const char *name : {"tokens", "labels", "positions", "rows", "table"})
    EXPECT_THAT(fault(name, moveOn), testing::HasSubstr("V25: entry 'decode'"))
        << name;
  EXPECT_THAT(fault("rows",
                    [](program::Host &host) {
                      for (auto *size : {host.mutable_shards(0)})
                        size->set_size(0, 2 * size->size(0));
                    }),
              testing::HasSubstr("fill a buffer of"));
}

TEST(GenerateRequests, AreChecked) {
  program::Program program;
  program.mutable_model()->set_vocab_size(10);
  program.mutable_model()->set_sequence_length(4);
  auto fault = [&](std::vector<int32_t> prompt, SamplingOptions sampling = {}) {
    return checkRequest(program, {std::move(prompt), 1, 0, sampling, {}})
        .message();
  };
  EXPECT_EQ(fault({1, 2, 3, 4}), "");
  EXPECT_EQ(fault({}), "the prompt has no token");
  EXPECT_EQ(fault({1, 2, 3, 4, 5}),
            "the prompt has 5 tokens, the model sees 4: compile it with a "
            "longer training.sequence_length");
  EXPECT_EQ(fault({10}),
            "the prompt has the token 10, the model has a vocabulary of 10: is "
            "this the tokenizer that it was trained with?");
  EXPECT_EQ(fault({1}, {.topP = 2}),
            "top_p is 2, expected a number above 0 and up to 1");
  GenerateRequest seeing{{1, 3, 3, 3, 3}, 1, 0, {}, {}};
  seeing.images.push_back(std::make_shared<const std::vector<float>>(60));
  EXPECT_EQ(checkImages(program, seeing.images, seeing.prompt).message(),
            "the model sees no images");
  auto &images = *program.mutable_training()->mutable_images();
  images.set_image_token(3);
  images.set_images(1);
  images.set_image_size(4);
  images.set_patch_size(2);
  EXPECT_EQ(checkImages(program, seeing.images, seeing.prompt).message(), "");
  EXPECT_EQ(fault({1, 3}), "the prompt has the token of an image, and there is "
                           "no image");
  seeing.prompt.pop_back();
  EXPECT_THAT(checkRequest(program, seeing).message(),
              testing::StartsWith("the prompt has 3 tokens of images for 1 "));
  std::vector<int32_t> tokens = {1, 3, 2};
  EXPECT_EQ(expandImages(program, 1, tokens).message(), "");
  EXPECT_EQ(tokens, (std::vector<int32_t>{1, 3, 3, 3, 3, 2}));
  tokens = {1, 3, 3};
  EXPECT_THAT(expandImages(program, 2, tokens).message(),
              testing::HasSubstr("has 2 images, the model takes 1"));
  EXPECT_THAT(expandImages(program, 1, tokens).message(),
              testing::HasSubstr("has 2 places for an image (token 3), and "
                                 "there are 1 of them"));
  program.mutable_training()->clear_images();
  program.mutable_training()->mutable_masked_lm();
  EXPECT_EQ(fault({1}), "the model tells masked tokens of whole texts, and "
                        "writes none after another");
  program.mutable_training()->clear_masked_lm();
  GenerateRequest asking{{1, 2}, 1, 0, {}, {}};
  asking.neighbors = {4, 5, 6};
  EXPECT_EQ(checkRequest(program, asking).message(),
            "the model attends to no retrieved texts");
  auto &retrieval = *program.mutable_training()->mutable_retrieval();
  retrieval.set_chunk_length(2);
  retrieval.set_neighbors(2);
  retrieval.set_retrieved_length(3);
  EXPECT_THAT(checkRequest(program, asking).message(),
              testing::HasSubstr("have 3 tokens, the model takes 6"));
  asking.neighbors = {4, 5, 6, 7, 8, 10};
  EXPECT_THAT(checkRequest(program, asking).message(),
              testing::StartsWith("a retrieved text has the token 10"));
  asking.neighbors.back() = 9;
  EXPECT_EQ(checkRequest(program, asking).message(), "");
  EXPECT_THAT(fault({1, 2}), testing::HasSubstr("and there are none"));
  program.mutable_training()->clear_retrieval();
  program.mutable_training()->mutable_prefix_lm();
  EXPECT_EQ(fault({1, 2}), "");
  asking.neighbors.clear();
  asking.tellsOfPrompt = true;
  EXPECT_THAT(checkRequest(program, asking).message(),
              testing::StartsWith("tokens of the prompt see those behind"));
  program.mutable_training()->clear_prefix_lm();
  program.mutable_training()
      ->mutable_span_corruption()
      ->set_encoder_sequence_length(6);
  EXPECT_EQ(fault({1, 2, 3, 4, 5}), "");
  EXPECT_EQ(fault({1, 2, 3, 4, 5, 6, 7}),
            "the prompt has 7 tokens, the model sees 6: compile it with a "
            "longer training.encoder_sequence_length");
}

} // namespace
