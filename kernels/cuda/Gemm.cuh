//===- Gemm.cuh - GEMMs of one block ----------------------------*- C++ -*-===//
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
///   FragmentGemm   128 x 128, bf16 and f16, on tensor cores: eight warps of
///                     64 x 32, fed by asynchronous copies two steps ahead
///   PlainGemm      64 x 64, f32: a thread has 4 x 4
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_GEMM_CUH
#define HOCKET_KERNELS_CUDA_GEMM_CUH

#include "kernels/cuda/Mma.cuh"
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

/// Shared memory in which a few steps of both operands stand, and are copied
/// while earlier ones are multiplied.
template <class T, bool AIsDeep, bool BIsDeep, bool Aligned>
class StagedOperands {
public:
  static constexpr int stages = kGemmStages, depth = kGemmDepth;

  HOCKET_MEMBER explicit StagedOperands(char *start) : start(start) {}

  HOCKET_MEMBER auto left(int stage) const { return tile<AIsDeep>(stage, 0); }
  HOCKET_MEMBER auto right(int stage) const { return tile<BIsDeep>(stage, 1); }

  /// Begins to copy a step, where there is one; a group of copies anyhow.
  HOCKET_MEMBER void copyStep(const Operand<T> &a, const Operand<T> &b,
                              Integer step, Integer steps,
                              Integer count) const {
    if (step < steps) {
      int stage = static_cast<int>(step % stages);
      copyOperand<AIsDeep>(left(stage), a, step * depth, count);
      copyOperand<BIsDeep>(right(stage), b, step * depth, count);
    }
    commitCopies();
  }

private:
  // An operand that is not deep has rows of k.
  template <bool Deep>
  using TileOf =
      Tile<T, Deep ? kGemmSide : depth, Deep ? depth : kGemmSide, kGemmThreads>;

  template <bool Deep>
  HOCKET_MEMBER TileOf<Deep> tile(int stage, int operand) const {
    return {
        reinterpret_cast<T *>(start + (2 * stage + operand) * kOperandBytes)};
  }

  template <bool Deep>
  HOCKET_MEMBER static void copyOperand(const TileOf<Deep> &to,
                                        const Operand<T> &x, Integer k,
                                        Integer count) {
    if constexpr (Deep)
      to.template copy<Aligned>(x.at, x.pitch, x.first, x.rows, k, count);
    else
      to.template copy<Aligned>(x.at, x.pitch, k, count, x.first, x.rows);
  }

  char *start;
};

//===----------------------------------------------------------------------===//
// With tensor cores
//===----------------------------------------------------------------------===//

template <class T, bool AIsDeep, bool BIsDeep, bool Aligned>
class FragmentGemm {
public:
  static constexpr int side = kGemmSide;

  HOCKET_MEMBER explicit FragmentGemm(float *shared)
      : operands(reinterpret_cast<char *>(shared)) {}

  /// Adds the products over k in [0, depth). Every thread must call it.
  HOCKET_MEMBER void add(const Operand<T> &a, const Operand<T> &b,
                         Integer depth) {
    Integer steps = (depth + kGemmDepth - 1) / kGemmDepth;
    __syncthreads(); // What was summed before has been read.
    for (int step = 0; step < kGemmStages - 1; ++step)
      operands.copyStep(a, b, step, steps, depth);
    for (Integer step = 0; step < steps; ++step) {
      waitForCopies<kGemmStages - 2>();
      __syncthreads(); // This step is there; the one before has been read.
      operands.copyStep(a, b, step + kGemmStages - 1, steps, depth);
      multiplyStep(static_cast<int>(step % kGemmStages));
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
    for (int k = 0; k < kGemmDepth; k += 16) {
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

  StagedOperands<T, AIsDeep, BIsDeep, Aligned> operands;
  float sums[4][4][4] = {};
};

//===----------------------------------------------------------------------===//
// Without
//===----------------------------------------------------------------------===//

template <bool AIsDeep, bool BIsDeep> class PlainGemm {
public:
  static constexpr int side = kPlainSide;

  /// Shared memory is its own.
  HOCKET_MEMBER explicit PlainGemm(float *) {}

  HOCKET_MEMBER void add(const Operand<float> &a, const Operand<float> &b,
                         Integer depth) {
    __shared__ float left[kPlainGemmDepth][side + 1];
    __shared__ float right[kPlainGemmDepth][side + 1];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (Integer k = 0; k < depth; k += kPlainGemmDepth) {
      __syncthreads(); // The last step has been read.
      fetch<AIsDeep>(left, a, k, depth);
      fetch<BIsDeep>(right, b, k, depth);
      __syncthreads();
#pragma unroll
      for (int step = 0; step < kPlainGemmDepth; ++step)
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
  HOCKET_MEMBER static void fetch(float (&to)[kPlainGemmDepth][side + 1],
                                  const Operand<float> &x, Integer k,
                                  Integer depth) {
    for (int i = threadIdx.x; i < side * kPlainGemmDepth; i += kGemmThreads) {
      int row = Deep ? i / kPlainGemmDepth : i % side;
      int step = Deep ? i % kPlainGemmDepth : i / side;
      bool exists = x.first + row < x.rows && k + step < depth;
      Integer at = Deep ? (x.first + row) * x.pitch + k + step
                        : (k + step) * x.pitch + x.first + row;
      to[step][row] = exists ? x.at[at] : 0.0f;
    }
  }

  float sums[4][4] = {};
};

/// The GEMM for elements T, in vectors of 16 bytes if they are Aligned.
template <class T, bool AIsDeep, bool BIsDeep, bool Aligned> struct GemmOf {
  using type = FragmentGemm<T, AIsDeep, BIsDeep, Aligned>;
};
template <bool AIsDeep, bool BIsDeep, bool Aligned>
struct GemmOf<float, AIsDeep, BIsDeep, Aligned> {
  using type = PlainGemm<AIsDeep, BIsDeep>;
};

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_GEMM_CUH
