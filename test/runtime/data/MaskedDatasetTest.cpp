//===- MaskedDatasetTest.cpp - Samples of masked tokens -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/MaskedDataset.h"
#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/samples/BatchSource.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace hocket;
using namespace hocket::data;

namespace {

//===----------------------------------------------------------------------===//
// Which sentences
//===----------------------------------------------------------------------===//

struct Mapping {
  std::vector<int32_t> lengths;
  std::vector<uint64_t> documents;
  SentenceMappingRequest request;

  StatusOr<std::vector<SentenceSample>> map() {
    request.lengths = lengths;
    request.documents = documents;
    return mapSentences(request);
  }
  /// Of one epoch, by their first sentence.
  std::vector<SentenceSample> sorted() {
    auto samples = map();
    EXPECT_TRUE(samples.ok()) << samples.status().message();
    std::ranges::sort(*samples, {}, &SentenceSample::first);
    return *samples;
  }
};

using Samples = std::vector<SentenceSample>;

TEST(SentenceMapping, TheExamples) {
  Mapping mapping{{4, 5, 3, 6, 4, 5, 3}, {0, 4, 7}, {}};
  mapping.request.longest = 8;
  mapping.request.leastSentences = 2;
  EXPECT_EQ(mapping.sorted(), (Samples{{0, 2, 8}, {2, 4, 8}, {4, 7, 8}}));
}

TEST(SentenceMapping, OneSentenceIsEnoughWhereNothingIsOrdered) {
  Mapping mapping{{9, 3, 4, 2}, {0, 1, 1, 4}, {}};
  mapping.request.longest = 8;
  EXPECT_EQ(mapping.sorted(), (Samples{{0, 1, 8}, {1, 4, 8}}));
  mapping.request.leastSentences = 2;
  EXPECT_EQ(mapping.sorted(), (Samples{{1, 4, 8}}));
}

TEST(SentenceMapping, LongSentencesLeaveTheirDocumentOut) {
  Mapping mapping{{513, 2, 3, 512, 513}, {0, 2, 4, 5}, {}};
  mapping.request.longest = 100;
  EXPECT_EQ(mapping.sorted(), (Samples{{2, 4, 100}, {4, 5, 100}}));
  mapping.documents = {0, 2};
  auto none = mapping.map();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(), "no document has enough sentences");
}

/// One in ten targets is random, drawn from the words of the generator.
TEST(SentenceMapping, TargetsAreMegatrons) {
  Mapping mapping{std::vector<int32_t>(2000, 5), {0, 2000}, {}};
  mapping.request.longest = 50;
  mapping.request.shortProbability = 0.1;
  mapping.request.seed = 5;
  std::mt19937 random(5);
  auto next = [&]() -> uint32_t {
    auto draw = uint32_t(random());
    return draw % 10 == 0 ? 2 + draw % 49 : 50;
  };
  std::set<uint32_t> targets;
  for (const SentenceSample &sample : mapping.sorted()) {
    EXPECT_EQ(sample.target, next());
    targets.insert(sample.target);
  }
  EXPECT_GT(targets.size(), 10u);
}

TEST(SentenceMapping, EpochsAreShuffledTogether) {
  Mapping mapping{std::vector<int32_t>(40, 5), {0, 10, 20, 30, 40}, {}};
  mapping.request.longest = 10;
  auto once = *mapping.map();
  mapping.request.samples = once.size() + 1;
  auto twice = *mapping.map();
  EXPECT_EQ(twice.size(), 2 * once.size());
  std::map<uint32_t, int> seen;
  for (const SentenceSample &sample : twice)
    ++seen[sample.first];
  for (auto [first, count] : seen)
    EXPECT_EQ(count, 2) << first;
  EXPECT_FALSE(std::ranges::is_sorted(twice, {}, &SentenceSample::first));
}

/// What Megatron's own helper and dataset made (golden/megatron.py).
TEST(SentenceMapping, MappingAndTextsAreMegatrons) {
  auto lines = test::readGolden(
      HOCKET_SOURCE_DIR "/test/runtime/data/golden/megatron_sentences.txt");
  size_t next = 0, cases = 0, texts = 0;
  for (; next < lines.size(); ++cases) {
    SCOPED_TRACE("case " + std::to_string(cases));
    ASSERT_EQ(lines[next].word, "documents");
    const auto &documents = lines[next++].numbers;
    const auto &how = lines[next++].numbers;
    ASSERT_EQ(how.size(), 5u);
    std::string prefix =
        testing::TempDir() + "/sentences-" + std::to_string(cases);
    auto writer = TokenFileWriter::create(prefix, TokenType::U16);
    ASSERT_TRUE(writer.ok());
    Mapping mapping;
    for (size_t d = 0; d + 1 < documents.size(); ++d) {
      for (int64_t s = documents[d]; s < documents[d + 1]; ++s) {
        int64_t length = 2 + s * s % 9;
        std::string bytes;
        for (int64_t i = 0; i < length; ++i) {
          int64_t token = 100 + (31 * s + i) % 800;
          bytes += {char(token & 0xff), char(token >> 8)};
        }
        mapping.lengths.push_back(int32_t(length));
        ASSERT_TRUE(writer->append(bytes).ok());
        ASSERT_TRUE(writer->endSequence(uint64_t(length)).ok());
      }
      writer->endDocument();
    }
    ASSERT_TRUE(writer->finish().ok());
    mapping.documents.assign(documents.begin(), documents.end());
    mapping.request.samples = uint64_t(how[0]);
    mapping.request.longest = uint32_t(how[1]);
    mapping.request.shortProbability = double(how[2]) / 100;
    mapping.request.leastSentences = uint64_t(how[3]);
    mapping.request.seed = uint32_t(how[4]);
    auto samples = mapping.map();
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    std::vector<int64_t> triples;
    for (const SentenceSample &sample : *samples)
      triples.insert(triples.end(), {sample.first, sample.end, sample.target});
    EXPECT_EQ(triples, lines[next++].numbers);

    GptDatasetOptions options;
    options.sequenceLength = uint64_t(how[1]) + 3;
    options.vocabularySize = 1000;
    options.seed = uint64_t(how[4]);
    options.splitWeights = "1";
    options.masked = MaskedLmOptions{.cls = 1,
                                     .sep = 2,
                                     .mask = 3,
                                     .shortSequenceProbability =
                                         mapping.request.shortProbability,
                                     .sentenceOrder = how[3] == 2};
    auto file = IndexedDataset::open(prefix);
    ASSERT_TRUE(file.ok());
    auto dataset = MaskedDataset::create(
        std::make_shared<const IndexedDataset>(*std::move(file)), options,
        Split::Train, mapping.request.samples);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    for (uint64_t i = 0; next < lines.size() && lines[next].word == "tokens";
         ++i, ++next, ++texts) {
      std::vector<int32_t> tokens(options.sequenceLength),
          labels(options.sequenceLength), types(options.sequenceLength);
      FramedSample sample;
      sample.tokens = tokens, sample.labels = labels, sample.types = types;
      ASSERT_TRUE((*dataset)->readFramed(i, sample).ok());
      std::vector<int64_t> whole = {sample.isSwapped};
      for (size_t t = 0; t < tokens.size(); ++t)
        whole.push_back(labels[t] >= 0 ? labels[t] : tokens[t]);
      EXPECT_EQ(whole, lines[next].numbers) << "sample " << i;
    }
  }
  EXPECT_EQ(cases, 4u);
  EXPECT_GT(texts, 40u);
}

//===----------------------------------------------------------------------===//
// What becomes of them
//===----------------------------------------------------------------------===//

constexpr int32_t cls = 1, sep = 2, maskToken = 3, vocabulary = 1000;

class MaskedDatasetTest : public testing::Test {
protected:
  /// Documents of 30 sentences of 2 to 8 tokens; a token says where it stands.
  void SetUp() override {
    prefix = testing::TempDir() + "/masked-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    auto writer = TokenFileWriter::create(prefix, TokenType::U16);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    for (int document = 0, sentence = 0; document < 20; ++document) {
      for (int i = 0; i < 30; ++i, ++sentence) {
        std::string bytes;
        int length = 2 + sentence * sentence % 7;
        for (int t = 0; t < length; ++t) {
          int token = 100 + (sentence + t) % 800;
          bytes += {char(token & 0xff), char(token >> 8)};
        }
        ASSERT_TRUE(writer->append(bytes).ok());
        ASSERT_TRUE(writer->endSequence(uint64_t(length)).ok());
      }
      writer->endDocument();
    }
    ASSERT_TRUE(writer->finish().ok());
    options.sequenceLength = 40;
    options.vocabularySize = vocabulary;
    options.seed = 7;
    options.splitWeights = "1,0,0";
    options.masked = MaskedLmOptions{.cls = cls, .sep = sep, .mask = maskToken};
    options.masked->sentenceOrder = true;
  }

  std::unique_ptr<MaskedDataset> open(uint64_t samples = 0) const {
    auto file = IndexedDataset::open(prefix);
    EXPECT_TRUE(file.ok()) << file.status().message();
    auto dataset = MaskedDataset::create(
        std::make_shared<const IndexedDataset>(*std::move(file)), options,
        Split::Train, samples);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    return *std::move(dataset);
  }

  struct Sample {
    std::vector<int32_t> tokens, labels, types;
    uint64_t length;
    bool isSwapped;
    /// The tokens before some were masked.
    std::vector<int32_t> whole() const {
      std::vector<int32_t> all = tokens;
      for (size_t i = 0; i < all.size(); ++i)
        if (labels[i] >= 0)
          all[i] = labels[i];
      return all;
    }
  };

  Sample read(const SampleSource &source, uint64_t number) const {
    std::vector<int32_t> parts[3];
    FramedSample out;
    for (auto [span, part] : {std::pair{&out.tokens, &parts[0]},
                              {&out.labels, &parts[1]},
                              {&out.types, &parts[2]}}) {
      part->resize(options.sequenceLength);
      *span = *part;
    }
    Status status = source.readFramed(number, out);
    EXPECT_TRUE(status.ok()) << status.message();
    return {parts[0], parts[1], parts[2], out.length, out.isSwapped};
  }

  std::string prefix;
  GptDatasetOptions options;
};

TEST_F(MaskedDatasetTest, SamplesAreFramed) {
  auto dataset = open();
  uint64_t swapped = 0, full = 0;
  for (uint64_t i = 0; i < dataset->size(); ++i) {
    SCOPED_TRACE("sample " + std::to_string(i));
    Sample sample = read(*dataset, i);
    std::vector<int32_t> whole = sample.whole();
    ASSERT_EQ(whole[0], cls);
    ASSERT_EQ(whole[sample.length - 1], sep);
    ASSERT_EQ(std::ranges::count(whole, sep), 2);
    auto first = std::ranges::find(whole, sep) - whole.begin();
    for (uint64_t t = 0; t < whole.size(); ++t) {
      bool isSecond = t > uint64_t(first) && t < sample.length;
      ASSERT_EQ(sample.types[t], isSecond) << t;
      if (t >= sample.length) {
        ASSERT_EQ(whole[t], 0);
        ASSERT_EQ(sample.labels[t], -1);
      }
    }
    swapped += sample.isSwapped;
    full += sample.length == options.sequenceLength;
  }
  EXPECT_GT(swapped, dataset->size() / 4);
  EXPECT_LT(swapped, dataset->size() * 3 / 4);
  EXPECT_GT(full, dataset->size() / 2);
  EXPECT_LT(full, dataset->size());
}

TEST_F(MaskedDatasetTest, MasksHaveTheirShares) {
  options.masked->shortSequenceProbability = 0;
  auto dataset = open(4000);
  double labels = 0, masked = 0, same = 0, other = 0, tokens = 0;
  for (uint64_t i = 0; i < dataset->size(); ++i) {
    Sample sample = read(*dataset, i);
    tokens += double(sample.length);
    for (uint64_t t = 0; t < sample.length; ++t) {
      if (sample.labels[t] < 0)
        continue;
      ++labels;
      masked += sample.tokens[t] == maskToken;
      same += sample.tokens[t] == sample.labels[t];
      other +=
          sample.tokens[t] != maskToken && sample.tokens[t] != sample.labels[t];
    }
  }
  EXPECT_NEAR(labels / tokens, 0.15, 0.02);
  EXPECT_NEAR(masked / labels, 0.8, 0.02);
  EXPECT_NEAR(same / labels, 0.1, 0.02);
  EXPECT_NEAR(other / labels, 0.1, 0.02);
}

/// Whoever reads a sample, and when, sees the same; another epoch has other
/// masks of the same text.
TEST_F(MaskedDatasetTest, MasksGoByTheNumberOfTheSample) {
  options.masked->shortSequenceProbability = 0;
  auto dataset = open(800), again = open(800);
  std::map<std::vector<int32_t>, std::set<std::vector<int32_t>>> seen;
  for (uint64_t i = 0; i < dataset->size(); ++i) {
    Sample sample = read(*dataset, i);
    Sample same = read(*again, i);
    EXPECT_EQ(sample.tokens, same.tokens);
    EXPECT_EQ(sample.labels, same.labels);
    auto pieces = dataset->segments(i);
    ASSERT_TRUE(pieces.ok());
    seen[{int32_t(pieces->front().sequence), int32_t(pieces->size())}].insert(
        sample.labels);
  }
  auto several = std::ranges::count_if(
      seen, [](const auto &entry) { return entry.second.size() > 1; });
  EXPECT_GT(several, ptrdiff_t(seen.size() / 2));
}

/// Without their order, texts are one, in the order of the document.
TEST_F(MaskedDatasetTest, OneTextWhereNothingIsOrdered) {
  options.masked->sentenceOrder = false;
  auto dataset = open();
  Sample sample = read(*dataset, 3);
  EXPECT_FALSE(sample.isSwapped);
  EXPECT_EQ(std::ranges::count(sample.whole(), sep), 1);
  EXPECT_EQ(std::ranges::count(sample.types, 1), 0);
}

TEST_F(MaskedDatasetTest, BatchesSayWhatEncodersAskFor) {
  std::shared_ptr<const SampleSource> dataset = open();
  Batch batch;
  ASSERT_TRUE(readBatch(*dataset, 4, 3, batch).ok());
  for (uint64_t row = 0; row < 3; ++row) {
    Sample sample = read(*dataset, 4 + row);
    for (uint64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(batch.tokens[row * 40 + i], sample.tokens[i]);
      EXPECT_EQ(batch.labels[row * 40 + i], sample.labels[i]);
      EXPECT_EQ(batch.tokenTypes[row * 40 + i], sample.types[i]);
      EXPECT_EQ(batch.keyCounts[row * 40 + i], int32_t(sample.length));
      EXPECT_EQ(batch.sentenceLabels[row * 40 + i],
                i == 0 ? int32_t(sample.isSwapped) : -1);
    }
  }
  EXPECT_TRUE(batch.positions.empty());
}

TEST_F(MaskedDatasetTest, WholeDocumentsHaveNoOrder) {
  options.splitWeights = "1";
  auto writer = TokenFileWriter::create(prefix, TokenType::U16);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->append(std::string(20, char(1))).ok());
  ASSERT_TRUE(writer->endSequence(10).ok());
  writer->endDocument();
  ASSERT_TRUE(writer->finish().ok());
  auto file = IndexedDataset::open(prefix);
  ASSERT_TRUE(file.ok());
  auto dataset = MaskedDataset::create(
      std::make_shared<const IndexedDataset>(*std::move(file)), options,
      Split::Train, 0);
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.status().message(),
            prefix + ": split train (1 of 1 document, 1 sentence; the order of "
                     "texts is learned from documents of two sentences or "
                     "more, none longer than 512 tokens: `hocket data prepare "
                     "--split-sentences`): no document has enough sentences");
}

//===----------------------------------------------------------------------===//
// Whole words
//===----------------------------------------------------------------------===//

/// What a plain loop over NumPy's draws made (golden/whole_words.py).
TEST_F(MaskedDatasetTest, WholeWordsAreThoseOfThePlainLoop) {
  auto lines = test::readGolden(HOCKET_SOURCE_DIR
                                "/test/runtime/data/golden/whole_words.txt");
  options.splitWeights = "1";
  options.masked->sentenceOrder = false;
  options.masked->wholeWords = true;
  options.masked->shortSequenceProbability = 0;
  WordContinuations continues(900);
  std::fill(continues.begin() + 500, continues.end(), true);
  size_t next = 0, cases = 0;
  for (; next < lines.size(); ++cases) {
    SCOPED_TRACE("case " + std::to_string(cases));
    ASSERT_EQ(lines[next].word, "text");
    const auto &text = lines[next++].numbers;
    const auto &how = lines[next++].numbers;
    ASSERT_EQ(how.size(), 3u);
    options.sequenceLength = uint64_t(how[0]);
    options.masked->probability = double(how[1]) / 100;
    options.seed = uint64_t(how[2]);
    std::string bytes;
    for (int64_t token : text)
      bytes += {char(token & 0xff), char(token >> 8)};
    auto writer = TokenFileWriter::create(prefix, TokenType::U16);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->append(bytes).ok());
    ASSERT_TRUE(writer->endSequence(text.size()).ok());
    writer->endDocument();
    ASSERT_TRUE(writer->finish().ok());
    ASSERT_TRUE(writeWordFile(prefix, text.size(), continues).ok());
    auto dataset = open(12); // Of one text: all samples are of it.
    for (uint64_t i = 0; i < 12; ++i) {
      SCOPED_TRACE("sample " + std::to_string(i));
      ASSERT_LT(next + 1, lines.size());
      std::vector<int64_t> seen = lines[next++].numbers,
                           labels = lines[next++].numbers;
      seen.resize(options.sequenceLength, 0);
      labels.resize(options.sequenceLength, -1);
      Sample sample = read(*dataset, i);
      EXPECT_EQ(
          std::vector<int64_t>(sample.tokens.begin(), sample.tokens.end()),
          seen);
      EXPECT_EQ(
          std::vector<int64_t>(sample.labels.begin(), sample.labels.end()),
          labels);
    }
  }
  EXPECT_EQ(cases, 5u);
}

/// A word is masked whole or not at all, and does not reach into another text;
/// as many tokens are labels as where single ones are masked.
TEST_F(MaskedDatasetTest, WordsAreMaskedWhole) {
  options.masked->shortSequenceProbability = 0;
  options.masked->wholeWords = true;
  auto isPiece = [](int32_t token) { return token % 3 == 0; };
  auto file = IndexedDataset::open(prefix);
  ASSERT_TRUE(file.ok());
  WordContinuations continues(vocabulary);
  for (int32_t token = 0; token < vocabulary; ++token)
    continues[size_t(token)] = isPiece(token);
  ASSERT_TRUE(writeWordFile(prefix, file->tokens(), continues).ok());
  auto dataset = open(2000);
  double labels = 0, tokens = 0;
  uint64_t pieces = 0;
  for (uint64_t i = 0; i < dataset->size(); ++i) {
    Sample sample = read(*dataset, i);
    std::vector<int32_t> whole = sample.whole();
    tokens += double(sample.length);
    uint64_t ofSample = 0;
    for (uint64_t t = 1; t + 1 < sample.length; ++t) {
      ofSample += sample.labels[t] >= 0;
      if (!isPiece(whole[t]) || whole[t - 1] == cls || whole[t - 1] == sep)
        continue;
      ASSERT_EQ(sample.labels[t] >= 0, sample.labels[t - 1] >= 0)
          << "sample " << i << ", place " << t;
      pieces += sample.labels[t] >= 0;
    }
    ASSERT_GE(ofSample, 1u);
    ASSERT_LE(ofSample, 6u); // 15 % of 40.
    labels += double(ofSample);
  }
  EXPECT_NEAR(labels / tokens, 0.15, 0.02);
  EXPECT_GT(pieces, 1000u);
}

TEST_F(MaskedDatasetTest, WholeWordsAskWhichTokensContinueOne) {
  options.masked->wholeWords = true;
  auto file =
      std::make_shared<const IndexedDataset>(*IndexedDataset::open(prefix));
  auto error = [&] {
    auto dataset = MaskedDataset::create(file, options, Split::Train, 0);
    return dataset.ok() ? "" : dataset.status().message();
  };
  EXPECT_EQ(error(), prefix +
                         ": training.masked_lm.whole_words asks which tokens "
                         "continue a word, and there is no " +
                         prefix +
                         ".words, which `hocket data prepare` writes with a "
                         "WordPiece tokenizer; prepare the data again, or "
                         "leave whole_words out");
  ASSERT_TRUE(writeWordFile(prefix, 7, WordContinuations(900)).ok());
  EXPECT_EQ(error(), prefix + ".words: is of 7 tokens, and " + prefix +
                         ".bin has " + std::to_string(file->tokens()) +
                         "; prepare the data again");
  // It says nothing of the greater ones.
  ASSERT_TRUE(
      writeWordFile(prefix, file->tokens(), WordContinuations(101)).ok());
  auto dataset = open();
  std::vector<int32_t> tokens(options.sequenceLength + 1);
  Status status = dataset->read(0, tokens);
  EXPECT_EQ(status.message().rfind(prefix + ".words: is of 101 tokens, and a "
                                            "text has token ",
                                   0),
            0u)
      << status.message();
  // Every cut, and every bit that is another, is told.
  WordContinuations continues(20);
  continues[3] = continues[17] = true;
  ASSERT_TRUE(writeWordFile(prefix, file->tokens(), continues).ok());
  std::string bytes = test::readBytes(prefix + ".words");
  ASSERT_EQ(bytes.size(), 35u);
  auto again = readWordFile(prefix, file->tokens());
  ASSERT_TRUE(again.ok() && *again);
  EXPECT_EQ(**again, continues);
  for (size_t size = 0; size < bytes.size(); ++size) {
    test::writeBytes(prefix + ".words", bytes.substr(0, size));
    EXPECT_FALSE(readWordFile(prefix, file->tokens()).ok()) << size;
  }
  for (size_t bit = 0; bit < 8 * 34; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = char(damaged[bit / 8] ^ 1 << bit % 8);
    test::writeBytes(prefix + ".words", damaged);
    auto read = readWordFile(prefix, file->tokens());
    // A vocabulary of as many bytes has the same bits.
    EXPECT_TRUE(!read.ok() || (*read)->size() != 20) << bit;
  }
  test::writeBytes(prefix + ".words", bytes);
  ASSERT_TRUE(removeWordFile(prefix).ok());
  EXPECT_FALSE((*readWordFile(prefix, file->tokens())).has_value());
}

} // namespace
