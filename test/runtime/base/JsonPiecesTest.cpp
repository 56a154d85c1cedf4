//===- JsonPiecesTest.cpp - A JSON text, member by member -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/JsonPieces.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace hocket;

/// "key=value;" of each, then "." if the text was whole.
static std::string piecesOf(std::string_view text) {
  JsonPieces pieces(text);
  std::string result;
  while (auto piece = pieces.next())
    result += std::string(piece->key) + "=" + std::string(piece->value) + ";";
  return result + (pieces.isWhole() ? "." : "");
}

TEST(JsonPieces, GivesMembersAndElements) {
  EXPECT_EQ(piecesOf("{}"), ".");
  EXPECT_EQ(piecesOf(" [ ] \n"), ".");
  EXPECT_EQ(piecesOf(R"({"a":1,"b" : "x,}\"]" , "c":[1,{"d":"}"}],"e":true})"),
            R"(a=1;b="x,}\"]";c=[1,{"d":"}"}];e=true;.)");
  EXPECT_EQ(piecesOf("[1, [2, 3], \"\\\\\",{}]"), "=1;=[2, 3];=\"\\\\\";={};.");
  EXPECT_EQ(piecesOf(R"({"a\"b":0})"), R"(a\"b=0;.)");
  JsonPieces pieces(R"( { "k" : [0] } )");
  EXPECT_TRUE(pieces.isObject());
  EXPECT_EQ(pieces.next()->member, R"("k" : [0])");
}

TEST(JsonPieces, SaysThatATextIsNotWhole) {
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
    std::string pieces = piecesOf(text);
    EXPECT_FALSE(pieces.ends_with('.')) << text << " gives " << pieces;
  }
}

// Whatever the bytes, the walk ends and stays inside the text.
TEST(JsonPieces, EndsOnAnyText) {
  uint32_t random = 1;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (int k = 0; k < 12; ++k) {
      random = random * 1664525 + 1013904223;
      text += "{}[]\",:\\1a \n"[random >> 24 & 0xff ? (random >> 24) % 12 : 0];
    }
    JsonPieces pieces(text);
    const char *last = text.data();
    while (auto piece = pieces.next()) {
      ASSERT_GE(piece->member.data(), last) << text;
      last = piece->member.data() + piece->member.size();
      ASSERT_LE(last, text.data() + text.size()) << text;
    }
  }
}
