//===- JsonDefectTest.cpp - Where a JSON text goes wrong ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonDefect.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

using namespace hocket;

static std::string describe(std::string_view text) {
  auto defect = findJsonDefect(text);
  return defect ? std::to_string(defect->offset) + " " + defect->expected
                : "fine";
}

TEST(JsonDefect, SaysWhereAndWhat) {
  const std::pair<std::string, const char *> cases[] = {
      {"{\"a\": [1, -2.5e+3, true], \"b\": {}}", "fine"},
      {" \"\\u00e9 \\ud83d\\ude00 \xc3\xa9\" ", "fine"},
      {"", "0 a value"},
      {"{", "1 a string"},
      {"{\"a\"}", "4 ':'"},
      {"{\"a\":1", "6 ',' or '}'"},
      {"{\"a\":1,}", "7 a string"},
      {"[1 2]", "3 ',' or ']'"},
      {"[1,]", "3 a value"},
      {"[1]]", "3 the end of the text"},
      {"nul", "0 a value"},
      {"01", "1 the end of the text"},
      {"1.", "2 a digit"},
      {"-", "1 a digit"},
      {"\"ab", "3 '\"' at the end of a string"},
      {"\"a\nb\"", "2 no control character inside a string"},
      {"\"\\x\"", "1 one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"},
      {"\"\\u12g4\"", "5 four hexadecimal digits after \\u"},
      {"\"\\ud800x\"", "1 both halves of a surrogate pair"},
      {"\"\\udc00\"", "1 both halves of a surrogate pair"},
      {"\"\xff\"", "1 valid UTF-8"},
      {"\"\xed\xa0\x80\"", "1 valid UTF-8"},
      {std::string(2000, '['), "1024 at most 1024 levels"},
  };
  for (const auto &[text, expected] : cases)
    EXPECT_EQ(describe(text), expected) << text.substr(0, 40);
}

// Every prefix of a text and every text with one byte changed is judged as
// another parser judges it.
TEST(JsonDefect, AgreesWithAnotherParser) {
  std::string text =
      R"({"k": [1, -0.5e2, "a\n\u0041", null, true], "m": {"n": false}})";
  std::vector<std::string> texts;
  for (size_t i = 0; i <= text.size(); ++i)
    texts.push_back(text.substr(0, i));
  for (size_t i = 0; i < text.size(); ++i)
    for (char c : {'"', ',', '0', '\\', '{', ']', '\0', '\x80', 'e', ' '}) {
      texts.push_back(text);
      texts.back()[i] = c;
    }
  for (const std::string &t : texts)
    EXPECT_EQ(!findJsonDefect(t), nlohmann::json::accept(t)) << t;
}

TEST(JsonDefect, FindsMembers) {
  std::string text = R"({"a": {"t": 1}, "t": [2], "b":"t", "t" : "x"})";
  EXPECT_EQ(findJsonMember(text, "t"), text.find("[2]"));
  EXPECT_EQ(findJsonMember(text, "t", 1), text.find("\"x\""));
  EXPECT_EQ(findJsonMember(text, "t", 2), std::nullopt);
  EXPECT_EQ(findJsonMember("[{\"t\":1}]", "t"), std::nullopt);
}

TEST(JsonDefect, FindsInvalidUtf8) {
  EXPECT_EQ(findInvalidUtf8("abc\xe2\x82\xac"), 6u);
  EXPECT_EQ(findInvalidUtf8("abc\xe2\x82"), 3u);
  EXPECT_EQ(findInvalidUtf8("\xf4\x90\x80\x80"), 0u);
  EXPECT_EQ(findInvalidUtf8("a\xc0\xaf"), 1u);
  EXPECT_EQ(toValidUtf8(""), "");
  EXPECT_EQ(toValidUtf8("\xe2\x82\xac a"), "\xe2\x82\xac a");
  EXPECT_EQ(toValidUtf8("\xe2\x82x\xff"),
            "\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd");
}
