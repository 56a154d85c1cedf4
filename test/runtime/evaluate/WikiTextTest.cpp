//===- WikiTextTest.cpp - Text as it was before it was tokenized ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/WikiText.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket::evaluate;

/// golden/make_golden.py says the rules with regular expressions.
TEST(WikiText, IsJoinedAsRegularExpressionsJoinIt) {
  std::ifstream file(HOCKET_GOLDEN "/wikitext.json");
  nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 100u);
  for (const auto &golden : cases) {
    std::string text = golden["text"];
    EXPECT_EQ(joinWikiText(text), golden["joined"].get<std::string>()) << text;
    EXPECT_EQ(countSpacedWords(text), golden["words"].get<uint64_t>()) << text;
  }
}
