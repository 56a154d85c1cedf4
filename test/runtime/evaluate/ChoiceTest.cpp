//===- ChoiceTest.cpp - Questions with answers to choose from -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/ChoiceFiles.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::evaluate;
namespace fs = std::filesystem;

namespace {

class ChoiceFiles : public testing::Test {
protected:
  void SetUp() override {
    folder =
        fs::temp_directory_path() / ("choice-" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  std::vector<ChoiceItem> read(const std::string &path) {
    auto items = readChoices(path);
    EXPECT_TRUE(items.ok()) << items.status().message();
    return items.ok() ? *items : std::vector<ChoiceItem>();
  }

  /// What is wrong with a file of one line, without its folder.
  std::string fault(const std::string &text,
                    const std::string &name = "q.jsonl") {
    std::string path = write(name, text);
    auto items = readChoices(path);
    EXPECT_FALSE(items.ok());
    EXPECT_EQ(items.status().code(), StatusCode::InvalidArgument);
    std::string message = items.status().message();
    if (size_t at = message.find(path); at != message.npos)
      message.replace(at, path.size(), name);
    return message;
  }

  fs::path folder;
};

using Texts = std::vector<std::string>;

TEST_F(ChoiceFiles, HoldQuestionsOfEveryTask) {
  auto items = read(write(
      "all.jsonl",
      "{\"context\": \"The sky is\", \"choices\": [\" blue\", \" loud\"], "
      "\"label\": 0}\n\n"
      "{\"activity_label\": \"Baking\", \"ctx_a\": \"A cook [header] stirs.\", "
      "\"ctx_b\": \"THEN she\", \"endings\": [\"eats [step] it\", \"x [title] "
      "sleeps\"], \"label\": \"1\"}\n"
      "{\"question\": \"Why?\", \"choices\": {\"text\": [\"so\", \"not\", "
      "\"or\"], \"label\": [\"1\", \"2\", \"3\"]}, \"answerKey\": \"3\"}\n"
      "{\"goal\": \"Cut it\", \"sol1\": \"saw\", \"sol2\": \"song\", "
      "\"label\": "
      "1}\n"));
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].context, "The sky is");
  EXPECT_EQ(items[0].choices, (Texts{" blue", " loud"}));
  EXPECT_EQ(items[0].label, 0u);
  EXPECT_EQ(items[1].context, "Baking: A cook stirs. Then she");
  EXPECT_EQ(items[1].choices, (Texts{" eats it", " x. sleeps"}));
  EXPECT_EQ(items[1].label, 1u);
  EXPECT_TRUE(items[1].place.ends_with("all.jsonl:3"));
  EXPECT_EQ(items[2].context, "Question: Why?\nAnswer:");
  EXPECT_EQ(items[2].choices, (Texts{" so", " not", " or"}));
  EXPECT_EQ(items[2].label, 2u);
  EXPECT_EQ(items[3].context, "Question: Cut it\nAnswer:");
  EXPECT_EQ(items[3].choices, (Texts{" saw", " song"}));
}

TEST_F(ChoiceFiles, HoldMnli) {
  auto items = read(write("dev.tsv", "index\tsentence1\tsentence2\tgold_label\n"
                                     "0\tIt rains.\tIt is wet\tentailment\r\n"
                                     "1\tA\tB.\t-\n"
                                     "2\tC\tD.\tcontradiction\n"));
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].context, "It rains.\nQuestion: It is wet. True, False or "
                              "Neither?\nAnswer:");
  EXPECT_EQ(items[0].choices, (Texts{" True", " Neither", " False"}));
  EXPECT_EQ(items[0].label, 0u);
  EXPECT_EQ(items[1].label, 2u);
}

TEST_F(ChoiceFiles, HoldRace) {
  const char *passage =
      "{\"article\": \"Text.\", \"questions\": [\"Who?\", \"What?\"], "
      "\"options\": [[\"a\", \"b\"], [\"c\", \"d\", \"e\"]], \"answers\": "
      "[\"B\", \"C\"], \"id\": \"1\"}";
  write("race/high/2.txt", passage);
  write("race/high/1.txt", passage);
  write("race/readme.md", "no passage");
  auto items = read((folder / "race").string());
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[1].context, "Article: Text.\n\nQuestion: What?\n\nAnswer:");
  EXPECT_EQ(items[1].choices, (Texts{" c", " d", " e"}));
  EXPECT_EQ(items[0].label, 1u);
  EXPECT_EQ(items[1].label, 2u);
  EXPECT_TRUE(items[0].place.ends_with("1.txt"));
}

TEST_F(ChoiceFiles, SayWhatIsWrongWhere) {
  EXPECT_EQ(fault("\n{\"context\": "), "q.jsonl:2:13: expected a value");
  EXPECT_EQ(fault("[1]"), "q.jsonl:1:1: expected an object");
  EXPECT_EQ(fault(""), "q.jsonl: there is no question in it");
  EXPECT_EQ(fault(R"({"context": "", "choices": [], "label": 0})"),
            "q.jsonl:1: there are fewer than two choices");
  EXPECT_EQ(fault("{\"context\": 1, \"choices\": []}"),
            "q.jsonl:1: \"context\" is no string");
  EXPECT_EQ(fault("{\"context\": \"\", \"choices\": 3}"),
            "q.jsonl:1: \"choices\" is no list");
  EXPECT_EQ(fault("{\"context\": \"\", \"choices\": [\"a\", 2]}"),
            "q.jsonl:1: \"choices\" is no list of strings");
  EXPECT_EQ(
      fault("{\"context\": \"\", \"choices\": [\"a\", \"b\"], \"label\": 2}"),
      "q.jsonl:1: \"label\" is 2, there are choices 0 to 1");
  EXPECT_EQ(
      fault("{\"context\": \"\", \"choices\": [\"a\", \"b\"], \"label\": -1}"),
      "q.jsonl:1: \"label\" is -1, there are choices 0 to 1");
  EXPECT_EQ(fault("{\"context\": \"\", \"choices\": [\"a\", \"b\"]}"),
            "q.jsonl:1: \"label\" is nothing, there are choices 0 to 1");
  EXPECT_EQ(fault("{\"context\": \"\", \"choices\": [\"a\"], \"label\": 0}"),
            "q.jsonl:1: there are fewer than two choices");
  EXPECT_EQ(
      fault("{\"context\": \"\", \"choices\": [\"a\", \"\"], \"label\": 0}"),
      "q.jsonl:1: a choice is empty");
  EXPECT_EQ(fault("{\"question\": \"\", \"answerKey\": \"E\", \"choices\": "
                  "{\"text\": [\"a\", \"b\"], \"label\": [\"A\", \"B\"]}}"),
            "q.jsonl:1: \"answerKey\" is 'E', which labels no choice");
  EXPECT_EQ(fault("{\"question\": \"\", \"answerKey\": \"E\", \"choices\": 1}"),
            "q.jsonl:1: \"choices\" has no \"text\" and \"label\"");
  EXPECT_TRUE(fault("{\"text\": \"\"}")
                  .starts_with("q.jsonl:1: these are the fields of no task: "));
  EXPECT_EQ(fault("sentence1\tlabel\n", "m.tsv"),
            "m.tsv:1: MNLI's table has a column 'sentence2', this has none");
  EXPECT_EQ(fault("sentence1\tsentence2\tgold_label\na\tb\tmaybe\n", "m.tsv"),
            "m.tsv:2: the gold_label is 'maybe', none of entailment, neutral, "
            "contradiction");
  EXPECT_EQ(fault("sentence1\tsentence2\tgold_label\na\n", "m.tsv"),
            "m.tsv:2: there are only 1 columns");
  EXPECT_EQ(fault("{\"context\": \"\xff\"}").substr(0, 9), "q.jsonl:1");
  write("race/1.txt",
        "{\"article\": \"\", \"questions\": [\"?\"], \"answers\": "
        "[\"C\"], \"options\": [[\"a\", \"b\"]]}");
  auto race = readChoices((folder / "race").string());
  EXPECT_TRUE(race.status().message().ends_with(
      "1.txt: an answer is 'C', which is none of its options"));
  EXPECT_FALSE(readChoices((folder / "nothing").string()).ok());
}

/// As bytes do: a token each.
TEST(ChoiceRequests, AskAboutTheChoiceAlone) {
  auto tokenizer = tokenizer::openTokenizer("byte");
  ASSERT_TRUE(tokenizer.ok());
  std::vector<ChoiceItem> items{{"ab ", {" cd", "e"}, 0, "q:1"},
                                {"", {"xy", "z"}, 1, "q:2"}};
  uint64_t shortened = 0;
  auto requests = choiceRequests(items, **tokenizer, 6, shortened);
  ASSERT_TRUE(requests.ok()) << requests.status().message();
  ASSERT_EQ(requests->size(), 4u);
  // A space at the end of a context is asked about with the choice.
  EXPECT_EQ((*requests)[0].first, 2u);
  EXPECT_EQ((*requests)[0].tokens,
            (std::vector<int32_t>{'a', 'b', ' ', ' ', 'c', 'd'}));
  EXPECT_EQ((*requests)[2].tokens, (std::vector<int32_t>{256, 'x', 'y'}));
  EXPECT_EQ((*requests)[2].first, 1u);
  EXPECT_EQ(shortened, 0u);

  requests = choiceRequests(items, **tokenizer, 5, shortened);
  ASSERT_TRUE(requests.ok()) << requests.status().message();
  EXPECT_EQ((*requests)[0].tokens,
            (std::vector<int32_t>{'b', ' ', ' ', 'c', 'd'}));
  EXPECT_EQ((*requests)[0].first, 1u);
  EXPECT_EQ(shortened, 1u);

  requests = choiceRequests(items, **tokenizer, 4, shortened);
  EXPECT_EQ(requests.status().message(),
            "q:1: a choice has 4 tokens, the program takes 4 with one before "
            "them: compile it with a longer training.sequence_length");
}

TEST(Choices, AreJudgedByWholeAndByByte) {
  std::vector<ChoiceItem> items{{"", {"a", "bbbb"}, 1, ""},
                                {"", {"a", "b"}, 0, ""}};
  ChoiceFigures figures = judgeChoices(
      items, {{{-1}, {}}, {{-1, -1}, {}}, {{-0.5}, {}}, {{-0.25}, {}}});
  EXPECT_EQ(figures.items, 2u);
  EXPECT_EQ(figures.right, 0u);
  EXPECT_EQ(figures.rightNormalized, 1u);
  EXPECT_EQ(figures.accuracyNormalized(), 0.5);
  EXPECT_DOUBLE_EQ(standardError(0.5, 2), 0.5);
  EXPECT_DOUBLE_EQ(standardError(0.25, 13), 0.125);
  EXPECT_EQ(standardError(1, 1), 0);
}

} // namespace
