//===- DataCommandTest.cpp - `hocket data prepare` ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/DataCommand.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;

namespace {
struct Outcome {
  Status status;
  bool parsed = true;
  std::string out;
};
} // namespace

static Outcome run(std::vector<std::string> words) {
  Outcome outcome;
  CLI::App app("data");
  registerDataPrepare(app, outcome.status);
  std::reverse(words.begin(), words.end());
  testing::internal::CaptureStdout();
  try {
    app.parse(words);
  } catch (const CLI::ParseError &) {
    outcome.parsed = false;
  }
  outcome.out = testing::internal::GetCapturedStdout();
  return outcome;
}

TEST(DataCommand, PreparesAndPrintsJson) {
  ScratchFolder folder;
  writeBytes(folder / "a.txt", "hello");
  writeBytes(folder / "b.jsonl", "{\"text\": \"you\"}\n");
  Outcome outcome =
      run({"prepare", folder / "a.txt", folder / "b.jsonl", "-o", folder / "p",
           "--tokenizer", "byte", "--append-eod", "--json"});
  ASSERT_TRUE(outcome.parsed);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  auto object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object["prefix"], folder / "p_text_document");
  EXPECT_EQ(object["documents"], 2);
  EXPECT_EQ(object["tokens"], 10);
  EXPECT_EQ(object["bytes"], 21);
  EXPECT_EQ(readBytes(folder / "p_text_document.bin").size(), 20u);
}

TEST(DataCommand, HandsOnTheError) {
  ScratchFolder folder;
  writeBytes(folder / "b.jsonl", "{\"text\": \"you\"}\n");
  Outcome outcome = run({"prepare", folder / "b.jsonl", "-o", folder / "p",
                         "--json-key", "body"});
  ASSERT_TRUE(outcome.parsed);
  EXPECT_EQ(outcome.status.message(),
            folder / "b.jsonl:1:1: expected an object with the key 'body'");
  EXPECT_EQ(outcome.out, "");
}

TEST(DataCommand, WarnsOfBadLines) {
  ScratchFolder folder;
  writeBytes(folder / "b.jsonl", "{\"text\": \"you\"}\n{}\n");
  testing::internal::CaptureStderr();
  Outcome outcome = run({"prepare", folder / "b.jsonl", "-o", folder / "p",
                         "--max-bad-lines", "3", "--json"});
  std::string errors = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["bad_lines"], 1);
  EXPECT_EQ(errors, "warning: " + folder.path +
                        "/b.jsonl:2:1: expected an object with the key "
                        "'text'\nwarning: 1 bad line is left out of the token "
                        "files\n");
}

TEST(DataCommand, NeedsInputAndOutput) {
  EXPECT_FALSE(run({"prepare", "a.txt"}).parsed);
  EXPECT_FALSE(run({"prepare", "-o", "p"}).parsed);
  EXPECT_FALSE(run({"prepare", "a.txt", "-o", "p", "--threads", "-1"}).parsed);
}
