//===- Base64Test.cpp - Bytes as text of 64 characters --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Base64.h"

#include <gtest/gtest.h>

#include <utility>

using namespace hocket;

// RFC 4648, section 10, and bytes of the upper half.
static const std::pair<std::string, std::string> known[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfd", "//79"},
    {std::string("\0\0\xfb\xf0", 4), "AAD78A=="},
};

TEST(Base64Test, KnownTexts) {
  for (const auto &[bytes, text] : known) {
    EXPECT_EQ(encodeBase64(bytes), text);
    StatusOr<std::string> decoded = decodeBase64(text);
    ASSERT_TRUE(decoded.ok()) << text;
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64Test, AllBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += char(i * 37 + i / 256);
    StatusOr<std::string> decoded = decodeBase64(encodeBase64(bytes));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64Test, NothingElseIsTaken) {
  const std::pair<std::string, std::string> wrong[] = {
      {"Zg", "has 2 characters"},
      {"Zg=", "has 3 characters"},
      {"Zm9v\n", "has 5 characters"},
      {"Zm 9vYg=", "from character 3 on"},
      {"Zm9v\nZm9", "from character 5 on"},
      {"Zm-_", "from character 3 on"},
      {"Zg==Zg==", "from character 3 on"},
      {"Z===", "from character 2 on"},
      {"====", "from character 1 on"},
      {"Zh==", "bits behind its last byte"},
      {"Zm9=", "bits behind its last byte"},
      {std::string("Zm9\0", 4), "from character 4 on"},
      {"Zm9\xc3", "from character 4 on"},
  };
  for (const auto &[text, message] : wrong) {
    StatusOr<std::string> decoded = decodeBase64(text);
    ASSERT_FALSE(decoded.ok()) << text;
    EXPECT_NE(decoded.status().message().find(message), std::string::npos)
        << text << ": " << decoded.status().message();
  }
}
