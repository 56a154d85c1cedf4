//===- StatusLineTest.cpp - A line that is rewritten in place -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/StatusLine.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

using namespace hocket;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(StatusLine, ATerminalShowsItBetweenTheLines) {
  std::ostringstream out;
  {
    StatusLine line(out, [] { return 12U; });
    EXPECT_TRUE(line.isTerminal());
    line.show("step 1");
    line.show("a text that is too wide");
    line.print("kept");
    line.print("kept too");
    line.show("step 2");
  }
  EXPECT_EQ(out.str(), "\r\x1b[Kstep 1\r"
                       "\r\x1b[Ka text that\r"
                       "\r\x1b[Kkept\n"
                       "kept too\n"
                       "\r\x1b[Kstep 2\r"
                       "\r\x1b[K");
}

TEST(StatusLine, ElsewhereThereAreLinesAlone) {
  std::ostringstream out;
  {
    StatusLine line(out, nullptr);
    EXPECT_FALSE(line.isTerminal());
    line.show("step 1");
    line.print("kept");
    line.show("step 2");
  }
  EXPECT_EQ(out.str(), "kept\n");
}

TEST(PhaseNotice, SaysWhatTakesLong) {
  std::vector<std::string> printed, shown;
  RunOutput file{[&](const std::string &line) { printed.push_back(line); },
                 nullptr};
  RunOutput terminal = file;
  terminal.show = [&](const std::string &text) { shown.push_back(text); };
  {
    PhaseNotice quick(file, "quick");
    PhaseNotice quickToo(terminal, "quick");
  }
  EXPECT_THAT(printed, IsEmpty());
  EXPECT_THAT(shown, IsEmpty());
  {
    PhaseNotice slow(file, "compiling x");
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
  }
  EXPECT_THAT(printed, ElementsAre("compiling x"));
  {
    PhaseNotice slow(terminal, "compiling y");
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
  }
  EXPECT_THAT(printed, ElementsAre("compiling x"));
  ASSERT_GE(shown.size(), 2u);
  EXPECT_EQ(shown.front(), "compiling y");
  EXPECT_EQ(shown.back(), "");
}
