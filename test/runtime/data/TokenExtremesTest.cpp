//===- TokenExtremesTest.cpp - The largest token, and where it is ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenExtremes.h"

#include "test/runtime/data/TokenFiles.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {

/// Token files of one sequence a document that lie anywhere in a .bin.
struct Layout {
  TokenType type = TokenType::U16;
  std::vector<int32_t> lengths;
  std::vector<int64_t> offsets;
  std::string bin;
};

void write(const std::string &prefix, const Layout &layout) {
  TokenFile file = makeTokenFile(layout.lengths, 1);
  file.index[17] = char(layout.type);
  size_t at = 34 + 4 * layout.lengths.size();
  for (size_t i = 0; i < layout.offsets.size(); ++i)
    std::memcpy(file.index.data() + at + 8 * i, &layout.offsets[i], 8);
  file.bin = layout.bin;
  writeTokenFile(prefix, file);
}

std::optional<TokenExtremes> extremesOf(const std::string &prefix) {
  auto file = IndexedDataset::open(prefix);
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto found = findTokenExtremes(*file, nullptr);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return *found;
}

template <typename T> std::string bytesOf(const std::vector<T> &tokens) {
  std::string bytes;
  for (T token : tokens)
    appendBytes(bytes, token);
  return bytes;
}

} // namespace

TEST(TokenExtremes, NamesTheFirstPlaceOfEach) {
  ScratchFolder folder;
  write(folder / "t", {TokenType::U16,
                       {3, 2, 4},
                       {0, 6, 10},
                       bytesOf<uint16_t>({7, 9, 7, 2, 9, 2, 65535, 4, 65535})});
  EXPECT_EQ(extremesOf(folder / "t"),
            (TokenExtremes{{2, 1, 0}, {65535, 2, 1}}));
}

TEST(TokenExtremes, ReadsEveryType) {
  ScratchFolder folder;
  auto check = [&](TokenType type, std::string bin, int64_t least,
                   int64_t greatest) {
    write(folder / "t", {type, {3}, {0}, std::move(bin)});
    EXPECT_EQ(extremesOf(folder / "t"),
              (TokenExtremes{{least, 0, 1}, {greatest, 0, 2}}))
        << tokenTypeName(type);
  };
  check(TokenType::U8, bytesOf<uint8_t>({5, 0, 255}), 0, 255);
  check(TokenType::I8, bytesOf<int8_t>({5, -128, 127}), -128, 127);
  check(TokenType::U16, bytesOf<uint16_t>({5, 0, 40000}), 0, 40000);
  check(TokenType::I16, bytesOf<int16_t>({5, -1, 32767}), -1, 32767);
  check(TokenType::I32, bytesOf<int32_t>({5, -7, 1 << 30}), -7, 1 << 30);
  check(TokenType::I64, bytesOf<int64_t>({5, -9, 1LL << 40}), -9, 1LL << 40);
}

TEST(TokenExtremes, BytesThatNoSequenceHasDoNotCount) {
  ScratchFolder folder;
  write(folder / "t", {TokenType::U16,
                       {1, 2},
                       {2, 6},
                       bytesOf<uint16_t>({999, 5, 999, 6, 7, 999})});
  EXPECT_EQ(extremesOf(folder / "t"), (TokenExtremes{{5, 0, 0}, {7, 1, 1}}));
  write(folder / "none", {TokenType::U16, {0}, {0}, ""});
  EXPECT_EQ(extremesOf(folder / "none"), std::nullopt);
}

TEST(TokenExtremes, SequencesMayOverlapAndLieAskew) {
  ScratchFolder folder;
  // Bytes 01 02 03 04 05: the second sequence begins in the middle of a token.
  write(folder / "t",
        {TokenType::U16, {2, 2, 1}, {0, 1, 2}, fromHex("0102030405")});
  EXPECT_EQ(extremesOf(folder / "t"),
            (TokenExtremes{{0x0201, 0, 0}, {0x0504, 1, 1}}));
}

TEST(TokenExtremes, ALargeFileIsReadInPartsAndCanBeStopped) {
  ScratchFolder folder;
  // 3 MiB and a little, which is no multiple of what is read at a time.
  std::vector<uint16_t> tokens((3u << 19) + 12345);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = uint16_t(10 + i % 50000);
  tokens[1u << 19] = 60000; // The first of the second part.
  tokens.back() = 3;
  auto length = int32_t(tokens.size());
  write(folder / "t",
        {TokenType::U16, {length}, {0}, bytesOf<uint16_t>(tokens)});
  EXPECT_EQ(extremesOf(folder / "t"),
            (TokenExtremes{{3, 0, tokens.size() - 1}, {60000, 0, 1u << 19}}));

  auto file = IndexedDataset::open(folder / "t");
  ASSERT_TRUE(file.ok());
  uint64_t last = 0;
  auto whole = findTokenExtremes(*file, [&](uint64_t done, uint64_t all) {
    EXPECT_GT(done, last);
    EXPECT_EQ(all, 2 * tokens.size());
    last = done;
    return true;
  });
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(last, 2 * tokens.size());
  auto stopped =
      findTokenExtremes(*file, [](uint64_t, uint64_t) { return false; });
  EXPECT_EQ(stopped.status().code(), StatusCode::Unavailable);
}

TEST(TokenExtremes, AFileThatWasCutShortIsSaid) {
  ScratchFolder folder;
  writeTokenFile(folder / "t", makeTokenFile({100}, 9));
  auto file = IndexedDataset::open(folder / "t");
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(folder / "t.bin", 50);
  auto found = findTokenExtremes(*file, nullptr);
  EXPECT_EQ(found.status().message(),
            folder / "t.bin: ends at byte 50, its index tells of more; it was "
                     "cut short");
}

TEST(TokenExtremes, AreComparedWithAVocabulary) {
  TokenExtremes extremes{{0, 0, 5}, {256, 3, 17}};
  EXPECT_TRUE(checkVocabulary("d", extremes, 257).ok());
  EXPECT_EQ(checkVocabulary("d", extremes, 256).message(),
            "d.bin: sequence 3, position 17: token 256 is outside the "
            "vocabulary of 256 entries. It is the largest of the file: write "
            "model.vocab_size: 257 or more, or prepare the data with the "
            "model's tokenizer");
  extremes.least = {-1, 2, 4};
  EXPECT_EQ(checkVocabulary("d", extremes, 257).message(),
            "d.bin: sequence 2, position 4: token -1 is negative; the file is "
            "damaged, or holds no tokens");
  EXPECT_FALSE(canLeaveVocabulary(TokenType::U8, 256));
  EXPECT_TRUE(canLeaveVocabulary(TokenType::U8, 255));
  EXPECT_FALSE(canLeaveVocabulary(TokenType::U16, 65536));
  EXPECT_TRUE(canLeaveVocabulary(TokenType::U16, 65535));
  EXPECT_TRUE(canLeaveVocabulary(TokenType::I32, 1ull << 31));
}
