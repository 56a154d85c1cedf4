//===- TensorShardTest.cpp - Where a shard's elements stand ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/TensorShard.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace hocket::kernels {
namespace {

using Numbers = std::vector<int64_t>;

Numbers elementsOf(const ShardShape &shard, const Numbers &starts) {
  int64_t count = 1;
  for (int64_t size : shard.shard)
    count *= size;
  Numbers elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(wholeElement(shard, starts, i));
  return elements;
}

TEST(TensorShard, ColumnsOfAMatrix) {
  Numbers shard{3, 2}, whole{3, 8}, dims{1}, parts{0};
  EXPECT_EQ(elementsOf({shard, whole, dims, parts}, {4}),
            (Numbers{4, 5, 12, 13, 20, 21}));
}

/// Parts of two rows are stored as 0, 3, 1, 2.
TEST(TensorShard, RowsThatAreStoredInParts) {
  Numbers shard{4}, whole{8}, dims{0}, parts{2};
  EXPECT_EQ(elementsOf({shard, whole, dims, parts}, {0}),
            (Numbers{0, 1, 6, 7}));
  EXPECT_EQ(elementsOf({shard, whole, dims, parts}, {4}),
            (Numbers{2, 3, 4, 5}));
}

/// Parts of one row in two rounds: 0, 3, 4, 7, then 1, 2, 5, 6.
TEST(TensorShard, RowsThatAreDealtOutInRounds) {
  Numbers shard{4}, whole{8}, dims{0}, parts{1};
  EXPECT_EQ(elementsOf({shard, whole, dims, parts, 2}, {0}),
            (Numbers{0, 3, 4, 7}));
  EXPECT_EQ(elementsOf({shard, whole, dims, parts, 2}, {4}),
            (Numbers{1, 2, 5, 6}));
}

/// A batch that is split, and sequences that are split twice.
TEST(TensorShard, SeveralDims) {
  Numbers shard{1, 1, 2}, whole{2, 4, 2}, dims{0, 1}, parts{0, 1};
  EXPECT_EQ(elementsOf({shard, whole, dims, parts}, {1, 1}),
            (Numbers{8 + 6, 8 + 7}));
}

TEST(TensorShard, WhatIsWrong) {
  auto error = [](Numbers shard, Numbers whole, Numbers dims, Numbers parts,
                  int64_t rounds = 1) {
    const char *text = shardError({shard, whole, dims, parts, rounds});
    return std::string(text == nullptr ? "" : text);
  };
  EXPECT_EQ(error({2, 3}, {4, 3}, {0}, {0}), "");
  EXPECT_EQ(error({3}, {5}, {0}, {0}), ""); // the last is padding
  EXPECT_NE(error({2, 3}, {6}, {0}, {0}), "");
  EXPECT_NE(error({2, 3}, {4, 3}, {}, {}), "");
  EXPECT_NE(error({2, 3}, {4, 3}, {0}, {}), "");
  EXPECT_NE(error({5, 3}, {4, 3}, {0}, {0}), "");
  EXPECT_NE(error({0, 3}, {4, 3}, {0}, {0}), "");
  EXPECT_NE(error({2, 3}, {4, 3}, {2}, {0}), "");
  EXPECT_NE(error({2, 2}, {4, 4}, {1, 0}, {0, 0}), "");
  EXPECT_NE(error({4}, {8}, {0}, {3}), "");
  EXPECT_NE(error({4}, {12}, {0}, {4}), ""); // three parts
  EXPECT_EQ(error({4}, {16}, {0}, {4}, 2), "");
  EXPECT_NE(error({4}, {16}, {0}, {4}, 3), "");
  EXPECT_NE(error({4}, {16}, {0}, {0}, 2), "");
  EXPECT_NE(error({1, 1}, {int64_t(1) << 30, int64_t(1) << 30}, {0, 1}, {0, 0}),
            "");
}

} // namespace
} // namespace hocket::kernels
