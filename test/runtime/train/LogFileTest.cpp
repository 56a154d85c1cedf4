//===- LogFileTest.cpp - Logs are not lost in silence either --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LogFile.h"

#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

TEST(LogFile, ALogOfAnotherRunIsRefusedWithItsLastStep) {
  ScratchFolder folder;
  std::string path = folder / "run.jsonl", text;
  for (int step = 1; step <= 5000; ++step)
    text += "{\"step\":" + std::to_string(step) + ",\"loss\":1.5}\n";
  writeBytes(path, text + "{\"step\":50"); // The last line was cut off.
  EXPECT_EQ(checkLogFile(path, LogUse::New).message(),
            path + ": holds the log of another run, to step 5000; go on with "
                   "that run (--load), give --log another file, or start over "
                   "with --overwrite");
  EXPECT_TRUE(checkLogFile(path, LogUse::Continue).ok());
  EXPECT_TRUE(checkLogFile(path, LogUse::Overwrite).ok());
}

TEST(LogFile, WhatIsNoLogStaysAsItIs) {
  ScratchFolder folder;
  for (const char *text : {"my thesis\n", "{\"text\":\"data\"}\n", "[1]\n",
                           "{\"step\":\"x\"}\n", "\n"}) {
    writeBytes(folder / "f", text);
    for (LogUse use : {LogUse::New, LogUse::Continue, LogUse::Overwrite})
      EXPECT_EQ(checkLogFile(folder / "f", use).message(),
                folder / "f: is not the log of a run; it is left as it is, "
                         "give --log another file")
          << text;
  }
}

TEST(LogFile, NothingThereWillDo) {
  ScratchFolder folder;
  writeBytes(folder / "empty", "");
  for (const std::string &path :
       {folder / "none", folder / "empty", std::string("/dev/null")})
    EXPECT_TRUE(checkLogFile(path, LogUse::New).ok()) << path;
}
