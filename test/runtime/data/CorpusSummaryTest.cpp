//===- CorpusSummaryTest.cpp - What token files hold ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/CorpusSummary.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

TEST(CorpusSummary, CountsDocumentsAndTheirLengths) {
  ScratchFolder folder;
  std::vector<int32_t> lengths;
  for (int32_t i = 100; i > 0; --i)
    lengths.push_back(i);
  writeTokenFile(folder / "a", makeTokenFile(lengths, 50));
  auto summary = summarizeCorpus(folder / "a");
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->documents, 100u);
  EXPECT_EQ(summary->tokens, 5050u);
  EXPECT_EQ(summary->shortest, 1u);
  EXPECT_EQ(summary->median, 50u);
  EXPECT_EQ(summary->p90, 90u);
  EXPECT_EQ(summary->p99, 99u);
  EXPECT_EQ(summary->longest, 100u);
  EXPECT_EQ(summary->buckets[3], (LengthBucket{4, 4 + 5 + 6 + 7}));
  EXPECT_EQ(summary->buckets[7], (LengthBucket{37, 37 * 82}));
}

TEST(CorpusSummary, ADocumentMayHaveNoneOrManySequences) {
  ScratchFolder folder;
  TokenFile file = makeTokenFile({3, 4, 5}, 50);
  // Documents of no sequence, of three, and of none.
  file.index.resize(34 + 12 * 3);
  file.index[26] = 4;
  for (int64_t start : {0, 0, 3, 3})
    appendBytes(file.index, start);
  writeTokenFile(folder / "a", file);
  auto summary = summarizeCorpus(folder / "a");
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->documents, 3u);
  EXPECT_EQ(summary->buckets[0].documents, 2u);
  EXPECT_EQ(summary->longest, 12u);
  EXPECT_EQ(summary->median, 0u);
}
