//===- FilesTest.cpp - Tokenizers' files, whole and damaged ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/Train.h"
#include "test/runtime/data/TokenFiles.h"
#include "test/runtime/tokenizer/TokenizerTexts.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
using namespace hocket::tokenizer;

using Ids = std::vector<int32_t>;

static const std::string goldenFolder =
    HOCKET_SOURCE_DIR "/test/runtime/tokenizer/golden/";

TEST(ByteTokenizer, BytesAndBack) {
  auto opened = openTokenizer("byte");
  ASSERT_TRUE(opened.ok());
  const Tokenizer &tokenizer = **opened;
  EXPECT_EQ(tokenizer.vocabularySize(), 257u);
  Ids tokens = {7};
  tokenizer.encode("h\xc3\xa9", tokens);
  EXPECT_EQ(tokens, (Ids{7, 'h', 0xc3, 0xa9}));
  tokens.insert(tokens.end(), {*tokenizer.endOfDocument(), 257, -1});
  EXPECT_EQ(tokenizer.decode(tokens), "\ah\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(tokenizer.decode(tokens, SpecialTokens::Shown),
            "\ah\xc3\xa9<|endoftext|>\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(tokenizer.splitPoint("ab\xe2\x82"), 2u);
  EXPECT_EQ(tokenizer.splitPoint("ab"), 2u);
}

/// Numbers that a file gives are believed only as far as they can be checked:
/// a damaged file is refused, or is a tokenizer that works.
TEST(DamagedFiles, AreRefusedOrWork) {
  ScratchFolder folder;
  TextNumbers numbers(11);
  unsigned refused = 0, opened = 0;
  for (std::string name : {"bpe.model", "unigram.model", "qwen2.json",
                           "llama3.json", "bert-cased/vocab.txt"}) {
    const std::string whole = readBytes(goldenFolder + name);
    std::string path = folder / name.substr(name.rfind('/') + 1);
    for (int i = 0; i < 150; ++i) {
      std::string bytes = whole;
      if (i % 2)
        bytes.resize(numbers.below(bytes.size()));
      else
        for (int flips = 0; flips < 3; ++flips)
          bytes[numbers.below(bytes.size())] = char(numbers.below(256));
      writeBytes(path, bytes);
      auto tokenizer = openTokenizer(path);
      ++(tokenizer.ok() ? opened : refused);
      if (!tokenizer.ok()) {
        EXPECT_EQ(exitStatusOf(tokenizer.status()), 2);
        EXPECT_EQ(tokenizer.status().message().rfind(path, 0), 0u)
            << tokenizer.status().message();
        continue;
      }
      Ids ids;
      for (const std::string &text : languageTexts())
        (*tokenizer)->encode(text, ids);
      for (int32_t id : ids)
        ASSERT_LT(uint64_t(id), (*tokenizer)->vocabularySize());
      (*tokenizer)->decode(ids);
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(opened, 50u);
}

TEST(DamagedFiles, OneByteTooFewOfAModel) {
  ScratchFolder folder;
  std::string whole = readBytes(goldenFolder + "unigram.model");
  writeBytes(folder / "tokenizer.model", whole.substr(0, whole.size() - 1));
  auto opened = openTokenizer(folder.path);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find(
                "a field is cut short or of no known kind; expected the model "
                "of a SentencePiece tokenizer"),
            std::string::npos)
      << opened.status().message();
}

/// A long word is merged in windows; its tokens are those of the same letters
/// within texts that are merged at once.
TEST(LongWords, DoNotDependOnWindows) {
  auto opened = openTokenizer(goldenFolder + "gpt2/vocab.json");
  ASSERT_TRUE(opened.ok());
  TextNumbers numbers(5);
  for (const char *letters : {"aaaaaaaa", "eth", "abcdefghijklmnop"}) {
    std::string word;
    for (int i = 0; i < 4000; ++i)
      word += letters[numbers.below(std::string(letters).size())];
    Ids whole;
    (*opened)->encode(word, whole);
    EXPECT_EQ((*opened)->decode(whole), word);
    // Every two neighbours are what their own text is merged to.
    for (size_t i = 1; i < whole.size(); ++i) {
      Ids pair = {whole[i - 1], whole[i]}, again;
      (*opened)->encode((*opened)->decode(pair), again);
      ASSERT_EQ(again, pair) << letters << " at " << i;
    }
  }
}

TEST(Train, TakesTheMostFrequentPairAndTheFirstOfEquals) {
  WordCounts words = {{"aaab", 3}, {"bab", 2}, {"zz", 1}};
  TrainOptions options;
  options.vocabularySize = 256 + 3;
  auto trained = trainBytePairs(words, options);
  ASSERT_TRUE(trained.ok());
  // "ab" and "aa" in "aaab" 3 and 6 times, "ab" and "ba" in "bab" 2: aa, then
  // "ab" 5 times.
  ASSERT_EQ(trained->tokens.size(), 259u);
  EXPECT_EQ(trained->tokens[256], "aa");
  EXPECT_EQ(trained->tokens[257], "ab");
  EXPECT_EQ(trained->tokens[258], "aaab");
  options.vocabularySize = 400;
  trained = trainBytePairs(words, options);
  ASSERT_TRUE(trained.ok());
  EXPECT_EQ(trained->tokens.size(), 260u) << "\"zz\" occurs once alone";
  options.vocabularySize = 255;
  EXPECT_FALSE(trainBytePairs(words, options).ok());
}
