//===- PositionsTest.cpp - Where the rows of a sequence are ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Positions.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace hocket::kernels {
namespace {

std::vector<int64_t> stored(int64_t part, int64_t rounds, int64_t whole) {
  std::vector<int64_t> positions;
  for (int64_t at = 0; at < whole; ++at)
    positions.push_back(storedPosition(at, part, rounds, whole));
  return positions;
}

TEST(Positions, OfTwoRanksInOneAndInTwoRounds) {
  using Rows = std::vector<int64_t>;
  EXPECT_EQ(stored(0, 1, 4), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(stored(2, 1, 8), (Rows{0, 1, 6, 7, 2, 3, 4, 5}));
  EXPECT_EQ(stored(1, 2, 8), (Rows{0, 3, 4, 7, 1, 2, 5, 6}));
}

/// Each position is stored once. A rank's are in ascending order, half of each
/// round's as far from its beginning as the other half from its end.
TEST(Positions, AreDealtOutOnce) {
  for (int64_t ranks : {1, 2, 3, 8})
    for (int64_t rounds : {1, 2, 5})
      for (int64_t part : {1, 3, 4}) {
        int64_t rows = 2 * part * rounds, whole = ranks * rows;
        ASSERT_TRUE(isStorable(part, rounds, whole));
        std::vector<int64_t> all = stored(part, rounds, whole), sorted = all;
        std::ranges::sort(sorted);
        EXPECT_EQ(sorted, stored(0, 1, whole));
        for (int64_t rank = 0; rank < ranks; ++rank) {
          auto own = all.begin() + rank * rows;
          EXPECT_TRUE(std::is_sorted(own, own + rows));
          for (int64_t round = 0; round < rounds; ++round)
            for (int64_t i = 0; i < 2 * part; ++i) {
              int64_t at = round * 2 * part;
              int64_t first = round * 2 * ranks * part;
              EXPECT_EQ(own[at + i] - first, first + 2 * ranks * part - 1 -
                                                 own[at + 2 * part - 1 - i]);
            }
        }
      }
}

TEST(Positions, AreStoredInEvenNumbersOfParts) {
  EXPECT_TRUE(isStorable(0, 1, 7));
  EXPECT_TRUE(isStorable(4, 1, 8));
  EXPECT_TRUE(isStorable(1, 4, 8));
  EXPECT_FALSE(isStorable(0, 2, 8));
  EXPECT_FALSE(isStorable(2, 0, 8));
  EXPECT_FALSE(isStorable(-2, 1, 8));
  EXPECT_FALSE(isStorable(-2, -1, 8));
  EXPECT_FALSE(isStorable(3, 1, 8));
  EXPECT_FALSE(isStorable(8, 1, 8));
  EXPECT_FALSE(isStorable(1, 8, 8));
  EXPECT_FALSE(isStorable(1, 3, 8));
  EXPECT_FALSE(isStorable(INT64_MAX, 2, 8));
  EXPECT_FALSE(isStorable(2, INT64_MAX, 8));
  EXPECT_FALSE(isStorable(1, 1, 0));
}

} // namespace
} // namespace hocket::kernels
