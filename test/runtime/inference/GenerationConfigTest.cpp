//===- GenerationConfigTest.cpp - How a model's files have it write -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/GenerationConfig.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::inference;

using Texts = std::vector<std::string>;

namespace {

class GenerationConfigs : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "generation-config-test";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    path = folder + "/generation_config.json";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  StatusOr<GenerationConfig> read(const std::string &text) const {
    std::ofstream(path) << text;
    return readGenerationConfig(folder);
  }

  std::string folder, path;
};

TEST_F(GenerationConfigs, SayHowToWrite) {
  auto config = read(R"({
    "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.8,
    "min_p": 0.05, "repetition_penalty": 1.05, "max_new_tokens": 2048,
    "stop_strings": ["User:", "\n\n"], "eos_token_id": [2, 3],
    "bos_token_id": 1, "transformers_version": "4.37.0", "num_beams": 1,
    "length_penalty": 1.0, "suppress_tokens": [], "max_length": null})");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->path, path);
  SamplingOptions sampling = config->choices.over({.seed = 7});
  EXPECT_EQ(sampling.temperature, 0.6);
  EXPECT_EQ(sampling.topK, 20u);
  EXPECT_EQ(sampling.topP, 0.8);
  EXPECT_EQ(sampling.minP, 0.05);
  EXPECT_EQ(sampling.repetitionPenalty, 1.05);
  EXPECT_EQ(sampling.seed, 7u);
  EXPECT_EQ(config->choices.tokens, 2048u);
  EXPECT_EQ(config->choices.stops, Texts({"User:", "\n\n"}));
  EXPECT_EQ(config->unused, Texts());
  EXPECT_EQ(config->notes({}),
            Texts({"defaults of " + path +
                   ": temperature 0.6, top_k 20, top_p 0.8, min_p 0.05, "
                   "repetition_penalty 1.05, max_new_tokens 2048, "
                   "stop_strings"}));
  // A file in the folder stands for it, as a tokenizer may be one.
  std::ofstream(folder + "/tokenizer.json") << "{}";
  EXPECT_EQ(readGenerationConfig(folder + "/tokenizer.json")->choices.topK,
            20u);
}

TEST_F(GenerationConfigs, SayNothingWhereThereIsNone) {
  for (const std::string &none : {folder, std::string("byte")}) {
    auto config = readGenerationConfig(none);
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->path, "");
    EXPECT_EQ(config->notes({}), Texts());
    SamplingOptions sampling = config->choices.over({.topK = 3});
    EXPECT_EQ(sampling.topK, 3u);
    EXPECT_EQ(sampling.temperature, 1);
  }
  auto config = read(R"({"eos_token_id": 3})");
  EXPECT_EQ(config->path, path);
  EXPECT_EQ(config->notes({}), Texts());
}

/// `generate` of transformers ignores what is of sampling then.
TEST_F(GenerationConfigs, TakeTheLikeliestTokenUnlessTheyDraw) {
  EXPECT_EQ(
      read(R"({"do_sample": false, "temperature": 0.7})")->choices.temperature,
      0);
  EXPECT_EQ(read(R"({"temperature": 0.7})")->choices.temperature, 0.7);
  EXPECT_FALSE(read(R"({"do_sample": true})")->choices.temperature);
}

TEST_F(GenerationConfigs, GiveWayToWhatWasSaid) {
  auto config = read(R"({"temperature": 0.6, "top_k": 20, "top_p": 0.8,
                         "max_new_tokens": 9, "stop_strings": "a"})");
  ASSERT_TRUE(config.ok()) << config.status().message();
  WritingChoices given;
  given.topK = 0;
  given.stops = Texts{"b"};
  WritingChoices both = given.orElse(config->choices);
  EXPECT_EQ(both.topK, 0u);
  EXPECT_EQ(both.temperature, 0.6);
  EXPECT_EQ(both.tokens, 9u);
  EXPECT_EQ(both.stops, Texts({"b"}));
  EXPECT_EQ(config->notes(given),
            Texts({"defaults of " + path +
                   ": temperature 0.6, top_p 0.8, max_new_tokens 9"}));
  given = {};
  given.temperature = 0;
  given.tokens = 3;
  EXPECT_EQ(config->notes(given),
            Texts({"defaults of " + path + ": stop_strings"}));
}

TEST_F(GenerationConfigs, NameWhatIsNotUsed) {
  auto config = read(R"({"num_beams": 4, "no_repeat_ngram_size": 3,
                         "early_stopping": true, "use_cache": false,
                         "a\u001b[2Jb": 1, "top_k": 5})");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->notes({}),
            Texts({"defaults of " + path + ": top_k 5",
                   path + " has what Hocket does not use: "
                          "\"a\\u001b[2Jb\", \"early_stopping\", "
                          "\"no_repeat_ngram_size\", \"num_beams\""}));
}

TEST_F(GenerationConfigs, AreRefusedWithThePlaceOfAWrongValue) {
  auto fault = [&](const std::string &text) {
    Status status = read(text).status();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << text;
    return status.message();
  };
  EXPECT_EQ(fault("{\n  \"top_p\": 0.9,\n  \"temperature\": -1\n}"),
            path + ":3:18: expected \"temperature\" to be a number from 0 to "
                   "1e+06; correct it, or do without the file's defaults "
                   "(--ignore-generation-config)");
  for (const auto &[text, wanted] :
       std::vector<std::pair<const char *, const char *>>{
           {R"({"temperature": "hot"})", "a number from 0 to 1e+06;"},
           {R"({"temperature": 1e300})", "a number from 0 to 1e+06;"},
           {R"({"top_k": 2.5})", "a whole number of at least 0;"},
           {R"({"top_k": -1})", "a whole number of at least 0;"},
           {R"({"top_k": 1e300})", "a whole number of at least 0;"},
           {R"({"top_p": 0})", "a number above 0, up to 1;"},
           {R"({"top_p": 1.5})", "a number above 0, up to 1;"},
           {R"({"top_p": true})", "a number above 0, up to 1;"},
           {R"({"min_p": 2})", "a number from 0 to 1;"},
           {R"({"repetition_penalty": 0})", "a number above 0, up to 1e+06;"},
           {R"({"max_new_tokens": 0})", "a whole number of at least 1;"},
           {R"({"do_sample": 1})", "true or false;"},
           {R"({"stop_strings": [""]})", "a text or a list of texts, none"},
           {R"({"stop_strings": 3})", "a text or a list of texts, none"},
           {R"({"top_k": 1, "top_k": 1})", "each key once"},
           {R"([])", "an object"},
           {R"({"top_k": )", "expected"}})
    EXPECT_NE(fault(text).find(wanted), std::string::npos) << text << "\n"
                                                           << fault(text);
}

} // namespace
