//===- RandomStateTest.cpp - Against NumPy's own numbers ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RandomState.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hocket::data;
using namespace hocket::test;

static std::vector<int64_t> arange(size_t size) {
  std::vector<int64_t> values(size);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(RandomState, MatchesNumPy) {
  auto lines = readGolden(HOCKET_SOURCE_DIR
                          "/test/runtime/data/golden/random_state.txt");
  ASSERT_EQ(lines.size(), 4u * 9u);
  uint32_t seed = 0;
  for (const GoldenLine &line : lines) {
    if (line.word == "seed") {
      seed = uint32_t(line.numbers[0]);
      continue;
    }
    SCOPED_TRACE(line.word + " of seed " + std::to_string(seed));
    RandomState state(seed);
    auto values = arange(line.numbers.size());
    if (line.word == "raw") {
      for (int64_t &value : values)
        value = state.next32();
    } else {
      if (line.word == "second") {
        auto first = arange(20);
        state.shuffle(std::span<int64_t>(first));
      }
      state.shuffle(std::span<int64_t>(values));
    }
    EXPECT_EQ(values, line.numbers);
  }
}

// The classic check of MT19937: output 10,000 of seed 5489.
TEST(RandomState, TenThousandthOutput) {
  RandomState state(5489);
  for (int i = 1; i < 10000; ++i)
    state.next32();
  EXPECT_EQ(state.next32(), 4123659995u);
}

TEST(RandomState, IntervalStaysInside) {
  RandomState state(3);
  bool reachedMaximum = false;
  for (int i = 0; i < 1000; ++i) {
    uint64_t value = state.interval(5);
    ASSERT_LE(value, 5u);
    reachedMaximum |= value == 5;
    ASSERT_LE(state.interval(1ull << 40), 1ull << 40);
  }
  EXPECT_TRUE(reachedMaximum);
}
