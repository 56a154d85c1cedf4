//===- IndexedDatasetTest.cpp - Token files, sound and damaged ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFileWriter.h"
#include "runtime/data/samples/GptDataset.h"
#include "test/runtime/data/TokenFiles.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

/// Documents [[1,2,3],[4,5]] and [[6]] as u16.
static TokenFile golden() {
  return {fromHex("4d4d494449445800000100000000000000080300000000000000030000"
                  "0000000000030000000200000001000000000000000000000006000000"
                  "000000000a000000000000000000000000000000020000000000000003"
                  "00000000000000"),
          fromHex("010002000300040005000600")};
}

TEST(IndexedDataset, ReadsTheGoldenFile) {
  ScratchFolder folder;
  writeTokenFile(folder / "g", golden());
  auto file = IndexedDataset::open(folder / "g");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tokenType(), TokenType::U16);
  EXPECT_EQ(file->sequences(), 3u);
  EXPECT_EQ(file->documents(), 2u);
  EXPECT_EQ(file->tokens(), 6u);
  EXPECT_EQ(*file->documentStart(1), 2u);
  EXPECT_EQ(*file->byteOffset(2), 10u);
  std::vector<int32_t> tokens(2);
  ASSERT_TRUE(file->read(0, 1, 257, tokens).ok());
  EXPECT_EQ(tokens, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(file->read(1, 0, 5, tokens).message(),
            folder / "g.bin: sequence 1, position 1: token 5 is not in the "
                     "vocabulary of 5 entries");
  EXPECT_EQ(file->read(2, 0, 257, tokens).code(), StatusCode::Internal);
}

TEST(TokenFileWriter, WritesTheGoldenFile) {
  ScratchFolder folder;
  auto writer = TokenFileWriter::create(folder / "g", TokenType::U16);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(writer->append(golden().bin).ok());
  ASSERT_TRUE(writer->endSequence(3).ok());
  ASSERT_TRUE(writer->endSequence(2).ok());
  writer->endDocument();
  ASSERT_TRUE(writer->endSequence(1).ok());
  writer->endDocument();
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(readBytes(folder / "g.idx"), golden().index);
  EXPECT_EQ(readBytes(folder / "g.bin"), golden().bin);
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"g.bin", "g.idx"}));
}

TEST(TokenFileWriter, RefusesADocumentThatIsTooLong) {
  ScratchFolder folder;
  auto writer = TokenFileWriter::create(folder / "g", TokenType::U16);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->endSequence(1ull << 31).message(),
            "document 0 has 2147483648 tokens; the format holds at most "
            "2147483647");
}

TEST(IndexedDataset, ReadsEveryTokenType) {
  struct {
    TokenType type;
    std::string bin;
  } cases[] = {{TokenType::U8, fromHex("01ff")},
               {TokenType::I8, fromHex("017f")},
               {TokenType::I16, fromHex("0100ff7f")},
               {TokenType::U16, fromHex("0100ffff")},
               {TokenType::I32, fromHex("01000000ffffff7f")},
               {TokenType::I64, fromHex("0100000000000000ffffff7f00000000")}};
  int32_t largest[] = {255, 127, 32767, 65535, 2147483647, 2147483647};
  ScratchFolder folder;
  for (size_t i = 0; i < 6; ++i) {
    TokenFile file = makeTokenFile({2}, 9);
    file.index[17] = char(cases[i].type);
    file.bin = cases[i].bin;
    writeTokenFile(folder / "t", file);
    auto opened = IndexedDataset::open(folder / "t");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    std::vector<int32_t> tokens(2);
    ASSERT_TRUE(opened->read(0, 0, 1ull << 31, tokens).ok());
    EXPECT_EQ(tokens, (std::vector<int32_t>{1, largest[i]}));
  }
}

TEST(IndexedDataset, RefusesNegativeTokens) {
  ScratchFolder folder;
  TokenFile file = makeTokenFile({2}, 9);
  file.index[17] = char(TokenType::I16);
  file.bin = fromHex("0100ffff");
  writeTokenFile(folder / "t", file);
  auto opened = IndexedDataset::open(folder / "t");
  ASSERT_TRUE(opened.ok());
  std::vector<int32_t> tokens(2);
  EXPECT_EQ(opened->read(0, 0, 1ull << 31, tokens).message(),
            folder / "t.bin: sequence 0, position 1: token -1 is not in the "
                     "vocabulary of 2147483648 entries");
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

namespace {
struct Damage {
  const char *name;
  std::function<void(TokenFile &)> apply;
  const char *message; ///< After "PREFIX.idx: "; $ stands for PREFIX.
};
} // namespace

template <typename T>
static std::function<void(TokenFile &)> put(size_t at, T value) {
  return [=](TokenFile &file) {
    std::memcpy(file.index.data() + at, &value, sizeof(T));
  };
}

static const Damage damages[] = {
    {"empty index", [](TokenFile &f) { f.index.clear(); },
     "expected a header of 34 bytes, the file has 0"},
    {"short header", [](TokenFile &f) { f.index.resize(33); },
     "expected a header of 34 bytes, the file has 33"},
    {"magic", put<char>(3, 'X'),
     "not a Megatron index: it does not start with MMIDIDX"},
    {"version", put<uint64_t>(9, 2), "expected version 1, found 2"},
    {"type 0", put<uint8_t>(17, 0),
     "expected a token type from 1 to 8, found 0"},
    {"type 9", put<uint8_t>(17, 9),
     "expected a token type from 1 to 8, found 9"},
    {"floats", put<uint8_t>(17, 7),
     "the file holds floating-point numbers, not tokens"},
    {"truncated", [](TokenFile &f) { f.index.resize(f.index.size() - 1); },
     "3 sequences and 3 document bounds do not fit in the file's 93 bytes"},
    {"sequence count overflows", put<uint64_t>(18, 0x1555555555555556),
     "1537228672809129302 sequences and 3 document bounds do not fit in the "
     "file's 94 bytes"},
    {"document count overflows", put<uint64_t>(26, 0x2000000000000000),
     "3 sequences and 2305843009213693952 document bounds do not fit in the "
     "file's 94 bytes"},
    {"sum overflows",
     [](TokenFile &f) {
       put<uint64_t>(18, 0x1555555555555555)(f);
       put<uint64_t>(26, 1)(f);
     },
     "1537228672809129301 sequences and 1 document bounds do not fit in the "
     "file's 94 bytes"},
    {"no document bounds", put<uint64_t>(26, 0),
     "expected at least one document bound, found none"},
    {"negative length", put<int32_t>(34, -3),
     "sequence 0: its length is negative, -3"},
    {"long sequence", put<int32_t>(42, 2),
     "sequence 2: 4 bytes at byte 10 pass the end of $.bin, which has 12"},
    {"negative offset", put<int64_t>(46, -2),
     "sequence 0: it begins at byte -2, before byte 0 where the last one "
     "begins"},
    {"offsets go back", put<int64_t>(62, 4),
     "sequence 2: it begins at byte 4, before byte 6 where the last one "
     "begins"},
    {"offset past the end", put<int64_t>(62, INT64_MAX),
     "sequence 2: 2 bytes at byte 9223372036854775807 pass the end of $.bin, "
     "which has 12"},
    {"short bin", [](TokenFile &f) { f.bin.resize(11); },
     "sequence 2: 2 bytes at byte 10 pass the end of $.bin, which has 11"},
    {"empty bin", [](TokenFile &f) { f.bin.clear(); },
     "sequence 0: 6 bytes at byte 0 pass the end of $.bin, which has 0"},
    {"first document", put<int64_t>(70, 1),
     "document 0 must begin at sequence 0, not at 1"},
    {"documents go back", put<int64_t>(78, -1),
     "document 1: it begins at sequence -1, before sequence 0 where the last "
     "one begins"},
    {"last document", put<int64_t>(86, 4),
     "the last document ends at sequence 4, the file has 3"},
};

TEST(IndexedDataset, NamesEachKindOfDamage) {
  ScratchFolder folder;
  std::string prefix = folder / "d";
  for (const Damage &damage : damages) {
    SCOPED_TRACE(damage.name);
    TokenFile file = golden();
    damage.apply(file);
    writeTokenFile(prefix, file);
    auto opened = IndexedDataset::open(prefix);
    ASSERT_FALSE(opened.ok());
    std::string expected = prefix + ".idx: " + damage.message;
    if (size_t at = expected.find('$'); at != std::string::npos)
      expected.replace(at, 1, prefix);
    EXPECT_EQ(opened.status().message(), expected);
    EXPECT_EQ(opened.status().code(), StatusCode::DataLoss);
  }
}

// No single flipped bit may crash the reader or lead it out of the files.
TEST(IndexedDataset, SurvivesEveryFlippedBit) {
  ScratchFolder folder;
  std::string prefix = folder / "f";
  for (size_t bit = 0; bit < golden().index.size() * 8; ++bit) {
    TokenFile file = golden();
    file.index[bit / 8] = char(file.index[bit / 8] ^ (1 << bit % 8));
    writeTokenFile(prefix, file);
    auto opened = IndexedDataset::open(prefix);
    if (!opened.ok())
      continue;
    for (uint64_t s = 0; s < opened->sequences(); ++s) {
      std::vector<int32_t> tokens(*opened->length(s));
      (void)opened->read(s, 0, 1ull << 31, tokens).ok();
    }
  }
}

// A run must be able to answer it; mapped, it would be SIGBUS.
TEST(IndexedDataset, AFileThatIsCutShortWhileInUseIsAnError) {
  ScratchFolder folder;
  writeTokenFile(folder / "t", makeTokenFile({50000, 50000}, 1000));
  auto file = IndexedDataset::open(folder / "t");
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::filesystem::resize_file(folder / "t.bin", 120000);
  std::vector<int32_t> tokens(50000);
  EXPECT_TRUE(file->read(0, 0, 1000, tokens).ok());
  EXPECT_EQ(tokens[49999], 999);
  Status status = file->read(1, 0, 1000, tokens);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(),
            folder / "t.bin: there is no byte 120000: the file has 120000 "
                     "bytes now; it had 200000 when it was opened, and was cut "
                     "short since");
  std::filesystem::resize_file(folder / "t.idx", 40);
  EXPECT_EQ(file->read(0, 0, 1000, tokens).message(),
            folder / "t.idx: there is no byte 42: the file has 40 bytes now; "
                     "it had 82 when it was opened, and was cut short since");
}

TEST(IndexedDataset, NamesTheMissingFile) {
  ScratchFolder folder;
  writeBytes(folder / "m.idx", golden().index);
  auto opened = IndexedDataset::open(folder / "m");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::NotFound);
  EXPECT_EQ(opened.status().message(),
            folder / "m.bin: cannot open: No such file or directory");
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

static StatusOr<std::unique_ptr<GptDataset>>
openGpt(const std::string &prefix, const GptDatasetOptions &options,
        Split split, uint64_t samples) {
  HOCKET_ASSIGN_OR_RETURN(IndexedDataset file, IndexedDataset::open(prefix));
  return GptDataset::create(
      std::make_shared<const IndexedDataset>(std::move(file)), options, split,
      samples);
}

// A sample is a window of the shuffled text, written out in full here.
TEST(GptDataset, SamplesAreWindowsOfTheShuffledText) {
  ScratchFolder folder;
  std::vector<int32_t> lengths = {9, 0, 11, 2, 17, 8, 1, 23};
  writeTokenFile(folder / "w", makeTokenFile(lengths, 1000));
  GptDatasetOptions options;
  options.sequenceLength = 6;
  options.vocabularySize = 1000;
  options.seed = 99;
  options.splitWeights = "1";
  auto dataset = openGpt(folder / "w", options, Split::Train, 25);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  const SampleIndex &index = *(*dataset)->sampleOrder().inMemory();
  std::vector<int32_t> text;
  for (int32_t document : index.documents)
    for (int32_t t = 0; t < lengths[size_t(document)]; ++t)
      text.push_back(
          t + std::accumulate(lengths.begin(), lengths.begin() + document, 0));
  std::vector<int32_t> tokens(7);
  for (uint64_t i = 0; i < (*dataset)->size(); ++i) {
    ASSERT_TRUE((*dataset)->read(i, tokens).ok());
    auto begin = text.begin() + index.shuffle[i] * 6;
    EXPECT_EQ(tokens, std::vector<int32_t>(begin, begin + 7)) << i;
    auto segments = (*dataset)->segments(i);
    ASSERT_TRUE(segments.ok());
    uint64_t sum = 0;
    for (const SampleSegment &segment : *segments)
      sum += segment.length;
    EXPECT_EQ(sum, 7u);
  }
  EXPECT_EQ((*dataset)->read(1000, tokens).message(),
            "sample 1000 does not exist; there are " +
                std::to_string((*dataset)->size()) + " samples");
}

TEST(GptDataset, RefusesWhatCannotBe) {
  ScratchFolder folder;
  writeTokenFile(folder / "e", makeTokenFile({4, 4, 4}, 9));
  GptDatasetOptions options;
  options.sequenceLength = 4;
  options.vocabularySize = 9;
  options.splitWeights = "2,0,1";
  auto message = [&](Split split) {
    auto dataset = openGpt(folder / "e", options, split, 0);
    return dataset.ok() ? std::string("fine") : dataset.status().message();
  };
  EXPECT_EQ(message(Split::Train), "fine");
  EXPECT_EQ(message(Split::Valid),
            folder / "e: split valid (0 of 3 sequences): expected documents "
                     "with tokens, found none");
  EXPECT_EQ(message(Split::Test),
            folder / "e: split test (1 of 3 sequences): expected at least 4 + "
                     "1 tokens for one sample, found 4");
  options.seed = 1ull << 32;
  EXPECT_EQ(message(Split::Train),
            "expected a data seed below 4294967296, found 4294967296");
  options.seed = 0;
  options.vocabularySize = 0;
  EXPECT_EQ(message(Split::Train),
            "expected a vocabulary of 1 to 2147483648 entries, found 0");
}
