//===- MergeTest.cpp - Several token files as one -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Merge.h"
#include "runtime/data/WordFile.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

static std::string mergeError(const std::vector<std::string> &prefixes,
                              const std::string &output) {
  auto result = mergeDatasets(prefixes, output);
  return result.ok() ? "" : result.status().message();
}

// Empty sequences stay: splits count them.
TEST(Merge, PutsSequencesAndDocumentsInARow) {
  ScratchFolder folder;
  TokenFile a = makeTokenFile({3, 0, 5}, 40), b = makeTokenFile({0, 7}, 9);
  writeTokenFile(folder / "a", a);
  writeTokenFile(folder / "b", b);
  ASSERT_EQ(
      mergeError({folder / "b", folder / "a", folder / "b"}, folder / "c"), "");
  EXPECT_EQ(readBytes(folder / "c.bin"), b.bin + a.bin + b.bin);
  EXPECT_EQ(readBytes(folder / "c.idx"),
            makeTokenFile({0, 7, 3, 0, 5, 0, 7}, 9).index);
}

// [[1,2,3],[4,5]] and [[6]]; of it twice, documents begin at 0 2 3 5 6.
TEST(Merge, KeepsDocumentsOfSeveralSequences) {
  ScratchFolder folder;
  writeBytes(folder / "a.bin", fromHex("010002000300040005000600"));
  writeBytes(
      folder / "a.idx",
      fromHex("4d4d4944494458000001000000000000000803000000000000000300000000"
              "000000030000000200000001000000000000000000000006000000000000000a"
              "0000000000000000000000000000000200000000000000030000000000000"
              "0"));
  ASSERT_EQ(mergeError({folder / "a", folder / "a"}, folder / "c"), "");
  auto merged = IndexedDataset::open(folder / "c");
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  std::vector<uint64_t> starts;
  for (uint64_t d = 0; d <= merged->documents(); ++d)
    starts.push_back(*merged->documentStart(d));
  EXPECT_EQ(starts, (std::vector<uint64_t>{0, 2, 3, 5, 6}));
  EXPECT_EQ(merged->tokens(), 12u);
}

// Bytes between sequences that no sequence has, and bytes that two have.
TEST(Merge, CopiesWhatSequencesHave) {
  ScratchFolder folder;
  TokenFile a = makeTokenFile({2, 2, 2}, 40);
  // The second begins at token 3, the third inside it at token 4.
  size_t offsets = 34 + 4 * 3;
  a.index[offsets + 8] = 6;
  a.index[offsets + 16] = 8;
  a.bin = fromHex("0000010002000300040005000600");
  writeTokenFile(folder / "a", a);
  TokenFile b = makeTokenFile({1}, 40);
  writeTokenFile(folder / "b", b);
  ASSERT_EQ(mergeError({folder / "a", folder / "b"}, folder / "c"), "");
  EXPECT_EQ(readBytes(folder / "c.bin"),
            fromHex("000001000300040004000500") + b.bin);
}

// Which tokens continue a word is known of the whole if it is of every part.
TEST(Merge, KeepsWhichTokensContinueAWord) {
  ScratchFolder folder;
  writeTokenFile(folder / "a", makeTokenFile({3, 5}, 40));
  writeTokenFile(folder / "b", makeTokenFile({7}, 40));
  WordContinuations continues(40);
  continues[9] = true;
  ASSERT_TRUE(writeWordFile(folder / "a", 8, continues).ok());
  ASSERT_TRUE(writeWordFile(folder / "b", 7, continues).ok());
  ASSERT_EQ(mergeError({folder / "a", folder / "b"}, folder / "c"), "");
  auto words = readWordFile(folder / "c", 15);
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(*words, continues);
  continues[8] = true;
  ASSERT_TRUE(writeWordFile(folder / "b", 7, continues).ok());
  EXPECT_EQ(mergeError({folder / "a", folder / "b"}, folder / "c"),
            folder / "b.words: other tokens continue a word than in " +
                folder.path + "/a.words; prepare both with the same tokenizer");
  ASSERT_TRUE(removeWordFile(folder / "b").ok());
  ASSERT_EQ(mergeError({folder / "a", folder / "b"}, folder / "c"), "");
  EXPECT_FALSE((*readWordFile(folder / "c", 15)).has_value());
}

TEST(Merge, RefusesWhatDoesNotFit) {
  ScratchFolder folder;
  TokenFile a = makeTokenFile({4}, 40), wide = makeTokenFile({2}, 40);
  writeTokenFile(folder / "a", a);
  wide.index[17] = 4;
  wide.bin += std::string(4, '\0');
  writeTokenFile(folder / "wide", wide);
  EXPECT_EQ(mergeError({folder / "a"}, folder / "c"),
            "expected at least two datasets to merge, found 1");
  EXPECT_EQ(mergeError({folder / "a", folder / "wide"}, folder / "c"),
            folder / "wide: has tokens of type i32, " + folder.path +
                "/a of u16; prepare both with the same tokenizer");
  // A damaged index is refused, and nothing is written.
  for (size_t size = 0; size < a.index.size(); size += 7) {
    writeBytes(folder / "cut.idx", a.index.substr(0, size));
    writeBytes(folder / "cut.bin", a.bin);
    EXPECT_NE(mergeError({folder / "a", folder / "cut"}, folder / "c")
                  .find(folder / "cut.idx: "),
              std::string::npos)
        << size;
  }
  EXPECT_EQ(folder.list(),
            (std::vector<std::string>{"a.bin", "a.idx", "cut.bin", "cut.idx",
                                      "wide.bin", "wide.idx"}));
}
