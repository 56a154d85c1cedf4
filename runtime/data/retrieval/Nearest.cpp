//===- Nearest.cpp - The rows that are nearest to others ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/retrieval/Nearest.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

// The same source for what processors have. Multiplications and additions stay
// apart, so that all of these give the same bits.
#define HOCKET_FOR_EACH_PROCESSOR                                              \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

using Lanes = float __attribute__((ext_vector_type(16)));

// Vectors are handed on by reference: how they are passed otherwise differs
// from processor to processor.
[[gnu::always_inline]] static inline void load(const float *from, Lanes &to) {
  std::memcpy(&to, from, sizeof(to));
}

[[gnu::always_inline]] static inline float sumOf(const Lanes &lanes) {
  auto eight = lanes.lo + lanes.hi;
  auto four = eight.lo + eight.hi;
  auto two = four.lo + four.hi;
  return two.x + two.y;
}

HOCKET_FOR_EACH_PROCESSOR
void data::squaredDistances(const float *const (&a)[4],
                            const float *const (&b)[2], uint64_t length,
                            float (&out)[4][2]) {
#pragma clang fp contract(off)
  Lanes sums[4][2] = {};
  for (uint64_t at = 0; at < length; at += RowMatrix::lanes) {
    Lanes left, right[2];
    load(b[0] + at, right[0]);
    load(b[1] + at, right[1]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load(a[i] + at, left);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        Lanes difference = left - right[j];
        Lanes square = difference * difference;
        sums[i][j] = sums[i][j] + square;
      }
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      out[i][j] = sumOf(sums[i][j]);
}

void data::distancesTo(const float *query, const RowMatrix &base,
                       uint64_t first, std::span<float> out) {
  // The distance is that of either order of its operands.
  const float *queries[2] = {query, query};
  float found[4][2];
  for (uint64_t at = 0; at < out.size(); at += 4) {
    const float *rows[4];
    for (uint64_t i = 0; i < 4; ++i)
      rows[i] = base.row(first + std::min(at + i, out.size() - 1));
    squaredDistances(rows, queries, base.strideOf(), found);
    for (uint64_t i = 0; i < 4 && at + i < out.size(); ++i)
      out[at + i] = found[i][0];
  }
}

//===----------------------------------------------------------------------===//
// Exact search
//===----------------------------------------------------------------------===//

void NearestRows::insert(FoundRow found) {
  for (const RowRange &range : unwanted)
    if (found.row >= range.begin && found.row < range.end)
      return;
  if (best.size() == most)
    best.pop_back();
  best.insert(std::ranges::upper_bound(best, found, std::less<>{}), found);
}

/// Queries [begin, end) and base rows [from, to), four and two at a time.
static void offerBlock(const RowMatrix &queries, uint64_t begin, uint64_t end,
                       const RowMatrix &base, uint64_t from, uint64_t to,
                       uint64_t firstRow, std::span<NearestRows> best) {
  float found[4][2];
  for (uint64_t q = begin; q < end; q += 4) {
    const float *left[4];
    for (uint64_t i = 0; i < 4; ++i)
      left[i] = queries.row(std::min(q + i, end - 1));
    for (uint64_t r = from; r < to; r += 2) {
      const float *right[2] = {base.row(r), base.row(std::min(r + 1, to - 1))};
      squaredDistances(left, right, queries.strideOf(), found);
      for (uint64_t i = 0; i < 4 && q + i < end; ++i)
        for (uint64_t j = 0; j < 2 && r + j < to; ++j)
          best[q + i].offer({found[i][j], firstRow + r + j});
    }
  }
}

void data::offerRows(const RowMatrix &queries, const RowMatrix &base,
                     uint64_t count, uint64_t firstRow,
                     std::span<NearestRows> best, WorkerPool &pool) {
  // What is in the second-level cache: some rows of the base, which stay there
  // for a few dozen queries.
  constexpr uint64_t atOnce = 32;
  auto tasks = int64_t((best.size() + atOnce - 1) / atOnce);
  pool.parallelFor(tasks, 1, [&](int64_t begin, int64_t end, unsigned) {
    uint64_t last = std::min(uint64_t(end) * atOnce, uint64_t(best.size()));
    for (uint64_t q = uint64_t(begin) * atOnce; q < last; q += atOnce)
      for (uint64_t from = 0; from < count; from += atOnce)
        offerBlock(queries, q, std::min(q + atOnce, last), base, from,
                   std::min(from + atOnce, count), firstRow, best);
  });
}

std::vector<uint32_t> data::nearestOf(const RowMatrix &rows, uint64_t count,
                                      const RowMatrix &base, WorkerPool &pool) {
  std::vector<NearestRows> best(count, NearestRows(1, {}));
  offerRows(rows, base, base.rows(), 0, best, pool);
  std::vector<uint32_t> result(count);
  for (uint64_t i = 0; i < count; ++i)
    result[i] = uint32_t(best[i].rows().front().row);
  return result;
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Moves each centre to the mean of its rows, which are added in their order.
/// Returns how many each has.
static std::vector<uint64_t> moveCentres(const RowMatrix &rows,
                                         const std::vector<uint32_t> &of,
                                         RowMatrix &centres, WorkerPool &pool) {
  std::vector<uint64_t> begins(centres.rows() + 1), members(of.size());
  for (uint32_t cluster : of)
    ++begins[cluster + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint64_t> next(begins.begin(), begins.end() - 1);
  for (uint64_t row = 0; row < of.size(); ++row)
    members[next[of[row]]++] = row;
  pool.parallelFor(int64_t(centres.rows()), 1,
                   [&](int64_t from, int64_t to, unsigned) {
                     std::vector<double> sum(rows.columns());
                     for (auto c = uint64_t(from); c < uint64_t(to); ++c) {
                       uint64_t count = begins[c + 1] - begins[c];
                       if (count == 0)
                         continue;
                       std::ranges::fill(sum, 0.0);
                       for (uint64_t m = begins[c]; m < begins[c + 1]; ++m)
                         for (uint64_t i = 0; i < sum.size(); ++i)
                           sum[i] += double(rows.row(members[m])[i]);
                       for (uint64_t i = 0; i < sum.size(); ++i)
                         centres.row(c)[i] = float(sum[i] / double(count));
                     }
                   });
  std::vector<uint64_t> counts(centres.rows());
  for (uint64_t c = 0; c < counts.size(); ++c)
    counts[c] = begins[c + 1] - begins[c];
  return counts;
}

/// Two centres a little to either side of one share its rows from now on.
static void splitLargest(std::vector<uint64_t> &counts, RowMatrix &centres) {
  constexpr float step = 1.0F / 1024;
  for (uint64_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0)
      continue;
    auto largest = uint64_t(std::ranges::max_element(counts) - counts.begin());
    for (uint64_t i = 0; i < centres.columns(); ++i) {
      float value = centres.row(largest)[i], away = i % 2 ? -step : step;
      centres.row(c)[i] = value * (1 + away);
      centres.row(largest)[i] = value * (1 - away);
    }
    counts[c] = counts[largest] / 2;
    counts[largest] -= counts[c];
  }
}

RowMatrix data::clusterRows(const RowMatrix &rows, uint64_t clusters,
                            unsigned iterations, uint32_t seed,
                            WorkerPool &pool) {
  std::vector<uint64_t> order(rows.rows());
  std::iota(order.begin(), order.end(), uint64_t(0));
  // What the standard says of this engine is all that the draw depends on.
  std::mt19937 random(seed);
  for (uint64_t i = 0; i < clusters; ++i) {
    auto left = (unsigned __int128)(order.size() - i);
    uint64_t bits = uint64_t(random()) << 32;
    bits |= random();
    std::swap(order[i], order[i + uint64_t(left * bits >> 64)]);
  }
  RowMatrix centres(clusters, rows.columns());
  for (uint64_t c = 0; c < clusters; ++c)
    std::copy_n(rows.row(order[c]), rows.columns(), centres.row(c));
  for (unsigned i = 0; i < iterations; ++i) {
    std::vector<uint32_t> of = nearestOf(rows, rows.rows(), centres, pool);
    std::vector<uint64_t> counts = moveCentres(rows, of, centres, pool);
    splitLargest(counts, centres);
  }
  return centres;
}
