//===- TaskFilesTest.cpp - Labelled texts as they are distributed ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/TaskFiles.h"
#include "runtime/data/ClassFile.h"
#include "runtime/data/IndexedDataset.h"
#include "runtime/data/Merge.h"
#include "runtime/data/text/CorpusSummary.h"
#include "runtime/data/text/Prepare.h"
#include "test/runtime/data/TokenFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {

const std::string mnliHeader =
    "index\tpromptID\tgenre\tsentence1_parse\tsentence1\tsentence2\tlabel1\t"
    "gold_label\n";
const std::string qqpHeader =
    "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n";

class TaskFilesTest : public testing::Test {
protected:
  StatusOr<TaskSamples> read(const std::string &task,
                             const std::string &content,
                             uint64_t maxBadLines = 0) const {
    writeBytes(folder / "f.tsv", content);
    return readTask(task, {folder / "f.tsv"}, maxBadLines);
  }
  std::string refusal(const std::string &task, const std::string &content,
                      uint64_t maxBadLines = 0) const {
    auto samples = read(task, content, maxBadLines);
    return samples.ok() ? "" : samples.status().message();
  }
  std::string at(const std::string &place) const {
    return (folder / "f.tsv") + ":" + place + ": ";
  }

  ScratchFolder folder;
};

TEST_F(TaskFilesTest, ReadsMnli) {
  auto read = this->read(
      "mnli",
      mnliHeader +
          "0\t1\tfiction\t( x )\tA \"man\" runs.\tNobody "
          "moves.\tx\tcontradiction\n"
          "1\t2\tfiction\t( x )\tIt rains.\tIt is wet.\tx\tentailment\r\n"
          "2\t2\tfiction\t( x )\tIt rains.\tBob knew.\tx\t-\n"
          "3\t2\tfiction\t( x )\tIt rains.\tBob knew.\tx\tneutral");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(read->classes,
              testing::ElementsAre("contradiction", "entailment", "neutral"));
  EXPECT_FALSE(read->areChoices);
  EXPECT_EQ(read->unlabelled, 1u);
  ASSERT_EQ(read->samples.size(), 3u);
  EXPECT_THAT(read->samples[0].texts,
              testing::ElementsAre("A \"man\" runs.", "Nobody moves."));
  EXPECT_EQ(read->samples[0].label, 0);
  EXPECT_EQ(read->samples[1].label, 1);
  EXPECT_EQ(read->samples[2].label, 2);
  EXPECT_EQ(read->samples[2].place, (folder / "f.tsv") + ":5");
}

TEST_F(TaskFilesTest, ReadsQqp) {
  auto read = this->read("qqp", "\xef\xbb\xbf" + qqpHeader +
                                    "0\t1\t2\tWhy?\tHow?\t0\n"
                                    "1\t1\t2\tWhy?\tWhy so?\t1\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(read->classes,
              testing::ElementsAre("not_duplicate", "duplicate"));
  ASSERT_EQ(read->samples.size(), 2u);
  EXPECT_EQ(read->samples[1].label, 1);
  EXPECT_THAT(read->samples[1].texts, testing::ElementsAre("Why?", "Why so?"));
}

TEST_F(TaskFilesTest, NamesBrokenRows) {
  EXPECT_EQ(refusal("qqp", "id\tquestion1\n0\tWhy?\n"),
            at("1:1") + "a table of qqp has a column \"question2\", and this "
                        "has none");
  EXPECT_EQ(refusal("qqp", "id\tquestion1\tquestion2\n0\tWhy?\tHow?\n"),
            at("1:1") + "a table of qqp has a column \"is_duplicate\", and "
                        "this has none; test sets are published without "
                        "classes");
  EXPECT_EQ(refusal("qqp", qqpHeader + "0\t1\t2\tWhy?\t0\n"),
            at("2:1") + "the row has 5 cells, and the table 6 columns");
  EXPECT_EQ(refusal("qqp", qqpHeader + "0\t1\t2\tWhy?\tHow?\t0\n\n"),
            at("3:1") + "the row has 1 cell, and the table 6 columns");
  EXPECT_EQ(refusal("qqp", qqpHeader + "0\t1\t2\tWhy?\tHow?\tyes\n"),
            at("2:17") + "is_duplicate is 'yes', none of 0, 1");
  EXPECT_EQ(refusal("qqp", qqpHeader + "0\t1\t2\t \tHow?\t1\n"),
            at("2:7") + "question1 is empty");
  EXPECT_EQ(refusal("qqp", qqpHeader + "0\t1\t2\tWh\xff\tHow?\t1\n")
                .rfind(at("2:9"), 0),
            0u);
  EXPECT_EQ(refusal("qqp", qqpHeader),
            (folder / "f.tsv") + ": there is no labelled text in the inputs");
}

TEST_F(TaskFilesTest, SkipsAsManyBadRowsAsAllowed) {
  std::string rows = qqpHeader + "0\t1\t2\tWhy?\tHow?\t0\n"
                                 "bad\n"
                                 "1\t1\t2\tWhy?\tHow?\t2\n";
  auto read = this->read("qqp", rows, 2);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->badLines, 2u);
  EXPECT_EQ(read->samples.size(), 1u);
  EXPECT_THAT(read->firstBadLines,
              testing::ElementsAre(
                  at("3:1") + "the row has 1 cell, and the table 6 columns",
                  at("4:17") + "is_duplicate is '2', none of 0, 1"));
  EXPECT_EQ(refusal("qqp", rows, 1),
            "more than 1 bad lines, which --max-bad-lines allows; the first "
            "is " +
                at("3:1") + "the row has 1 cell, and the table 6 columns");
}

class RaceTest : public TaskFilesTest {
protected:
  StatusOr<TaskSamples> readRace(const std::string &passage) const {
    std::filesystem::create_directories(folder / "race/high");
    writeBytes(folder / "race/high/2.txt", passage);
    return readTask("race", {folder / "race"}, 0);
  }
  std::string refusal(const std::string &passage) const {
    auto samples = readRace(passage);
    std::string file = (folder / "race/high/2.txt") + ":1:1: ";
    if (samples.ok())
      return "";
    std::string message = samples.status().message();
    return message.starts_with(file) ? message.substr(file.size()) : message;
  }
};

TEST_F(RaceTest, ReadsPassages) {
  std::filesystem::create_directories(folder / "race/high");
  writeBytes(folder / "race/high/1.json",
             R"({"article": "Tom ran.", "id": "1", "answers": ["A"],
                 "options": [["ran", "sat"]], "questions": ["Tom _ ."]})");
  writeBytes(folder / "race/high/notes.md", "no passage");
  auto read = readRace(R"({"article": "It rains.", "answers": ["B", "A"],
                           "questions": ["What?", "Why?"],
                           "options": [["Sun", "Rain"], ["So", "No"]]})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->areChoices);
  EXPECT_THAT(read->classes, testing::ElementsAre("A", "B"));
  ASSERT_EQ(read->samples.size(), 3u);
  EXPECT_THAT(read->samples[0].texts,
              testing::ElementsAre("Tom ran.", "Tom ran .", "Tom sat ."));
  EXPECT_THAT(read->samples[1].texts,
              testing::ElementsAre("It rains.", "What? Sun", "What? Rain"));
  EXPECT_EQ(read->samples[1].label, 1);
  EXPECT_EQ(read->samples[2].label, 0);
}

TEST_F(RaceTest, NamesBrokenPassages) {
  EXPECT_EQ(refusal("{\"article\": \"x\"}"),
            "a passage has a list \"questions\", and this has none");
  EXPECT_EQ(refusal(R"({"questions": [], "options": [], "answers": []})"),
            "a passage has a text \"article\", and this has none");
  EXPECT_EQ(refusal(R"({"article": "x", "questions": ["a"], "options": [],
                        "answers": ["A"]})"),
            "has 1 questions, 0 lists of options and 1 answers");
  auto one = [&](const std::string &options, const std::string &answer) {
    return refusal(R"({"article": "x", "questions": ["a"], "options": )" +
                   options + ", \"answers\": [" + answer + "]}");
  };
  EXPECT_EQ(one(R"([["a", "b"]])", R"("C")"),
            "question 1: the answer is 'C', expected a letter from A to B");
  EXPECT_EQ(one(R"([["a"]])", R"("A")"),
            "question 1: has 1 options, expected 2 to 26");
  EXPECT_EQ(one(R"([["a", 3]])", R"("A")"),
            "question 1: an option is no string");
  EXPECT_EQ(one(R"([[["a"], "b"]])", "7"),
            "question 1: has no string as its question, no list of options, or "
            "no letter as its answer");
  EXPECT_EQ(refusal(R"({"article": "x", "questions": ["a", "b"], "options":
                        [["a", "b"], ["a", "b", "c"]], "answers": ["A",
                        "A"]})"),
            "question 2: has 3 options, and questions before it have 2");
  EXPECT_THAT(refusal("{\"article\": "), testing::HasSubstr(":1:13: "));
  std::filesystem::create_directories(folder / "empty");
  EXPECT_EQ(readTask("race", {folder / "empty"}, 0).status().message(),
            (folder / "empty") + ": no passage (.txt or .json) is in it");
}

TEST_F(TaskFilesTest, PreparesTokensWithTheirClasses) {
  writeBytes(folder / "f.tsv", qqpHeader + "0\t1\t2\tWhy?\tHow?\t1\n"
                                           "1\t1\t2\tab\tc\t0\n");
  PrepareOptions options;
  options.inputs = {folder / "f.tsv"};
  options.prefix = folder / "out";
  options.task = "qqp";
  options.threads = 2;
  auto result = prepareTask(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(result->ofClass, testing::ElementsAre(1, 1));
  EXPECT_EQ(result->files.front().tokens, 11u);
  auto prefix = resolvePrefix(folder / "out");
  ASSERT_TRUE(prefix.ok()) << prefix.status().message();
  auto file = *IndexedDataset::open(*prefix);
  EXPECT_EQ(file.documents(), 2u);
  EXPECT_EQ(file.sequences(), 4u);
  std::vector<int32_t> tokens(2);
  ASSERT_TRUE(file.read(2, 0, 257, tokens).ok());
  EXPECT_THAT(tokens, testing::ElementsAre('a', 'b'));
  auto classes = *readClassFile(*prefix, 2);
  ASSERT_TRUE(classes);
  EXPECT_THAT(classes->labels, testing::ElementsAre(1, 0));
  EXPECT_THAT(classes->names,
              testing::ElementsAre("not_duplicate", "duplicate"));
  auto summary = summarizeCorpus(*prefix);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_THAT(summary->classes,
              testing::ElementsAre(testing::Pair("not_duplicate", 1),
                                   testing::Pair("duplicate", 1)));
  EXPECT_EQ(
      mergeDatasets({*prefix, *prefix}, folder / "all").status().message(),
      *prefix + ": holds texts with their classes; prepare all files at "
                "once in place of merging");
}

} // namespace
