//===- PhiloxTest.cpp - Known answers and element counting ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Philox.h"

#include <gtest/gtest.h>

namespace hocket::kernels {
namespace {

using Words = std::array<uint32_t, 4>;

// The known-answer vectors of Random123 for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ElementsTakeTheWordsOfTheirBlockInOrder) {
  RandomStream stream{0x123456789abcdef0, 7, 11};
  uint64_t block = 0x300000002;
  Words words = philox4x32({2, 3, 7, 11}, {0x9abcdef0, 0x12345678});
  for (uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(randomWord(stream, block * 4 + i), words[i]);
}

TEST(Philox, ThresholdIsTheShareOfAllWords) {
  EXPECT_EQ(dropoutThreshold(0), 0u);
  EXPECT_EQ(dropoutThreshold(0.5), 0x80000000u);
  EXPECT_EQ(dropoutThreshold(0.1), 429496729u);
}

static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);

} // namespace
} // namespace hocket::kernels
