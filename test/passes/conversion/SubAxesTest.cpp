//===- SubAxesTest.cpp - Axes of a mesh, cut by what they split -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/SubAxes.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hocket::dist;

namespace {

/// What the sub-axes multiply to of which `holds`.
template <typename Predicate>
int64_t product(const llvm::SmallVector<SubAxis> &axes, Predicate holds) {
  int64_t product = 1;
  for (const SubAxis &axis : axes)
    product *= holds(axis) ? axis.size : 1;
  return product;
}

/// Every cut of up to 48 ranks gives each what it asked for.
TEST(SubAxes, HoldWhatIsAsked) {
  for (int64_t ranks = 1; ranks <= 48; ++ranks)
    for (int64_t inside = 1; inside <= ranks; ++inside)
      for (int64_t different = 1; different * inside <= ranks; ++different)
        for (int64_t heads : {1, 2, 3, 4, 6, 8, 12, 40, 48}) {
          if (ranks % (inside * different) != 0)
            continue;
          auto axes = cutAxis({ranks, heads, different, inside});
          auto of = [&](ExpertUse use) {
            return product(
                axes, [&](const SubAxis &axis) { return axis.use == use; });
          };
          ASSERT_EQ(of(ExpertUse::Inside), inside);
          ASSERT_EQ(of(ExpertUse::Different), different);
          ASSERT_EQ(of(ExpertUse::Rows), ranks / inside / different);
          ASSERT_EQ(
              product(axes,
                      [](const SubAxis &axis) { return axis.splitsKeyHeads; }),
              std::gcd(ranks, heads));
          bool wasWhole = false;
          for (const SubAxis &axis : axes) {
            ASSERT_GT(axis.size, 1);
            ASSERT_FALSE(wasWhole && axis.splitsKeyHeads);
            wasWhole |= !axis.splitsKeyHeads;
          }
        }
}

/// No more than it takes.
TEST(SubAxes, AreFew) {
  EXPECT_EQ(cutAxis({8, 8, 1, 8}).size(), 1U);
  EXPECT_EQ(cutAxis({8, 2, 1, 8}).size(), 2U);
  EXPECT_EQ(cutAxis({8, 2, 2, 4}).size(), 2U);
  // Neither 4 nor 6 divides the other.
  EXPECT_EQ(cutAxis({12, 4, 6, 2}).size(), 3U);
}

} // namespace
