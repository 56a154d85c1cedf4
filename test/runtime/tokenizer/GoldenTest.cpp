//===- GoldenTest.cpp - Tokenizers and others' libraries ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// golden/make_golden.py made small tokenizers of each kind with Hugging Face's
// `tokenizers` and `sentencepiece`, and wrote down what those make of the texts
// of texts.py.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "test/runtime/tokenizer/TokenizerTexts.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;
using namespace hocket::tokenizer;

using Ids = std::vector<int32_t>;

namespace {

class GoldenTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string folder = HOCKET_SOURCE_DIR "/test/runtime/tokenizer/golden/";
    std::string name = GetParam();
    golden = nlohmann::json::parse(std::ifstream(folder + "golden.json"))[name];
    ASSERT_FALSE(golden.is_null());
    if (name == "gpt2")
      name += "/vocab.json";
    auto opened = openTokenizer(folder + name);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    tokenizer = *std::move(opened);
  }

  Ids encode(const std::string &text) const {
    Ids ids;
    tokenizer->encode(text, ids);
    return ids;
  }

  nlohmann::json golden;
  std::unique_ptr<Tokenizer> tokenizer;
};

} // namespace

TEST_P(GoldenTest, Languages) {
  EXPECT_EQ(tokenizer->vocabularySize(),
            golden["vocabulary_size"].get<uint64_t>());
  for (size_t i = 0; i < languageTexts().size(); ++i)
    EXPECT_EQ(encode(languageTexts()[i]), golden["languages"][i].get<Ids>())
        << languageTexts()[i];
}

TEST_P(GoldenTest, RandomTexts) {
  TextNumbers numbers(1);
  for (size_t block = 0; block < golden["random"].size(); ++block) {
    std::vector<Ids> lists;
    for (int i = 0; i < 2000; ++i)
      lists.push_back(encode(randomText(numbers)));
    EXPECT_EQ(digestOf(lists), golden["random"][block].get<std::string>())
        << "block " << block;
  }
}

TEST_P(GoldenTest, CodePoints) {
  constexpr uint32_t blockSize = 16384;
  std::map<uint32_t, std::vector<Ids>> blocks;
  bool settled = std::string(GetParam()).starts_with("bert");
  for (uint32_t code : codePoints(settled))
    blocks[code / blockSize].push_back(encode(codePointText(code)));
  EXPECT_EQ(blocks.size(), golden["code_points"].size());
  for (const auto &[block, lists] : blocks)
    EXPECT_EQ(digestOf(lists),
              golden["code_points"][std::to_string(block)].get<std::string>())
        << "block " << block;
}

TEST_P(GoldenTest, Prompts) {
  if (!golden.contains("prompts"))
    GTEST_SKIP() << "SentencePiece's library takes no special tokens in a text";
  const char *texts[] = {"Hello <|endoftext|> <think>x", "a [MASK] b"};
  for (size_t i = 0; i < 2; ++i) {
    Ids ids;
    tokenizer->encodePrompt(texts[i], ids);
    EXPECT_EQ(ids, golden["prompts"][i].get<Ids>()) << texts[i];
  }
}

/// As `bytes.decode("utf-8", "replace")`: U+FFFD for each longest part of a
/// character that is cut short, and for each byte that begins none.
static std::string replaceInvalid(const std::string &bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    auto byte = [&](size_t i) {
      return at + i < bytes.size() ? uint8_t(bytes[at + i]) : uint8_t(0);
    };
    size_t size = byte(0) < 0x80   ? 1
                  : byte(0) < 0xc2 ? 0
                  : byte(0) < 0xe0 ? 2
                  : byte(0) < 0xf0 ? 3
                  : byte(0) < 0xf5 ? 4
                                   : 0;
    size_t good = size > 0;
    for (; good > 0 && good < size; ++good) {
      uint8_t low = 0x80, high = 0xbf;
      if (good == 1) {
        low = byte(0) == 0xe0 ? 0xa0 : byte(0) == 0xf0 ? 0x90 : 0x80;
        high = byte(0) == 0xed ? 0x9f : byte(0) == 0xf4 ? 0x8f : 0xbf;
      }
      if (byte(good) < low || byte(good) > high)
        break;
    }
    if (size > 0 && good == size)
      text += bytes.substr(at, size);
    else
      text += "\xef\xbf\xbd";
    at += std::max<size_t>(good, 1);
  }
  return text;
}

TEST_P(GoldenTest, Decoded) {
  TextNumbers numbers(7);
  std::string all;
  for (int i = 0; i < 500; ++i) {
    Ids ids(numbers.below(20));
    for (int32_t &id : ids)
      id = int32_t(numbers.below(tokenizer->vocabularySize()));
    // SentencePiece has another opinion of bytes that are no UTF-8.
    std::erase_if(ids, [&](int32_t id) {
      return tokenizer->tokenText(id).value_or("").starts_with("<0x");
    });
    all += (i ? std::string(1, '\0') : "") +
           replaceInvalid(tokenizer->decode(ids));
  }
  EXPECT_EQ(toHex(Sha256::of(all)).substr(0, 16),
            golden["decoded"].get<std::string>());
}

/// Cut at the places that a tokenizer offers, a text keeps its tokens.
TEST_P(GoldenTest, PartsOfATextHaveItsTokens) {
  TextNumbers numbers(3);
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += randomText(numbers);
  Ids ids;
  auto part = TextPart::First;
  std::string_view rest = text;
  unsigned cuts = 0;
  while (!rest.empty()) {
    size_t cut = 0;
    for (size_t most = 64; cut == 0 && most < rest.size(); most *= 2)
      cut = tokenizer->splitPoint(rest.substr(0, most));
    size_t size = cut ? cut : rest.size();
    tokenizer->encode(rest.substr(0, size), ids, part);
    rest.remove_prefix(size);
    part = TextPart::Later;
    ++cuts;
  }
  EXPECT_EQ(ids, encode(text));
  // An added token of that file takes the spaces beside it, so it is not cut.
  bool isCut = std::string(GetParam()) != "qwen2.json";
  EXPECT_EQ(cuts > 20, isCut);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTest,
                         testing::Values("gpt2", "llama3.json", "qwen2.json",
                                         "bert-uncased/vocab.txt",
                                         "bert-cased/vocab.txt", "bpe.model",
                                         "unigram.model"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase_if(name,
                                         [](char c) { return !isalnum(c); });
                           return name;
                         });
