//===- SentencesTest.cpp - A text as sentences ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/Sentences.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace hocket;
using namespace hocket::data;

namespace {

/// A text with "|" where a sentence ends.
class SentencesTest : public testing::TestWithParam<const char *> {};

std::string joined(const std::vector<std::string_view> &sentences,
                   const std::string &by) {
  std::string text;
  for (std::string_view sentence : sentences)
    text += (text.empty() ? "" : by) + std::string(sentence);
  return text;
}

TEST_P(SentencesTest, EndWhereTheyShould) {
  std::string marked = GetParam(), text;
  for (char c : marked)
    if (c != '|')
      text += c;
  std::string found;
  for (std::string_view sentence : splitSentences(text, /*keepsSpace=*/true))
    found += (found.empty() ? "" : "|") + std::string(sentence);
  EXPECT_EQ(found, marked);
}

const char *const english[] = {
    "It rained. |We stayed in. |Nobody came",
    "Mr. Smith met Dr. J. K. Brown and Prof. Lee. |They spoke of St. Paul.",
    "It costs 3.14 dollars at example.com. |See v1.2.3 for more.",
    "\"Why?\" he asked. |\"No!\" |\"Go away!\" she said.",
    "He said \"Stop.\" |Then he left. |(He was late.) |She was not.",
    "Well... |She left, well... she stayed… |Then she slept.",
    "What?! |Really!!! |Yes.",
    "He lives in the U.S. |The U.S. Army came at 5 p.m. |It left.",
    "It left at 6 p.m. sharp. |At 7 a.m. it was back.",
    "Pens, paper, etc. are here. |Bring ink, etc. |They need it.",
    "Apple Inc. reported No. 5 and Fig. 2. |No. |I disagree. |See Vol. 3.",
    "Use tools, e.g. Hammers, i.e. Iron ones, vs. Wood. |Cf. No. 3.",
    "Smith et al. 2019 said it. |Smith et al. |They said it.",
    "1. First of all. |2. Then this. |A. An item.",
    "A fact.[3] |Another one.[12][13] |In 1990. |20 people came.",
    "Vitamin C. |The body needs it. |J. Smith agrees.",
    "A heading\n\n|A text. |It goes\non here.\n \n|end",
    "He paused . . . and went on. |- Yes. |- No.",
    "It's done. |It's over. |However, I'm here.",
    "Price: 5. |$7 was more. |\U0001F600 is a face.",
};
INSTANTIATE_TEST_SUITE_P(English, SentencesTest, testing::ValuesIn(english));

const char *const others[] = {
    // German.
    "Am 3. Oktober kam Hr. Meier, z.B. mit Dr. Kühn. |Er blieb bis 12. |Dann "
    "ging er.",
    "Im 19. Jahrhundert war das so. |„Wirklich?“, fragte er. |»Ja.« |Äpfel, "
    "Birnen usw. lagen da.",
    // French.
    "« Bonjour. » |Il est là, M. Dupont. |« Où ? » |Élise rit.",
    // Spanish.
    "¿Quién es? |¡Soy yo! |El Sr. García vive en la pág. 5, p.ej. Toledo. |Él "
    "no.",
    // Russian.
    "Это был г. Иванов, т.е. он. |Да! |Ну... да. |В 1990 г. |Он уехал.",
    // Greek and Hindi.
    "Καλημέρα. |Τι κάνεις;",
    "यह एक वाक्य है। |यह दूसरा है।",
    // Arabic and Armenian.
    "هل أنت هنا؟ |نعم.",
    "Բարեւ։ |Ինչպե՞ս ես։",
    // Chinese and Japanese.
    "你好。|他说：“走吧！”|然后他走了。|３．１４是数。|真的吗？！|对。",
    "「何？」と言った。|「行こう。」　|雨だ。|（寒い。）から帰る。",
};
INSTANTIATE_TEST_SUITE_P(Others, SentencesTest, testing::ValuesIn(others));

TEST(Sentences, AreTrimmedOrKeepTheirSpace) {
  const std::string text = " \n One.\n  Two.\t\n\n\u3000Three\u00a0\n";
  EXPECT_EQ(joined(splitSentences(text), "|"), "One.|Two.|Three");
  EXPECT_EQ(joined(splitSentences(text, true), "|"),
            " \n One.\n  |Two.\t\n\n\u3000|Three\u00a0\n");
  EXPECT_TRUE(splitSentences("").empty());
  EXPECT_TRUE(splitSentences(" \n\n \u3000").empty());
  // The last byte of this letter would be a space by itself.
  EXPECT_EQ(joined(splitSentences("Voil\u00e0\n\nEt"), "|"), "Voil\u00e0|Et");
}

/// A text of these words, in any order.
std::string randomText(std::mt19937 &random) {
  static const char *const words[] = {
      "Mr.", " ",  "\n\n", "The",    " \n", "etc.", "5",      ".",
      "!",   "?",  "[3]",  "\u3002", "x",   " »",   "\u300d", "\u2026",
      "\"",  "A.", "\n",   "\u3000", " - ", "und",  "Mai",    "U.S."};
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += words[random() % std::size(words)];
  return text;
}

/// Wherever a text is cut, its sentences are the same.
TEST(Sentences, TextsAreCutBetweenThem) {
  std::mt19937 random(7);
  size_t cuts = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = randomText(random);
    for (bool keepsSpace : {false, true}) {
      auto whole = splitSentences(text, keepsSpace);
      size_t seen = random() % text.size();
      size_t at = lastSentenceEnd(std::string_view(text).substr(0, seen));
      ASSERT_LE(at, seen);
      if (at == 0)
        continue;
      ++cuts;
      std::string first = text.substr(0, at), last = text.substr(at);
      auto parts = splitSentences(first, keepsSpace);
      for (std::string_view sentence : splitSentences(last, keepsSpace))
        parts.push_back(sentence);
      ASSERT_EQ(joined(parts, "|"), joined(whole, "|")) << text << '\n' << at;
    }
  }
  EXPECT_GT(cuts, 1000u);
}

/// Bytes that are no text do no harm, and long runs take linear time.
TEST(Sentences, AnyBytesAreSplit) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int k = 0; k < 40; ++k)
      text += char(random() % 4 ? random() : ".!\n \xe3\x80\x82"[random() % 7]);
    EXPECT_EQ(joined(splitSentences(text, true), ""),
              splitSentences(text).empty() ? "" : text);
    EXPECT_LE(lastSentenceEnd(text), text.size());
  }
  for (const char *run : {".", " ", "\n", "a.", ". ", "Mr. ", "[", "\u3002\"",
                          "- ", ". \" ", "1.\n"}) {
    std::string text;
    while (text.size() < 1000000)
      text += run;
    EXPECT_EQ(joined(splitSentences(text, true), ""),
              splitSentences(text).empty() ? "" : text);
    EXPECT_LE(lastSentenceEnd(text), text.size());
  }
}

} // namespace
