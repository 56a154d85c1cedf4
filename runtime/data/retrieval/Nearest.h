//===- Nearest.h - The rows that are nearest to others ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exact search: of each query the base rows at the least squared Euclidean
/// distance, and of equally near ones those with the lower number. A distance
/// is a sum of squared differences in f32 whose order is fixed: sixteen sums,
/// one for each remainder of the column, which are then added in pairs. So the
/// result is the same, bit for bit, on every processor, with any number of
/// threads and in whatever blocks the rows come.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RETRIEVAL_NEAREST_H
#define HOCKET_RUNTIME_DATA_RETRIEVAL_NEAREST_H

#include "base/WorkerPool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::data {

/// Rows of f32 in memory, each filled up with zeros to whole vectors.
class RowMatrix {
public:
  static constexpr uint64_t lanes = 16;

  RowMatrix() = default;
  RowMatrix(uint64_t rows, uint64_t columns)
      : rowCount(rows), columnCount(columns),
        stride((columns + lanes - 1) / lanes * lanes), values(rows * stride) {}

  uint64_t rows() const { return rowCount; }
  uint64_t columns() const { return columnCount; }
  uint64_t strideOf() const { return stride; }
  float *row(uint64_t r) { return values.data() + r * stride; }
  const float *row(uint64_t r) const { return values.data() + r * stride; }

private:
  uint64_t rowCount = 0, columnCount = 0, stride = 0;
  std::vector<float> values;
};

/// A row that was found.
struct FoundRow {
  float distance = 0; ///< Squared.
  uint64_t row = 0;

  bool operator<(const FoundRow &other) const {
    return distance != other.distance ? distance < other.distance
                                      : row < other.row;
  }
};

/// Rows [begin, end) that a query does not want.
struct RowRange {
  uint64_t begin = 0, end = 0;
};

/// The best rows of one query so far, the nearest first.
class NearestRows {
public:
  /// The `most` nearest rows that are in none of `unwanted`.
  NearestRows(uint64_t most, std::span<const RowRange> unwanted)
      : most(most), unwanted(unwanted) {}

  void offer(FoundRow found) {
    if (best.size() < most || found < best.back())
      insert(found);
  }
  const std::vector<FoundRow> &rows() const { return best; }

private:
  void insert(FoundRow found);

  uint64_t most;
  std::span<const RowRange> unwanted;
  std::vector<FoundRow> best;
};

/// Squared distances of rows a[i], i < 4, to b[j], j < 2: out[i][j]. All have
/// `length` elements, a multiple of RowMatrix::lanes.
void squaredDistances(const float *const (&a)[4], const float *const (&b)[2],
                      uint64_t length, float (&out)[4][2]);

/// The distances of `query` to rows [first, first + out.size()) of `base`.
void distancesTo(const float *query, const RowMatrix &base, uint64_t first,
                 std::span<float> out);

/// Offers rows [0, count) of `base` to the queries, as rows from `firstRow` on.
/// best[q] is of row q of `queries`.
void offerRows(const RowMatrix &queries, const RowMatrix &base, uint64_t count,
               uint64_t firstRow, std::span<NearestRows> best,
               WorkerPool &pool);

/// Of each of the first `count` rows of `rows`, which row of `base` is nearest.
std::vector<uint32_t> nearestOf(const RowMatrix &rows, uint64_t count,
                                const RowMatrix &base, WorkerPool &pool);

/// Lloyd's algorithm: `clusters` centres of `rows`, of which there are at least
/// as many. It begins with rows that std::mt19937(seed) draws. A cluster that
/// has lost its rows takes half of the largest.
RowMatrix clusterRows(const RowMatrix &rows, uint64_t clusters,
                      unsigned iterations, uint32_t seed, WorkerPool &pool);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RETRIEVAL_NEAREST_H
