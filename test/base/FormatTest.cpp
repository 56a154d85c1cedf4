//===- FormatTest.cpp - Numbers as people read them -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "base/ByteCount.h"
#include "base/CheckedMath.h"
#include "base/Quantity.h"

#include <gtest/gtest.h>
#include <limits>
#include <utility>

using namespace hocket;

TEST(Format, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(uint64_t(3) << 30), "3.00 GiB");
  EXPECT_EQ(formatBytes((uint64_t(1) << 20) - 1), "1.00 MiB");
  EXPECT_EQ(formatBytes(~uint64_t(0)), "16.00 EiB");
}

TEST(Format, ByteCountsAreRead) {
  const std::pair<const char *, uint64_t> cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"4096B", 4096},
      {"2k", 2000},
      {"1.5KB", 1500},
      {"500MB", 500'000'000},
      {"500M", 500'000'000},
      {"0.5Gi", uint64_t(1) << 29},
      {"80GiB", uint64_t(80) << 30},
      {"2TiB", uint64_t(2) << 40},
      {"15EiB", uint64_t(15) << 60},
      {"9007199254740993", 9007199254740993}, // Beyond a double's digits.
      {"18446744073709551615", ~uint64_t(0)}};
  for (auto [text, bytes] : cases)
    EXPECT_EQ(parseByteCount(text), bytes) << text;
  for (const char *text :
       {"", "B", "GiB", "-1", "-0.5k", "much", "1XB", "1 GiB", "1GiBs", "1GBi",
        "1i", "1iB", "1e3", "16EiB", "18446744073709551616", "nan", "inf"})
    EXPECT_EQ(parseByteCount(text), std::nullopt) << text;
}

TEST(Format, Durations) {
  EXPECT_EQ(formatDuration(0.0000021), "2.1 us");
  EXPECT_EQ(formatDuration(0.25), "250 ms");
  EXPECT_EQ(formatDuration(1), "1.0s");
  EXPECT_EQ(formatDuration(59.97), "1m 00s");
  EXPECT_EQ(formatDuration(75), "1m 15s");
  EXPECT_EQ(formatDuration(3700), "1h 01m");
  EXPECT_EQ(formatDuration(90000), "1d 01h");
  EXPECT_EQ(formatDuration(-1), "?");
  EXPECT_EQ(formatDuration(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, Counts) {
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(12345), "12.3k");
  EXPECT_EQ(formatCount(124439808), "124.4M");
  EXPECT_EQ(formatCount(1.75e11), "175.0G");
  EXPECT_EQ(formatGrouped(0), "0");
  EXPECT_EQ(formatGrouped(123), "123");
  EXPECT_EQ(formatGrouped(1234567), "1,234,567");
}

TEST(Format, TablesAlign) {
  EXPECT_EQ(formatTable({"name", ">bytes"}, {{"a", "1"}, {"long", "12345"}}),
            "name  bytes\n"
            "a         1\n"
            "long  12345\n");
  EXPECT_EQ(formatTable({"", ">"}, {{"a", "1"}, {"b", "22"}}),
            "a   1\nb  22\n");
}

TEST(Format, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(formatNoun(0, "document"), "0 documents");
  EXPECT_EQ(formatNoun(1, "document"), "1 document");
  EXPECT_EQ(formatNoun(1234, "document"), "1,234 documents");
  EXPECT_EQ(formatNoun(1, "microbatch", "microbatches"), "1 microbatch");
  EXPECT_EQ(formatNoun(2, "microbatch", "microbatches"), "2 microbatches");
}

TEST(Format, WhatRoundsToZeroHasNoSign) {
  EXPECT_EQ(formatRounded(-0.0001, 3), "0.000");
  EXPECT_EQ(formatRounded(-0.0006, 3), "-0.001");
  EXPECT_EQ(formatRounded(-0.0, 0), "0");
  EXPECT_EQ(formatRounded(0.0 / 0.0, 1), "?");
  EXPECT_EQ(formatSigned(-0.01, 1), "+0.0");
  EXPECT_EQ(formatSigned(1.25, 2), "+1.25");
  EXPECT_EQ(formatSigned(-3, 0), "-3");
}

TEST(Format, RatesHaveTheirUnitApart) {
  EXPECT_EQ(formatRate(1e11, "FLOP/s"), "100.0 GFLOP/s");
  EXPECT_EQ(formatRate(3.67e10, "FLOP/s"), "36.7 GFLOP/s");
  EXPECT_EQ(formatRate(12, "FLOP/s"), "12 FLOP/s");
}

TEST(CheckedMath, OverflowIsNoValue) {
  uint64_t big = uint64_t(1) << 63;
  EXPECT_EQ(checkedAdd(big, big), std::nullopt);
  EXPECT_EQ(checkedMultiply(big, 2), std::nullopt);
  EXPECT_EQ(checkedAdd(3, 4), 7u);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{2, 3, 5}), 30u);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{big, 0, 2}), std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{4, 0}), 0u);
  EXPECT_EQ(checkedAlign(65, 64), 128u);
  EXPECT_EQ(checkedAlign(~uint64_t(0), 64), std::nullopt);
  EXPECT_TRUE(rangeInside(10, 6, 16));
  EXPECT_FALSE(rangeInside(10, 7, 16));
  EXPECT_FALSE(rangeInside(~uint64_t(0), 2, 16));
}
