//===- ClassDatasetTest.cpp - Samples of labelled texts -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ClassDataset.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "runtime/data/samples/ShowSamples.h"
#include "runtime/data/text/DocumentEncoder.h"
#include "test/runtime/data/TokenFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {

using Text = std::vector<int32_t>;
using Document = std::vector<Text>;

Text numbered(int32_t first, uint64_t count) {
  Text text(count);
  std::iota(text.begin(), text.end(), first);
  return text;
}

struct Sample {
  Text tokens, labels, types;
  uint64_t length = 0;
};

class ClassDatasetTest : public testing::Test {
protected:
  ClassDatasetTest() {
    options.sequenceLength = 12;
    options.vocabularySize = 3000;
    options.seed = 7;
    options.splitWeights = "1";
    options.classes =
        ClassOptions{.cls = 2, .sep = 3, .pad = 0, .classes = 3, .batch = 4};
  }

  void write(const std::vector<Document> &documents,
             const DocumentClasses &classes) const {
    auto writer = *TokenFileWriter::create(folder / "p", TokenType::U16);
    for (const Document &document : documents) {
      for (const Text &text : document) {
        std::string bytes;
        appendTokens(text, TokenType::U16, bytes);
        ASSERT_TRUE(writer.append(bytes).ok());
        ASSERT_TRUE(writer.endSequence(text.size()).ok());
      }
      writer.endDocument();
    }
    ASSERT_TRUE(writer.finish().ok());
    ASSERT_TRUE(writeClassFile(folder / "p", classes).ok());
  }

  /// Ten pairs: of document i the first text is token 100 + i, the second two
  /// of 200 + i, and the class i modulo 3.
  void writeTen() const {
    std::vector<Document> documents;
    DocumentClasses classes{{"a", "b", "c"}, false, {}};
    for (int32_t i = 0; i < 10; ++i) {
      documents.push_back({{100 + i}, {200 + i, 200 + i}});
      classes.labels.push_back(uint16_t(i % 3));
    }
    write(documents, classes);
  }

  StatusOr<std::unique_ptr<SampleSource>>
  open(uint64_t samples = 0, Split split = Split::Train) const {
    return openSamples({{1, folder / "p"}}, options, split, samples);
  }
  std::string refusal() const {
    auto source = open();
    return source.ok() ? "" : source.status().message();
  }

  Sample read(const SampleSource &source, uint64_t number) const {
    Sample sample;
    for (Text *list : {&sample.tokens, &sample.labels, &sample.types})
      list->resize(options.sequenceLength);
    FramedSample out;
    out.tokens = sample.tokens;
    out.labels = sample.labels;
    out.types = sample.types;
    Status status = source.readFramed(number, out);
    EXPECT_TRUE(status.ok()) << status.message();
    sample.length = out.length;
    return sample;
  }

  ScratchFolder folder;
  GptDatasetOptions options;
};

/// What a fast tokenizer of transformers makes of texts (golden/pairs.py).
TEST_F(ClassDatasetTest, FramesAndCutsAsTransformers) {
  auto lines =
      readGolden(HOCKET_SOURCE_DIR "/test/runtime/data/golden/pairs.txt");
  ASSERT_EQ(lines.size() % 3, 0u);
  ASSERT_GT(lines.size(), 600u);
  for (size_t i = 0; i < lines.size(); i += 3) {
    const std::vector<int64_t> &about = lines[i].numbers;
    SCOPED_TRACE("sequence " + std::to_string(about[0]) + ", texts " +
                 std::to_string(about[1]) + " and " + std::to_string(about[2]));
    options.sequenceLength = uint64_t(about[0]);
    Document document = {numbered(1000, uint64_t(about[1]))};
    if (about[2] > 0)
      document.push_back(numbered(2000, uint64_t(about[2])));
    write({document}, {{"a", "b", "c"}, false, {1}});
    auto source = open();
    ASSERT_TRUE(source.ok()) << source.status().message();
    Sample sample = read(**source, 0);
    EXPECT_EQ(int64_t(sample.length), about[3]);
    auto wide = [](const Text &text) {
      return std::vector<int64_t>(text.begin(), text.end());
    };
    EXPECT_EQ(wide(sample.tokens), lines[i + 1].numbers);
    EXPECT_EQ(wide(sample.types), lines[i + 2].numbers);
    Text labels(options.sequenceLength, -1);
    labels[0] = 1;
    EXPECT_EQ(sample.labels, labels);
  }
}

TEST_F(ClassDatasetTest, AnEpochHasEachOnceAndEndsAStep) {
  writeTen();
  auto source = *open(25);
  EXPECT_EQ(source->epochSize(), 12u);
  EXPECT_EQ(source->size(), 36u);
  EXPECT_THAT(source->classNames(), testing::ElementsAre("a", "b", "c"));
  std::set<Text> orders;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    Text order;
    for (uint64_t i = 0; i < 12; ++i) {
      Sample sample = read(*source, epoch * 12 + i);
      if (i >= 10) {
        EXPECT_EQ(sample.labels, Text(12, -1)) << "fills the last step";
        EXPECT_EQ(sample.length, 1u);
        EXPECT_EQ(sample.tokens[0], 2);
        EXPECT_TRUE((*source->segments(epoch * 12 + i)).empty());
        continue;
      }
      order.push_back(sample.tokens[1] - 100);
      EXPECT_EQ(sample.labels[0], order.back() % 3);
      EXPECT_EQ(sample.tokens[3], 200 + order.back());
    }
    orders.insert(order);
    std::ranges::sort(order);
    EXPECT_EQ(order, numbered(0, 10));
  }
  EXPECT_EQ(orders.size(), 3u) << "epochs have the same order";
  options.classes->shuffles = false;
  auto plain = *open();
  for (uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(read(*plain, i).tokens[1], 100 + int32_t(i));
}

TEST_F(ClassDatasetTest, SplitsShareOutDocuments) {
  writeTen();
  options.splitWeights = "7,3,0";
  std::set<int32_t> seen;
  for (Split split : {Split::Train, Split::Valid}) {
    auto source = *open(0, split);
    for (uint64_t i = 0; i < source->size(); ++i)
      if (Sample sample = read(*source, i); sample.labels[0] >= 0)
        EXPECT_TRUE(seen.insert(sample.tokens[1]).second);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(open(0, Split::Test).status().message(),
            (folder / "p") + ": split test has none of 10 documents");
}

TEST_F(ClassDatasetTest, AQuestionIsASequenceForEachChoice) {
  options.classes->sequences = 2;
  DocumentClasses classes{{"A", "B"}, true, {1, 0, 1}};
  write({{{10}, {20}, {21}}, {{11}, {22}, {23}}, {{12}, {24}, {25}}}, classes);
  options.classes->shuffles = false;
  auto source = open();
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->epochSize(), 8u);
  for (int32_t i = 0; i < 6; ++i) {
    Sample sample = read(**source, uint64_t(i));
    EXPECT_EQ(sample.tokens[1], 20 + i);
    EXPECT_EQ(sample.tokens[3], 10 + i / 2);
    EXPECT_EQ(sample.types[3], 1);
    EXPECT_EQ(sample.labels[0],
              i % 2 == 0 ? classes.labels[size_t(i / 2)] : -1);
  }
  EXPECT_EQ(read(**source, 6).labels[0], -1);
}

TEST_F(ClassDatasetTest, BatchesHaveOneLabelASample) {
  writeTen();
  std::shared_ptr<const SampleSource> source = *open();
  Batch batch;
  ASSERT_TRUE(readBatch(*source, 8, 4, batch).ok());
  EXPECT_EQ(batch.countLabels(0, 4), 2u);
  EXPECT_EQ(batch.keyCounts[0], 6);
  EXPECT_EQ(batch.keyCounts[2 * 12], 1);
  EXPECT_EQ(batch.tokenTypes.size(), 48u);
}

TEST_F(ClassDatasetTest, ShowsTheClass) {
  writeTen();
  auto source = *open();
  ShowOptions show;
  show.range = {0, 11};
  std::ostringstream text;
  ASSERT_TRUE(showSamples(*source, show, text).ok());
  EXPECT_THAT(text.str(), testing::HasSubstr("sample 0, class "));
  EXPECT_THAT(text.str(), testing::HasSubstr("sample 10, no class\n"));
}

TEST_F(ClassDatasetTest, RefusesWhatDoesNotFit) {
  writeTen();
  options.classes->classes = 2;
  EXPECT_EQ(refusal(),
            (folder / "p.classes") + ": has 3 classes, and the model tells 2");
  options.classes->classes = 3;
  options.classes->sequences = 2;
  EXPECT_EQ(refusal(), (folder / "p.classes") +
                           ": is of classes, and the model tells the right one "
                           "of choices");
  options.classes->sequences = 3;
  EXPECT_EQ(refusal(), "a step takes whole questions of 3 sequences each, not "
                       "4 sequences");
  options.classes->sequences = 1;
  auto two = openSamples({{1, folder / "p"}, {1, folder / "p"}}, options,
                         Split::Train, 10);
  EXPECT_EQ(two.status().message(),
            "labelled texts are no blend, for an epoch has each once; found 2 "
            "data prefixes, expected one");
  options.vocabularySize = 150;
  auto source = *open();
  FramedSample out;
  Text tokens(12), labels(12), types(12);
  out.tokens = tokens;
  out.labels = labels;
  out.types = types;
  EXPECT_FALSE(source->readFramed(0, out).ok()) << "token 200 of 150";
  ASSERT_TRUE(removeClassFile(folder / "p").ok());
  EXPECT_THAT(refusal(), testing::HasSubstr("`hocket data prepare --task`"));
}

TEST_F(ClassDatasetTest, RefusesDocumentsOfOtherTexts) {
  write({{{5}, {6}, {7}}}, {{"a", "b", "c"}, false, {0}});
  EXPECT_EQ(refusal(),
            (folder / "p.idx") + ": document 0 has 3 texts, not one or two");
}

TEST_F(ClassDatasetTest, RefusesDamagedClasses) {
  writeTen();
  std::string good = readBytes(folder / "p.classes");
  auto with = [&](size_t at, const std::string &bytes) {
    std::string bad = good;
    bad.replace(at, bytes.size(), bytes);
    writeBytes(folder / "p.classes", bad);
    return refusal();
  };
  std::string file = folder / "p.classes";
  EXPECT_EQ(with(0, "X"), file + ": is no file of classes");
  EXPECT_EQ(with(8, std::string(1, 9)),
            file + ": is of 9 documents, and " + (folder / "p") +
                ".idx has 10; prepare the data again");
  EXPECT_EQ(with(16, std::string(1, 1)),
            file + ": has numbers that do not go together");
  EXPECT_EQ(with(16, std::string(1, 4)),
            file + ": has not as many names as classes");
  EXPECT_EQ(with(32, std::string(1, 5)),
            file + ": has another size than the classes of 10 documents");
  EXPECT_EQ(with(46, std::string(1, 3)),
            file + ": document 0 is of class 3, of 3");
  writeBytes(file, good.substr(0, 20));
  EXPECT_EQ(refusal(), file + ": is too short for a file of classes");
  writeBytes(file, good);
  EXPECT_EQ(refusal(), "");
}

} // namespace
