//===- HopperGemm.cuh - GEMMs of experts by warpgroups ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GroupedLinear.cuh with wgmma. A block has 128 x 128 of a result: one
/// warpgroup fetches steps of both operands through TMA, two multiply them,
/// each with 64 rows. 384 threads a block; after cutGroups,
///
///   hopperGroupedLinear          tiles, blocks(columns)
///   hopperGroupedWeightGradient  experts * blocks(out), blocks(in)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH
#define HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH

#include "kernels/cuda/GroupedLinear.cuh"
#include "kernels/cuda/TensorCopies.cuh"

#ifdef HOCKET_HOPPER

namespace hocket::cuda {

/// c[m, n] = sum over k of a[m, k] b[n, k], a square of it a block, summed in
/// f32 over several ranges of k if need be. A tensor has rows m (n) of k, or,
/// where it is not deep, rows k of m (n); b's may be one of several.
template <class T, bool AIsDeep, bool BIsDeep> class WarpgroupGemm {
public:
  static constexpr int side = kGemmSide, depth = kGroupDepth;
  using Roles = WarpRoles<kGemmWarpgroups>;
  using Ring = TileRing<kGroupStages>;

  /// By every thread, with a ring in shared memory.
  HOCKET_MEMBER WarpgroupGemm(Ring &ring, float *shared)
      : ring(ring), start(alignTiles(shared)) {
    if (threadIdx.x == 0) {
      ring.begin(1, 4 * kGemmWarpgroups);
      fenceBarrierInit();
    }
    __syncthreads();
  }

  /// Of the one thread that fetches: the square's operands from rows firstA of
  /// m and firstB of n on, for k in [firstK, firstK + count).
  template <class... WhichB>
  HOCKET_MEMBER void fetch(const TensorMap &a, const TensorMap &b, int firstA,
                           int firstB, int firstK, int count,
                           WhichB... whichB) {
    for (int k = firstK; k < firstK + count; k += depth, ++step) {
      ring.producerAcquire(step);
      Mbarrier &barrier = ring.barrier(step);
      barrier.expect(kGroupBytes / kGroupStages);
      fetchStep<AIsDeep>(left(step), a, barrier, firstA, k);
      fetchStep<BIsDeep>(right(step), b, barrier, firstB, k, whichB...);
    }
  }

  /// Of threads that multiply: adds the products over as many k. Where operands
  /// have rows of k, those behind are not theirs.
  HOCKET_MEMBER void add(int count) {
    for (int k = 0; k < count; k += depth, ++step) {
      ring.consumerWait(step);
      if constexpr (!AIsDeep)
        if (k + depth > count)
          clearFrom(count - k);
      multiplyStep();
      // The MMAs of this step may run on; those of the last have ended.
      wgmma.template wait<1>();
      if (k > 0)
        ring.consumerRelease(step - 1);
    }
    wgmma.template wait<0>(sums);
    if (count > 0)
      ring.consumerRelease(step - 1);
  }

  /// Calls use(m, n, c of n, c of n + 1) for neighbouring numbers of the
  /// square.
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
  template <bool Deep>
  using TileOf = SwizzledTile<T, Deep ? side : depth, Deep ? depth : side>;
  static_assert(kGroupBytes == 2 * kGroupStages * TileOf<true>::bytes);

  HOCKET_MEMBER char *stage(int i, int operand) const {
    return start + (2 * (i % kGroupStages) + operand) * TileOf<true>::bytes;
  }
  HOCKET_MEMBER TileOf<AIsDeep> left(int i) const { return {stage(i, 0)}; }
  HOCKET_MEMBER TileOf<BIsDeep> right(int i) const { return {stage(i, 1)}; }

  template <bool Deep, class... Which>
  HOCKET_MEMBER static void fetchStep(const TileOf<Deep> &to,
                                      const TensorMap &from, Mbarrier &barrier,
                                      int first, int k, Which... which) {
    if constexpr (Deep)
      copyBox(to.start, from, barrier, k, first, which...);
    else
#pragma unroll
      for (int column = 0; column < side; column += 64)
        copyBox(to.vector(0, column / 8), from, barrier, first + column, k,
                which...);
  }

  /// Rows of k from `row` on become 0 in the present step.
  HOCKET_MEMBER void clearFrom(int row) {
    constexpr int vectors = side / 8;
    auto a = left(step), b = right(step);
    for (int i = row * vectors + threadIdx.x; i < depth * vectors;
         i += 128 * kGemmWarpgroups) {
      using Vector = Pack<unsigned, 4>;
      *static_cast<Vector *>(a.vector(i / vectors, i % vectors)) = Vector();
      *static_cast<Vector *>(b.vector(i / vectors, i % vectors)) = Vector();
    }
    fenceProxyAsync();
    namedBarrierSync(1, 128 * kGemmWarpgroups);
  }

  HOCKET_MEMBER void multiplyStep() {
    auto a = left(step);
    auto b = right(step);
    int row = warpgroup() * 64;
    wgmma.begin();
#pragma unroll
    for (int k = 0; k < depth; k += 16)
      wgmma.template add<T, AIsDeep, BIsDeep, true>(
          sums, AIsDeep ? a.rows(row, k) : a.columns(k, row),
          BIsDeep ? b.rows(0, k) : b.columns(k, 0));
    wgmma.commit();
  }

  Ring &ring;
  char *start;
  int step = 0; ///< Of all ranges.
  Wgmma wgmma;
  float sums[side / 8][4] = {};
};

/// y[rows, columns] of x[rows, depth]: the weights of an expert are [columns,
/// depth], or, for the gradient of inputs, [depth, columns].
///
/// Budget: 168 registers, 24 of 24 registers, 96 of 240 registers; a thread:
/// 1250 instructions, 7 loads, 96 stores.
template <class T, bool Gradient>
HOCKET_DEVICE void hopperGroupedLinear(const TensorMap &x,
                                       const TensorMap &weights, T *y,
                                       const GroupTile *tiles, Integer columns,
                                       Integer depth, float *shared) {
  using Gemm = WarpgroupGemm<T, true, !Gradient>;
  __shared__ typename Gemm::Ring ring;
  if (Integer(blockIdx.x) >= tiles[0].count)
    return;
  GroupTile tile = tiles[1 + blockIdx.x];
  int column = blockIdx.y * Gemm::side;
  int count = tile.expert >= 0 ? static_cast<int>(depth) : 0;
  Gemm gemm(ring, shared);
  if (Gemm::Roles::fetches()) {
    Gemm::Roles::beginToFetch();
    // Rows behind the tile are fetched, too; nobody asks for their results.
    if (Gemm::Roles::isFetcher())
      gemm.fetch(x, weights, tile.first, column, 0, count, tile.expert);
  } else {
    Gemm::Roles::beginToMultiply();
    gemm.add(count);
    storeTile(gemm, y, tile, columns, column);
  }
}

/// dw[experts, out, in] (+)= for each expert the sum over its rows of
/// dy[rows, out] x[rows, in].
///
/// Budget: 168 registers, 24 of 24 registers, 112 of 240 registers; a thread:
/// 3700 instructions, 115 loads, 192 stores, 14 shared.
template <class T>
HOCKET_DEVICE void
hopperGroupedWeightGradient(const TensorMap &dy, const TensorMap &x, float *dw,
                            const GroupShape &shape, Integer out, Integer in,
                            int add, float *shared) {
  using Gemm = WarpgroupGemm<T, false, false>;
  __shared__ typename Gemm::Ring ring;
  Integer blocks = (out + Gemm::side - 1) / Gemm::side;
  Integer expert = quotient(blockIdx.x, blocks);
  int row = static_cast<int>(blockIdx.x - expert * blocks) * Gemm::side;
  int column = blockIdx.y * Gemm::side;
  Gemm gemm(ring, shared);
  if (Gemm::Roles::fetches()) {
    Gemm::Roles::beginToFetch();
    if (Gemm::Roles::isFetcher())
      for (Integer i = 0; i < shape.stretches(); ++i)
        gemm.fetch(dy, x, row, column,
                   static_cast<int>(shape.stretch(expert, i).first),
                   static_cast<int>(shape.stretch(expert, i).count));
  } else {
    Gemm::Roles::beginToMultiply();
    for (Integer i = 0; i < shape.stretches(); ++i)
      gemm.add(static_cast<int>(shape.stretch(expert, i).count));
    storeGradient(gemm, dw, {expert, out, in, row, column}, add);
  }
}

} // namespace hocket::cuda

#endif // HOCKET_HOPPER

#endif // HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH
