//===- DataCommandTest.cpp - `hocket data prepare` ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/data/DataCommand.h"
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
  registerDataMerge(app, outcome.status);
  registerDataInspect(app, outcome.status);
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

TEST(DataCommand, SplitsSentences) {
  ScratchFolder folder;
  writeBytes(folder / "a.txt", "Dr. No came. \"Why?\" he asked.\n");
  std::vector<std::string> words = {"prepare", folder / "a.txt", "-o",
                                    folder / "p"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run(more);
  };
  Outcome trimmed = with({"--split-sentences"});
  EXPECT_EQ(trimmed.out.find(folder / "p_text_sentence.{bin,idx}: 1 document "
                                      "in 2 sentences, 28 tokens"),
            0u)
      << trimmed.out;
  Outcome kept = with({"--split-sentences", "--keep-newlines", "--json"});
  auto object = nlohmann::json::parse(kept.out);
  EXPECT_EQ(object["sequences"], 2);
  EXPECT_EQ(object["tokens"], 30);
  EXPECT_FALSE(with({"--keep-newlines"}).parsed);
}

TEST(DataCommand, TakesKeysWithCommasBetween) {
  ScratchFolder folder;
  writeBytes(folder / "b.jsonl", "{\"a\": \"you\", \"b\": \"x\"}\n");
  Outcome outcome = run({"prepare", "--json-keys", "a,b", folder / "b.jsonl",
                         "-o", folder / "p"});
  ASSERT_TRUE(outcome.parsed);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.out.find(folder / "p_a_document.{bin,idx}: 1 document, 3 "
                                      "tokens"),
            0u)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\n" + folder.path + "/p_b_document"),
            std::string::npos);
}

TEST(DataCommand, MergesAndInspects) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({5, 0}, 50));
  writeTokenFile(folder / "b", makeTokenFile({3, 1000}, 50));
  Outcome merged =
      run({"merge", folder / "a", folder / "b", "-o", folder / "c"});
  ASSERT_TRUE(merged.status.ok()) << merged.status.message();
  EXPECT_EQ(merged.out, folder / "c.{bin,idx}: 4 documents, 1,008 tokens, "
                                 "1.97 KiB\n");
  EXPECT_EQ(run({"inspect", folder / "c"}).out,
            folder.path +
                "/c.{bin,idx}: 4 documents in 4 sequences, 1,008 tokens of "
                "type u16\n"
                "tokens of a document  shortest  median   mean   90 %   99 %  "
                "longest\n"
                "                             0       3  252.0  1,000  1,000  "
                "  1,000\n"
                "tokens of a document  documents   share  tokens   share\n"
                "0                             1  25.0 %       0   0.0 %\n"
                "2 to 3                        1  25.0 %       3   0.3 %\n"
                "4 to 7                        1  25.0 %       5   0.5 %\n"
                "512 to 1,023                  1  25.0 %   1,000  99.2 %\n");
  Outcome json = run({"inspect", folder / "a", folder / "c", "--json"});
  std::istringstream lines(json.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line) && std::getline(lines, line));
  auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["prefix"], folder / "c");
  EXPECT_EQ(object["empty_documents"], 1);
  EXPECT_EQ(object["mean"], 252);
  // Nothing is printed of the first where the second is missing.
  Outcome missing = run({"inspect", folder / "a", folder / "none"});
  EXPECT_EQ(missing.status.code(), StatusCode::NotFound);
  EXPECT_EQ(missing.out, "");
}

TEST(DataCommand, InspectsABlend) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({30, 60}, 50));
  writeTokenFile(folder / "b", makeTokenFile({10}, 50));
  std::string shares = run({"inspect", folder / "a", folder / "b"}).out;
  EXPECT_EQ(shares.find("weight"), std::string::npos) << shares;
  writeBytes(folder / "blend",
             "3 " + folder.path + "/a 1 " + folder.path + "/b\n");
  Outcome blend = run({"inspect", "3", folder / "a", "1", folder / "b"});
  ASSERT_TRUE(blend.status.ok()) << blend.status.message();
  EXPECT_EQ(blend.out, run({"inspect", "@" + folder.path + "/blend"}).out);
  std::istringstream lines(blend.out.substr(blend.out.find("files ")));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    rows.push_back({std::istream_iterator<std::string>(words), {}});
  }
  const std::vector<std::vector<std::string>> expected = {
      {"files", "documents", "tokens", "share", "weight", "passes"},
      {folder / "a", "2", "90", "90.0", "%", "75.0", "%", "0.83"},
      {folder / "b", "1", "10", "10.0", "%", "25.0", "%", "2.50"},
      {"all", "3", "100", "100.0", "%", "100.0", "%", "1.00"}};
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(run({"inspect", "3", folder / "a", "1"}).status.message(),
            "expected one data prefix, or pairs WEIGHT PREFIX; found 3 words");
  EXPECT_EQ(
      run({"inspect", "0", folder / "a", "1", folder / "b"}).status.code(),
      StatusCode::InvalidArgument);
}

TEST(DataCommand, WritesAPage) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({30, 0}, 50));
  std::string text = run({"inspect", folder / "a"}).out;
  Outcome both = run({"inspect", folder / "a", "--html", folder / "p.html"});
  ASSERT_TRUE(both.status.ok()) << both.status.message();
  EXPECT_EQ(both.out.find(text + folder.path + "/p.html: "), 0u) << both.out;
  std::string page = readBytes(folder / "p.html");
  EXPECT_NE(page.find("\"documents\":2"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos); // It loads nothing.
  EXPECT_EQ(run({"inspect", folder / "a", "--page", "-"}).out, page);
  EXPECT_FALSE(
      run({"inspect", folder / "a", "--json", "--html", "p.html"}).parsed);
  EXPECT_EQ(run({"inspect", folder / "none", "--html", folder / "q.html"})
                .status.code(),
            StatusCode::NotFound);
  EXPECT_FALSE(std::filesystem::exists(folder / "q.html"));
  EXPECT_FALSE(run({"inspect", folder / "a", "--html", folder / "no/p.html"})
                   .status.ok());
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
