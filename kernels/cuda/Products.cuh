//===- Products.cuh - Matrix products of one block --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// c[m, n] = sum over k of a[m, k] b[n, k], a square of it a block of 256
/// threads, summed in f32 over several ranges of k if need be. An operand lies
/// in memory row by row, either with rows m (n) of k, or with rows k of m (n):
///
///   FragmentProduct   128 x 128, bf16 and f16, on tensor cores: eight warps of
///                     64 x 32, fed by asynchronous copies two steps ahead
///   GroupProduct      the same on Hopper: two warp groups of 64 x 128, whose
///                     products run while the next ones are copied
///   PlainProduct      64 x 64, f32: a thread has 4 x 4
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_PRODUCTS_CUH
#define HOCKET_KERNELS_CUDA_PRODUCTS_CUH

#include "kernels/cuda/Hopper.cuh"
#include "kernels/cuda/Tiles.cuh"

namespace hocket::cuda {

/// A matrix of `rows` rows of m and `depth` of k; elements (i, k) are at
/// at[i * pitch + k], or, with rows of k, at[k * pitch + i]. The block's square
/// begins at row `first`.
template <class T> struct Operand {
  const T *at;
  Integer pitch, rows, first;
};

//===----------------------------------------------------------------------===//
// Steps of operands
//===----------------------------------------------------------------------===//

/// Steps as FragmentProduct's warps read them.
template <class T, bool Aligned> struct FragmentSteps {
  static constexpr int stages = kProductStages, depth = kProductDepth;
  static constexpr int operandBytes = kOperandBytes;
  /// Of the tiles' copy().
  static constexpr bool way = Aligned;
  using Pointer = T *; ///< The tiles'.

  // An operand that is not deep has rows of k.
  template <bool Deep>
  using TileOf = Tile<T, Deep ? kProductSide : depth,
                      Deep ? depth : kProductSide, kProductThreads>;
};

#ifdef HOCKET_HOPPER
/// As GroupProduct's warp groups do.
template <class T> struct GroupSteps {
  static constexpr int stages = kGroupStages, depth = kGroupDepth;
  static constexpr int operandBytes = kGroupBytes / (2 * kGroupStages);
  static constexpr int way = kProductThreads;
  using Pointer = char *;

  template <bool Deep>
  using TileOf =
      PanelTile<T, Deep ? kProductSide : depth, Deep ? depth : kProductSide>;
};
#endif

/// Shared memory in which a few steps of both operands stand, and are copied
/// while earlier ones are multiplied.
template <class T, class Steps, bool AIsDeep, bool BIsDeep>
class StagedOperands {
public:
  HOCKET_MEMBER explicit StagedOperands(char *start) : start(start) {}

  HOCKET_MEMBER auto left(int stage) const { return tile<AIsDeep>(stage, 0); }
  HOCKET_MEMBER auto right(int stage) const { return tile<BIsDeep>(stage, 1); }

  /// Begins to copy a step, where there is one; a group of copies anyhow.
  HOCKET_MEMBER void copyStep(const Operand<T> &a, const Operand<T> &b,
                              Integer step, Integer steps,
                              Integer depth) const {
    if (step < steps) {
      int stage = static_cast<int>(step % Steps::stages);
      copyOperand<AIsDeep>(left(stage), a, step * Steps::depth, depth);
      copyOperand<BIsDeep>(right(stage), b, step * Steps::depth, depth);
    }
    commitCopies();
  }

private:
  template <bool Deep> using TileOf = typename Steps::template TileOf<Deep>;

  template <bool Deep>
  HOCKET_MEMBER TileOf<Deep> tile(int stage, int operand) const {
    return {reinterpret_cast<typename Steps::Pointer>(
        start + (2 * stage + operand) * Steps::operandBytes)};
  }

  template <bool Deep>
  HOCKET_MEMBER static void copyOperand(const TileOf<Deep> &to,
                                        const Operand<T> &x, Integer k,
                                        Integer depth) {
    if constexpr (Deep)
      to.template copy<Steps::way>(x.at, x.pitch, x.first, x.rows, k, depth);
    else
      to.template copy<Steps::way>(x.at, x.pitch, k, depth, x.first, x.rows);
  }

  char *start;
};

//===----------------------------------------------------------------------===//
// With tensor cores
//===----------------------------------------------------------------------===//

template <class T, bool AIsDeep, bool BIsDeep, bool Aligned>
class FragmentProduct {
public:
  static constexpr int side = kProductSide;

  HOCKET_MEMBER explicit FragmentProduct(float *shared)
      : operands(reinterpret_cast<char *>(shared)) {}

  /// Adds the products over k in [0, depth). Every thread must call it.
  HOCKET_MEMBER void add(const Operand<T> &a, const Operand<T> &b,
                         Integer depth) {
    Integer steps = (depth + kProductDepth - 1) / kProductDepth;
    __syncthreads(); // What was summed before has been read.
    for (int step = 0; step < kProductStages - 1; ++step)
      operands.copyStep(a, b, step, steps, depth);
    for (Integer step = 0; step < steps; ++step) {
      waitForCopies<kProductStages - 2>();
      __syncthreads(); // This step is there; the one before has been read.
      operands.copyStep(a, b, step + kProductStages - 1, steps, depth);
      multiplyStep(static_cast<int>(step % kProductStages));
    }
    waitForCopies<0>();
  }

  /// Calls use(m, n, c of n, c of n + 1) for neighbouring numbers of the
  /// square.
  template <class Use> HOCKET_MEMBER void forEachPair(Use use) const {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          use(warpRow() + 16 * i + lane / 4 + 8 * half,
              warpColumn() + 8 * j + lane % 4 * 2, sums[i][j][2 * half],
              sums[i][j][2 * half + 1]);
  }

private:
  HOCKET_MEMBER void multiplyStep(int stage) {
    auto a = operands.left(stage);
    auto b = operands.right(stage);
#pragma unroll
    for (int k = 0; k < kProductDepth; k += 16) {
      unsigned left[4][4], right[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if constexpr (AIsDeep)
          a.fragment(left[i], warpRow() + 16 * i, k);
        else
          a.fragmentOfColumns(left[i], warpRow() + 16 * i, k);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if constexpr (BIsDeep)
          b.rowsAsColumns(right[j], warpColumn() + 16 * j, k);
        else
          b.rowsAsRows(right[j], k, warpColumn() + 16 * j);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          multiplyAdd<T>(sums[i][j], left[i], right[j / 2][j % 2 * 2],
                         right[j / 2][j % 2 * 2 + 1]);
    }
  }

  HOCKET_MEMBER int warpRow() const { return threadIdx.x / 128 * 64; }
  HOCKET_MEMBER int warpColumn() const { return threadIdx.x / 32 % 4 * 32; }

  StagedOperands<T, FragmentSteps<T, Aligned>, AIsDeep, BIsDeep> operands;
  float sums[4][4][4] = {};
};

//===----------------------------------------------------------------------===//
// By warp groups
//===----------------------------------------------------------------------===//

#ifdef HOCKET_HOPPER

/// Columns, pitches and depths of operands are multiples of 8.
template <class T, bool AIsDeep, bool BIsDeep> class GroupProduct {
public:
  static constexpr int side = kProductSide;

  HOCKET_MEMBER explicit GroupProduct(float *shared)
      : operands(alignPanels(shared)) {}

  /// Adds the products over k in [0, depth). Every thread must call it.
  HOCKET_MEMBER void add(const Operand<T> &a, const Operand<T> &b,
                         Integer depth) {
    Integer steps = (depth + kGroupDepth - 1) / kGroupDepth;
    __syncthreads(); // What was summed before has been read.
    operands.copyStep(a, b, 0, steps, depth);
    operands.copyStep(a, b, 1, steps, depth);
    for (Integer step = 0; step < steps; ++step) {
      // The products of the last step may run on, of the one before it not:
      // what they read is written next.
      products.template wait<1>();
      waitForCopies<1>();
      showCopiesToProducts();
      __syncthreads();
      operands.copyStep(a, b, step + 2, steps, depth);
      multiplyStep(static_cast<int>(step % kGroupStages));
    }
    products.template wait<0>(sums);
    waitForCopies<0>();
  }

  /// As FragmentProduct's.
  template <class Use> HOCKET_MEMBER void forEachPair(Use use) const {
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < side / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        use(row + 8 * half, 8 * j + static_cast<int>(threadIdx.x % 4) * 2,
            sums[j][2 * half], sums[j][2 * half + 1]);
  }

private:
  HOCKET_MEMBER void multiplyStep(int stage) {
    auto a = operands.left(stage);
    auto b = operands.right(stage);
    int row = threadIdx.x / 128 * 64;
    products.begin();
#pragma unroll
    for (int k = 0; k < kGroupDepth; k += 16)
      products.template add<T, AIsDeep, BIsDeep, true>(
          sums, AIsDeep ? a.rows(row, k) : a.columns(k, row),
          BIsDeep ? b.rows(0, k) : b.columns(k, 0));
    products.commit();
  }

  StagedOperands<T, GroupSteps<T>, AIsDeep, BIsDeep> operands;
  GroupProducts products;
  float sums[side / 8][4] = {};
};

#endif // HOCKET_HOPPER

//===----------------------------------------------------------------------===//
// Without
//===----------------------------------------------------------------------===//

template <bool AIsDeep, bool BIsDeep> class PlainProduct {
public:
  static constexpr int side = kPlainSide;

  /// Shared memory is its own.
  HOCKET_MEMBER explicit PlainProduct(float *) {}

  HOCKET_MEMBER void add(const Operand<float> &a, const Operand<float> &b,
                         Integer depth) {
    __shared__ float left[kPlainProductDepth][side + 1];
    __shared__ float right[kPlainProductDepth][side + 1];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (Integer k = 0; k < depth; k += kPlainProductDepth) {
      __syncthreads(); // The last step has been read.
      fetch<AIsDeep>(left, a, k, depth);
      fetch<BIsDeep>(right, b, k, depth);
      __syncthreads();
#pragma unroll
      for (int step = 0; step < kPlainProductDepth; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j)
            sums[i][j] += left[step][y + 16 * i] *
                          right[step][2 * x + j % 2 + j / 2 * 32];
    }
  }

  template <class Use> HOCKET_MEMBER void forEachPair(Use use) const {
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; j += 2)
        use(y + 16 * i, 2 * x + j / 2 * 32, sums[i][j], sums[i][j + 1]);
  }

private:
  template <bool Deep>
  HOCKET_MEMBER static void fetch(float (&to)[kPlainProductDepth][side + 1],
                                  const Operand<float> &x, Integer k,
                                  Integer depth) {
    for (int i = threadIdx.x; i < side * kPlainProductDepth;
         i += kProductThreads) {
      int row = Deep ? i / kPlainProductDepth : i % side;
      int step = Deep ? i % kPlainProductDepth : i / side;
      bool exists = x.first + row < x.rows && k + step < depth;
      Integer at = Deep ? (x.first + row) * x.pitch + k + step
                        : (k + step) * x.pitch + x.first + row;
      to[step][row] = exists ? x.at[at] : 0.0f;
    }
  }

  float sums[4][4] = {};
};

/// Where operands come from: element by element, or in pieces of 16 bytes, for
/// warps or for warp groups.
enum class Feed { Elements, Pieces, Panels };

/// The product for elements T.
template <class T, bool AIsDeep, bool BIsDeep, Feed Way> struct ProductOf {
  using type = FragmentProduct<T, AIsDeep, BIsDeep, Way == Feed::Pieces>;
};
template <bool AIsDeep, bool BIsDeep, Feed Way>
struct ProductOf<float, AIsDeep, BIsDeep, Way> {
  using type = PlainProduct<AIsDeep, BIsDeep>;
};
#ifdef HOCKET_HOPPER
template <class T, bool AIsDeep, bool BIsDeep>
struct ProductOf<T, AIsDeep, BIsDeep, Feed::Panels> {
  using type = GroupProduct<T, AIsDeep, BIsDeep>;
};
#endif

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_PRODUCTS_CUH
