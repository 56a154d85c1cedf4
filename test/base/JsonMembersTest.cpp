//===- JsonMembersTest.cpp - A JSON text, member by member ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonMembers.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace hocket;

/// "key=value;" of each, then "." if the text was whole.
static std::string entriesOf(std::string_view text) {
  JsonMembers entries(text);
  std::string result;
  while (auto entry = entries.next())
    result += std::string(entry->key) + "=" + std::string(entry->value) + ";";
  return result + (entries.isWhole() ? "." : "");
}

TEST(JsonMembers, GivesMembersAndElements) {
  EXPECT_EQ(entriesOf("{}"), ".");
  EXPECT_EQ(entriesOf(" [ ] \n"), ".");
  EXPECT_EQ(entriesOf(R"({"a":1,"b" : "x,}\"]" , "c":[1,{"d":"}"}],"e":true})"),
            R"(a=1;b="x,}\"]";c=[1,{"d":"}"}];e=true;.)");
  EXPECT_EQ(entriesOf("[1, [2, 3], \"\\\\\",{}]"),
            "=1;=[2, 3];=\"\\\\\";={};.");
  EXPECT_EQ(entriesOf(R"({"a\"b":0})"), R"(a\"b=0;.)");
  JsonMembers entries(R"( { "k" : [0] } )");
  EXPECT_TRUE(entries.isObject());
  EXPECT_EQ(entries.next()->member, R"("k" : [0])");
}

TEST(JsonMembers, SaysThatATextIsNotWhole) {
  for (const char *text : {"",
                           "x",
                           "1",
                           "\"s\"",
                           "{",
                           "[",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,}",
                           "{\"a\":1 \"b\":2}",
                           "{a:1}",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{} x",
                           "[[1]",
                           "[\"a",
                           "[\"a\\",
                           "{\"a\":}",
                           "{\"a\":1]"}) {
    std::string entries = entriesOf(text);
    EXPECT_FALSE(entries.ends_with('.')) << text << " gives " << entries;
  }
}

// Whatever the bytes, the walk ends and stays inside the text.
TEST(JsonMembers, EndsOnAnyText) {
  uint32_t random = 1;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (int k = 0; k < 12; ++k) {
      random = random * 1664525 + 1013904223;
      text += "{}[]\",:\\1a \n"[random >> 24 & 0xff ? (random >> 24) % 12 : 0];
    }
    JsonMembers entries(text);
    const char *last = text.data();
    while (auto entry = entries.next()) {
      ASSERT_GE(entry->member.data(), last) << text;
      last = entry->member.data() + entry->member.size();
      ASSERT_LE(last, text.data() + text.size()) << text;
    }
  }
}
