//===- JsonObjectTest.cpp - JSON objects of others ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonObject.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;

TEST(JsonObject, IsReadWhole) {
  auto object = parseJsonObject(
      R"( {"a": [{"a": 1}, {"a": 2}], "b": {"a": null, "b": 1.5}} )", "f", 1);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->dump(),
            R"({"a":[{"a":1},{"a":2}],"b":{"a":null,"b":1.5}})");
}

TEST(JsonObject, SaysWhereItIsNone) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "f:7:1: expected a value"},
      {"  [1]", "f:7:3: expected an object"},
      {"null", "f:7:1: expected an object"},
      {"{\"a\": 1,\n \"b\": }", "f:8:7: expected a value"},
      {"{\"a\": \"\xff\"}", "f:7:8: expected valid UTF-8"},
      {R"({"a": 1} {})", "f:7:10: expected the end"},
      {R"({"a": 1, "b": 2, "a": 3})",
       "f:7:23: expected each key once, found 'a' again"},
      {R"({"b": [{"a": 1, "a": 2}]})",
       "f:7:1: expected each key once, found 'a' again"},
      {R"({"": 1, "": 2})", "f:7:13: expected each key once, found '' again"},
      {R"({"a": 1, "\u0061": 2})",
       "f:7:1: expected each key once, found 'a' again"},
  };
  for (const auto &[text, message] : cases) {
    auto object = parseJsonObject(text, "f", 7);
    ASSERT_FALSE(object.ok()) << text;
    EXPECT_EQ(object.status().code(), StatusCode::InvalidArgument);
    EXPECT_TRUE(object.status().message().starts_with(message))
        << object.status().message();
  }
}

// Copies and prints of a value that was let through fit on a stack.
TEST(JsonObject, IsNotTooDeep) {
  auto nested = [](size_t levels) {
    return R"({"a": )" + std::string(levels, '[') + std::string(levels, ']') +
           "}";
  };
  auto deep = parseJsonObject(nested(1000), "f", 1);
  ASSERT_TRUE(deep.ok()) << deep.status().message();
  nlohmann::json copy = *deep;
  copy["b"] = nullptr;
  EXPECT_EQ(copy.dump().size(), 2000 + 15u);
  for (size_t levels : {1025, 1000000}) {
    auto object = parseJsonObject(nested(levels), "f", 1);
    ASSERT_FALSE(object.ok());
    EXPECT_TRUE(object.status().message().starts_with("f:1:10"))
        << object.status().message();
  }
}

// Each is as much work as the last: who asks a server may send lists.
TEST(JsonObject, ListsOfObjectsAreLong) {
  constexpr size_t count = 400000;
  std::string text = R"({"a": [)";
  for (size_t i = 0; i < count; ++i)
    text += "{},";
  text += "{}]}";
  auto object = parseJsonObject(text, "f", 1);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ((*object)["a"].size(), count + 1);
}
