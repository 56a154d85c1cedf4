//===- SourceExcerptTest.cpp - The line that an error speaks of -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/SourceExcerpt.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace hocket;

namespace {

struct SourceExcerpt : testing::Test {
  SourceExcerpt() : file(testing::TempDir() + "source_excerpt.textproto") {}
  ~SourceExcerpt() override { std::filesystem::remove(file); }

  void hold(const std::string &text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string at(const std::string &place) const {
    std::string message = file + ":" + place + ": S6: no";
    return withExcerpts(message).substr(message.size());
  }

  std::string file;
};

TEST_F(SourceExcerpt, LineAndCaret) {
  hold("model {\n\theads: 4 kv: 3\n}\r\n");
  EXPECT_EQ(at("2:11"), "\n    2 | \theads: 4 kv: 3\n      | \t         ^");
  EXPECT_EQ(at("1:1"), "\n    1 | model {\n      | ^");
  EXPECT_EQ(at("3:2"), "\n    3 | }\n      |  ^");
}

TEST_F(SourceExcerpt, EveryLineOfAMessageHasItsOwn) {
  hold("a\nb\n");
  EXPECT_EQ(withExcerpts(file + ":1:1: x\n  " + file + ":2:1: y"),
            file + ":1:1: x\n    1 | a\n      | ^\n  " + file +
                ":2:1: y\n    2 | b\n      | ^");
}

TEST_F(SourceExcerpt, ColumnsCountBytesAndCaretsCharacters) {
  hold("\xc3\xa4\xc3\xb6 x\n");
  EXPECT_EQ(at("1:6"), "\n    1 | \xc3\xa4\xc3\xb6 x\n      |    ^");
}

TEST_F(SourceExcerpt, ControlsAreNotSentToATerminal) {
  hold("\x1b[31mred\x7f\n");
  EXPECT_EQ(at("1:2"), "\n    1 | ?[31mred?\n      |  ^");
}

TEST_F(SourceExcerpt, OfALongLineAPart) {
  hold(std::string(500, 'a') + "X" + std::string(500, 'b'));
  std::string shown = at("1:501");
  EXPECT_LT(shown.size(), 200u);
  size_t x = shown.find('X'), caret = shown.find('^');
  size_t second = shown.find('\n', 1);
  EXPECT_EQ(x, caret - second);
}

TEST_F(SourceExcerpt, WhatIsNotThereIsLeftOut) {
  hold("one line\n");
  EXPECT_EQ(at("9:1"), "");
  EXPECT_EQ(withExcerpts("--set model.layers=0: S4: no"),
            "--set model.layers=0: S4: no");
  EXPECT_EQ(withExcerpts("/dev/zero:1:1: no"), "/dev/zero:1:1: no");
  EXPECT_EQ(withExcerpts("nowhere.textproto:1:1: no"),
            "nowhere.textproto:1:1: no");
  EXPECT_EQ(withExcerpts(""), "");
}

} // namespace
