//===- EndTokensTest.cpp - Where a model's texts end ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/EndTokens.h"
#include "runtime/inference/Stops.h"
#include "runtime/inference/TextStream.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::inference;

using Tokens = std::vector<int32_t>;

/// What the token of a model is called, and by whom.
TEST(EndTokensTest, AllThatNameOneAreHeard) {
  auto tokenizer = *tokenizer::openTokenizer("byte");
  std::string dir = testing::TempDir() + "end-tokens-test";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directory(dir);
  auto write = [&](const std::string &name, const std::string &text) {
    std::ofstream(dir + "/" + name) << text;
  };
  program::Program program;
  auto ends = [&] {
    auto found = endTokensOf(program, *tokenizer, dir);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return *found;
  };
  EXPECT_EQ(ends(), Tokens({256}));
  program.mutable_training()->mutable_documents()->set_eod_token(9);
  EXPECT_EQ(ends(), Tokens({9, 256}));
  write("generation_config.json", R"({"eos_token_id": [300, 9, 2]})");
  EXPECT_EQ(ends(), Tokens({2, 9, 256, 300}));
  write("tokenizer_config.json", R"({"eos_token": "!"})");
  EXPECT_EQ(ends(), Tokens({2, 9, '!', 256, 300}));
  // No token of the vocabulary.
  write("tokenizer_config.json", R"({"eos_token": "</s>"})");
  EXPECT_EQ(ends(), Tokens({2, 9, 256, 300}));
  program.mutable_training()->mutable_span_corruption()->set_end_token(1);
  EXPECT_EQ(ends(), Tokens({1, 2, 9, 256, 300}));
  write("generation_config.json", R"({"eos_token_id": "</s>"})");
  auto wrong = endTokensOf(program, *tokenizer, dir);
  EXPECT_EQ(wrong.status().message(),
            dir + "/generation_config.json: \"eos_token_id\" is a token's "
                  "number or a list of such");
}

/// Also where the token is a text of its own.
TEST(EndTokensTest, WhatEndsATextIsNotInIt) {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer =
      *tokenizer::openTokenizer("byte");
  Stops stops{{"yz"}, {'!', 256}};
  auto textOf = [&](const Tokens &tokens) {
    std::string streamed;
    TextStream stream(*tokenizer, 'p', stops);
    for (int32_t token : tokens)
      streamed += stream.add(token);
    streamed += stream.finish();
    EXPECT_EQ(streamed, textBeforeStop(*tokenizer, 'p', tokens, stops));
    return streamed;
  };
  auto ends = endsAt(tokenizer, 'p', stops);
  auto check = [&](const Tokens &tokens, const std::string &text, bool isEnd) {
    EXPECT_EQ(textOf(tokens), text);
    EXPECT_EQ(ends(tokens), isEnd) << text;
  };
  check({'a', 'b'}, "ab", false);
  check({'a', '!'}, "a", true);
  check({'!'}, "", true);
  check({'a', 'y', 256}, "ay", true);
  check({'a', 'y', 'z'}, "a", true);
  stops = {};
  ends = endsAt(tokenizer, 'p', stops);
  check({'a', '!'}, "a!", false);
}
