//===- RoundsTest.cpp - How finely ranks share sequences ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ranks have to attend to where documents share sequences, counted with
/// the function by which kernels find positions. The bounds hold for any
/// documents.
///
/// Of one document, let c be the most that the queries of one part see. Two
/// ranks take turns at its parts, r s s r r s s r ..., and a part's work grows
/// until the document ends, with at most the last one short. So what one rank
/// has more than the other is a sum of differences c_i - c_{i-1} >= 0, each
/// times the number by which one has more of the parts from i on than the
/// other. That is at most 2, so ranks differ by at most 2 c: by what two parts
/// of the document's last rows see.
///
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/Rounds.h"

#include "kernels/reference/Positions.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

using namespace hocket;
using kernels::storedPosition;

namespace {

constexpr int64_t leastPart = 128;

TEST(Rounds, AreAsManyAsLeavePartsLong) {
  using dist::roundsOf;
  EXPECT_EQ(roundsOf(4096, 128), 32);
  EXPECT_EQ(roundsOf(256, 128), 2);
  EXPECT_EQ(roundsOf(128, 128), 1);
  EXPECT_EQ(roundsOf(100, 128), 1);
  EXPECT_EQ(roundsOf(1, 128), 1);
  // Tiles of 128 rows stay within parts that they were within: 640 is 5 of
  // them.
  EXPECT_EQ(roundsOf(640, 128), 5);
  EXPECT_EQ(roundsOf(1152, 128), 9);
  // 320 is a multiple of 64, and so is no more than one part of it.
  EXPECT_EQ(roundsOf(320, 128), 1);
  EXPECT_EQ(roundsOf(576, 128), 3);
  EXPECT_EQ(roundsOf(257 * 129, 128), 257);
  EXPECT_EQ(roundsOf(4, 1), 4);
  for (int64_t longest = 1; longest < 3000; ++longest) {
    int64_t rounds = roundsOf(longest, leastPart), part = longest / rounds;
    ASSERT_EQ(longest % rounds, 0);
    ASSERT_TRUE(rounds == 1 || part >= leastPart);
    for (int64_t tile : {4, 64, 128})
      ASSERT_TRUE(longest % tile != 0 || part % tile == 0) << longest;
  }
}

/// Documents that fill a sequence, by their lengths, and how ranks share it.
struct Shared {
  std::vector<int64_t> documents;
  int64_t ranks, rounds;
  int64_t window = INT64_MAX; ///< Keys that a query sees at most.

  int64_t sequence() const {
    return std::accumulate(documents.begin(), documents.end(), int64_t(0));
  }
  int64_t part() const { return sequence() / (2 * ranks * rounds); }
  /// In as many rounds as the compiler chooses.
  Shared dealtOut() const {
    Shared other = *this;
    other.rounds = dist::roundsOf(sequence() / (2 * ranks), leastPart);
    return other;
  }
};

/// The keys of rank `key` that the queries of rank `query` see, [query][key]:
/// what a step of a ring is, and summed over keys what a rank computes.
std::vector<std::vector<double>> seenKeys(const Shared &s) {
  int64_t sequence = s.sequence(), part = s.part();
  std::vector<int64_t> rankOf(static_cast<size_t>(sequence)), first;
  for (int64_t at = 0; at < sequence; ++at)
    rankOf[size_t(storedPosition(at, part, s.rounds, sequence))] =
        at / (sequence / s.ranks);
  for (int64_t length : s.documents)
    first.insert(first.end(), size_t(length), int64_t(first.size()));
  // Rows of each rank before a position.
  auto ranks = size_t(s.ranks);
  std::vector<std::vector<int64_t>> before(ranks, std::vector<int64_t>{0});
  for (int64_t rank : rankOf)
    for (size_t r = 0; r < ranks; ++r)
      before[r].push_back(before[r].back() + (int64_t(r) == rank));
  std::vector<std::vector<double>> seen(ranks, std::vector<double>(ranks));
  for (int64_t i = 0; i < sequence; ++i) {
    int64_t from = std::max(first[size_t(i)],
                            s.window > i ? int64_t(0) : i - s.window + 1);
    for (size_t r = 0; r < ranks; ++r)
      seen[size_t(rankOf[size_t(i)])][r] +=
          double(before[r][size_t(i) + 1] - before[r][size_t(from)]);
  }
  return seen;
}

/// What each rank computes.
std::vector<double> workOf(const Shared &s) {
  std::vector<double> work;
  for (const std::vector<double> &keys : seenKeys(s))
    work.push_back(std::accumulate(keys.begin(), keys.end(), 0.0));
  return work;
}

double meanOf(const std::vector<double> &work) {
  return std::accumulate(work.begin(), work.end(), 0.0) / double(work.size());
}

/// The most work of a rank over the mean.
double imbalanceOf(const Shared &s) {
  std::vector<double> work = workOf(s);
  return *std::ranges::max_element(work) / meanOf(work);
}

/// By how much two ranks may differ: two parts of the last rows of each
/// document.
double differenceBound(const Shared &s) {
  int64_t seen = 0; // by the last query of each
  for (int64_t length : s.documents)
    seen += std::min(length, s.window);
  return 2.0 * double(s.part()) * double(seen);
}

void expectBalanced(const Shared &s) {
  std::vector<double> work = workOf(s);
  auto [least, most] = std::ranges::minmax(work);
  EXPECT_LE(most - least, differenceBound(s));
}

/// Without documents nothing is gained: one text is as much for every rank.
TEST(Rounds, OfOneDocumentAreAllTheSame) {
  for (int64_t ranks : {2, 3, 4, 8})
    for (int64_t rounds : {1, 2, 5}) {
      Shared s{{2 * ranks * rounds * 16}, ranks, rounds};
      std::vector<double> work = workOf(s);
      EXPECT_EQ(std::ranges::count(work, work[0]), ranks);
    }
}

/// A document in the middle half of a sequence is work for half of the ranks
/// where each has two parts.
TEST(Rounds, DealOutADocumentInTheMiddle) {
  for (int64_t ranks : {2, 4, 8}) {
    constexpr int64_t length = 16384;
    Shared s{std::vector<int64_t>(length / 2, 1), ranks, 1};
    s.documents.insert(s.documents.begin() + length / 4, length / 2);
    double inside = length / 2.0 * (length / 2.0 + 1) / 2;
    std::vector<double> work = workOf(s);
    EXPECT_EQ(*std::ranges::max_element(work), inside / (ranks / 2.0));
    // All else is a key a query.
    EXPECT_EQ(*std::ranges::min_element(work), double(length) / double(ranks));

    Shared many = s.dealtOut();
    EXPECT_EQ(many.part(), leastPart);
    expectBalanced(many);
    EXPECT_LE(imbalanceOf(many),
              1 + differenceBound(many) / meanOf(workOf(many)));
    EXPECT_LT(imbalanceOf(many), imbalanceOf(s));
  }
}

/// Documents of all lengths: a few long ones, many short ones, or in between.
std::vector<int64_t> randomDocuments(int64_t sequence,
                                     std::mt19937_64 &random) {
  std::vector<int64_t> documents;
  int64_t longest = sequence >> random() % 8;
  for (int64_t left = sequence; left > 0; left -= documents.back()) {
    int64_t most = std::max<int64_t>(1, longest >> random() % 6);
    int64_t length = 1 + int64_t(random() % uint64_t(most));
    documents.push_back(std::min(left, length));
  }
  return documents;
}

TEST(Rounds, BalanceDocumentsOfAllLengths) {
  std::mt19937_64 random(19);
  for (int64_t ranks : {2, 3, 4, 8})
    for (int64_t rounds : {2, 7})
      for (int i = 0; i < 12; ++i) {
        int64_t sequence = 2 * ranks * rounds * leastPart;
        Shared s{randomDocuments(sequence, random), ranks, 1};
        if (i % 4 == 0)
          s.window = 1 + int64_t(random() % uint64_t(sequence));
        SCOPED_TRACE(testing::Message() << ranks << " ranks, " << rounds
                                        << " rounds, sequence " << i);
        expectBalanced(s);
        Shared many = s.dealtOut();
        ASSERT_EQ(many.rounds, rounds);
        expectBalanced(many);
        EXPECT_EQ(differenceBound(many) * double(rounds), differenceBound(s));
      }
}

/// A ring's steps, which ranks take together, are even too. Ranks' rows among
/// any that follow each other differ in number by at most two parts, one at
/// each end; so each query sees of each rank's keys as much, but for two parts.
TEST(Rounds, BalanceTheStepsOfARing) {
  std::mt19937_64 random(23);
  for (int64_t ranks : {2, 4, 8})
    for (int i = 0; i < 8; ++i) {
      int64_t sequence = 2 * ranks * 6 * leastPart;
      Shared s = Shared{randomDocuments(sequence, random), ranks, 1}.dealtOut();
      double rows = double(sequence) / double(ranks);
      for (const std::vector<double> &keys : seenKeys(s))
        for (double step : keys)
          EXPECT_LE(std::abs(step - meanOf(keys)), rows * 2 * double(s.part()));
    }
}

} // namespace
