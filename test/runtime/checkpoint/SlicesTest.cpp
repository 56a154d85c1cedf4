//===- SlicesTest.cpp - Parts of a global tensor --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Slices.h"

#include <gtest/gtest.h>

using namespace hocket::checkpoint;

/// The bytes of a slice of a tensor whose element at (i, j, k) is its global
/// row-major number in a [3, 5, 7] tensor.
static std::vector<uint8_t> numbered(const SliceBounds &slice) {
  std::vector<uint8_t> bytes;
  for (uint64_t i = 0; i < slice.size[0]; ++i)
    for (uint64_t j = 0; j < slice.size[1]; ++j)
      for (uint64_t k = 0; k < slice.size[2]; ++k)
        bytes.push_back(
            uint8_t(((slice.offset[0] + i) * 5 + slice.offset[1] + j) * 7 +
                    slice.offset[2] + k));
  return bytes;
}

// Any cut into parts, read back as any other slice.
TEST(Slices, CopiesWhatIsShared) {
  std::vector<SliceBounds> parts = {{{0, 0, 0}, {3, 2, 7}},
                                    {{0, 2, 0}, {2, 3, 4}},
                                    {{0, 2, 4}, {2, 3, 3}},
                                    {{2, 2, 0}, {1, 3, 7}}};
  std::vector<SliceBounds> wanted = {wholeOf({3, 5, 7}),
                                     {{1, 1, 1}, {2, 3, 5}},
                                     {{0, 4, 6}, {1, 1, 1}},
                                     {{0, 0, 0}, {3, 5, 1}}};
  for (const SliceBounds &slice : wanted) {
    std::vector<uint8_t> out(elementsOf(slice), 255);
    uint64_t copied = 0;
    for (const SliceBounds &part : parts)
      copied += copyShared(part, numbered(part), slice, out, 1);
    EXPECT_EQ(copied, out.size());
    EXPECT_EQ(out, numbered(slice)) << sliceText(slice);
  }
}

TEST(Slices, WideElements) {
  std::vector<uint8_t> from = {1, 2, 3, 4, 5, 6, 7, 8}, to(4);
  EXPECT_EQ(copyShared({{0, 0}, {2, 2}}, from, {{0, 1}, {2, 1}}, to, 2), 2u);
  EXPECT_EQ(to, (std::vector<uint8_t>{3, 4, 7, 8}));
}

TEST(Slices, ScalarsAndNothing) {
  std::vector<uint8_t> from = {9}, to = {0};
  EXPECT_EQ(copyShared({}, from, {}, to, 1), 1u);
  EXPECT_EQ(to[0], 9);
  EXPECT_EQ(copyShared({{0}, {1}}, from, {{1}, {1}}, to, 1), 0u);
}

TEST(Slices, Inside) {
  std::vector<uint64_t> shape = {4, 2};
  EXPECT_TRUE(isInside({{3, 0}, {1, 2}}, shape));
  EXPECT_FALSE(isInside({{3, 0}, {2, 2}}, shape));
  EXPECT_FALSE(isInside({{0}, {4}}, shape));
  EXPECT_FALSE(isInside({{~0ull, 0}, {2, 1}}, shape));
  EXPECT_EQ(sliceText({{3, 0}, {1, 2}}), "[3, 4) x [0, 2)");
}

// Windows are the slice's bytes, cut.
TEST(Slices, AreReadInWindows) {
  for (const SliceBounds &slice :
       {wholeOf({3, 5, 7}), SliceBounds{{1, 1, 2}, {2, 3, 5}}})
    for (uint64_t most : {1, 2, 5, 7, 14, 35, 70, 1000}) {
      std::vector<uint8_t> joined;
      for (const SliceBounds &window : windowsOf(slice, 1, most)) {
        EXPECT_LE(elementsOf(window), most);
        std::vector<uint8_t> bytes = numbered(window);
        joined.insert(joined.end(), bytes.begin(), bytes.end());
      }
      EXPECT_EQ(joined, numbered(slice)) << most;
    }
  EXPECT_EQ(windowsOf(wholeOf({}), 4, 1).size(), 1u);
  EXPECT_EQ(windowsOf(wholeOf({3}), 4, 1).size(), 3u);
  EXPECT_TRUE(windowsOf(wholeOf({3, 0}), 4, 1).empty());
}
