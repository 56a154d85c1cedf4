//===- Tiles.cuh - Blocks of matrices in shared memory ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile is a block of a matrix of two-byte elements in shared memory, from
/// which warps load fragments. Each row is padded by 16 bytes, so that the
/// eight rows of a load lie in different banks.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_TILES_CUH
#define HOCKET_KERNELS_CUDA_TILES_CUH

#include "kernels/cuda/Mma.cuh"

namespace hocket::cuda {

/// Copied by `Threads` threads together.
template <class T, int Rows, int Columns, int Threads> struct Tile {
  static constexpr int stride = Columns + kTilePadding / 2;
  static constexpr int bytes = Rows * stride * 2;

  T *rows;

  HOCKET_MEMBER T *at(int row, int column) const {
    return rows + row * stride + column;
  }

  /// Begins to copy the tile whose first element is at (row, column) of a
  /// matrix at `from` with rows `pitch` elements apart; what is not among its
  /// first rowCount rows and columnCount columns becomes 0. Aligned: all three
  /// of the matrix' address, pitch and columnCount are multiples of 8 elements;
  /// else elements are copied one by one, at once.
  template <bool Aligned>
  HOCKET_MEMBER void copy(const T *from, Integer pitch, Integer row,
                          Integer rowCount, Integer column,
                          Integer columnCount) const {
    constexpr int width = Aligned ? 8 : 1, vectors = Columns / width;
    auto copyVector = [&](int vector) {
      int r = vector / vectors, c = vector % vectors * width;
      bool exists = row + r < rowCount && column + c < columnCount;
      const T *source =
          from + (exists ? (row + r) * pitch + column + c : Integer(0));
      if constexpr (Aligned)
        copyLater(at(r, c), source, exists);
      else
        *at(r, c) = exists ? *source : T();
    };
    constexpr int rounds = Rows * vectors / Threads;
    static_assert(Rows * vectors % Threads == 0);
    if constexpr (Aligned) {
#pragma unroll
      for (int i = 0; i < rounds; ++i)
        copyVector(i * Threads + threadIdx.x);
    } else {
      for (int i = 0; i < rounds; ++i)
        copyVector(i * Threads + threadIdx.x);
    }
  }

  /// The fragment a of rows row .. row + 15, columns column .. column + 15.
  HOCKET_MEMBER void fragment(unsigned (&a)[4], int row, int column) const {
    int lane = threadIdx.x % 32;
    loadMatrices(a, at(row + lane % 16, column + lane / 16 * 8));
  }
  /// The same of the transposed tile.
  HOCKET_MEMBER void fragmentOfColumns(unsigned (&a)[4], int row,
                                       int column) const {
    int lane = threadIdx.x % 32;
    loadTransposed(
        a, at(column + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8));
  }
  /// Two fragments of b, with rows of the tile as columns: b[0], b[1] of rows
  /// row .. row + 7, b[2], b[3] of the eight after them.
  HOCKET_MEMBER void rowsAsColumns(unsigned (&b)[4], int row,
                                   int column) const {
    int lane = threadIdx.x % 32;
    loadMatrices(b,
                 at(row + lane % 8 + lane / 16 * 8, column + lane / 8 % 2 * 8));
  }
  /// Two fragments of b, with rows of the tile as rows: b[0], b[1] of columns
  /// column .. column + 7, b[2], b[3] of the eight after them.
  HOCKET_MEMBER void rowsAsRows(unsigned (&b)[4], int row, int column) const {
    int lane = threadIdx.x % 32;
    loadTransposed(
        b, at(row + lane % 8 + lane / 8 % 2 * 8, column + lane / 16 * 8));
  }
};

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_TILES_CUH
