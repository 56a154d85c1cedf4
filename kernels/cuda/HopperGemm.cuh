//===- HopperGemm.cuh - GEMMs of experts by warpgroups ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GroupedLinear.cuh with wgmma. One warpgroup of a block fetches steps of both
/// operands through TMA, two multiply them, each with 64 rows of a rectangle of
/// 128 x 256 results. Blocks stay, and take rectangles by turns: while one is
/// multiplied, the next one's operands come, and the results of the one before
/// are stored. 384 threads a block, as many blocks as there are
/// multiprocessors; after cutGroups,
///
///   hopperGroupedLinear          of tiles, blocks(columns)
///   hopperGroupedWeightGradient  of experts, blocks(out), blocks(in)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH
#define HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH

#include "kernels/cuda/GroupedLinear.cuh"
#include "kernels/cuda/TensorCopies.cuh"

#ifdef HOCKET_HOPPER

namespace hocket::cuda {

/// Rectangles, numbered so that those which blocks have at a time share
/// operands: by bands of some rows, down the columns of each.
struct BandedOrder {
  int rows, columns;

  HOCKET_MEMBER int count() const { return rows * columns; }
  struct Place {
    int row, column;
  };
  HOCKET_MEMBER Place at(int i) const {
    int band = i / (kGroupBand * columns), rest = i % (kGroupBand * columns);
    int first = band * kGroupBand;
    int height = rows - first < kGroupBand ? rows - first : kGroupBand;
    return {first + rest % height, rest / height};
  }
};

/// c[m, n] = sum over k of a[m, k] b[n, k], rectangles of it a block, summed in
/// f32 over several ranges of k if need be. A tensor has rows m (n) of k, or,
/// where it is not deep, rows k of m (n); b's may be one of several.
template <class T, bool AIsDeep, bool BIsDeep> class WarpgroupGemm {
public:
  static constexpr int rows = kGemmSide, columns = kGroupColumns;
  static constexpr int depth = kGroupDepth;
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

  /// Of the one thread that fetches: a rectangle's operands from rows firstA of
  /// m and firstB of n on, for k in [firstK, firstK + count).
  template <class... WhichB>
  HOCKET_MEMBER void fetch(const TensorMap &a, const TensorMap &b, int firstA,
                           int firstB, int firstK, int count,
                           WhichB... whichB) {
    for (int k = firstK; k < firstK + count; k += depth, ++step) {
      ring.producerAcquire(step);
      Mbarrier &barrier = ring.barrier(step);
      barrier.expect(kGroupStageBytes);
      fetchStep<AIsDeep>(left(step), a, barrier, firstA, k);
      fetchStep<BIsDeep>(right(step), b, barrier, firstB, k, whichB...);
    }
  }

  /// Of threads that multiply: begins a rectangle.
  HOCKET_MEMBER void begin() {
#pragma unroll
    for (int j = 0; j < columns / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[j][i] = 0;
  }

  /// Adds the products over as many k. Where operands have rows of k, those
  /// behind are not theirs. Calls meanwhile(0), .., meanwhile(Pieces - 1) while
  /// MMAs run, or behind them.
  template <int Pieces = 0, class Meanwhile = int>
  HOCKET_MEMBER void add(int count, Meanwhile meanwhile = {}) {
#pragma unroll
    for (int piece = 0; piece < Pieces; ++piece) {
      if (piece * depth < count)
        multiplyNext(piece > 0, count - piece * depth);
      if constexpr (Pieces > 0)
        meanwhile(piece);
    }
    for (int k = Pieces * depth; k < count; k += depth)
      multiplyNext(k > 0, count - k);
    wgmma.template wait<0>(sums);
    if (count > 0)
      ring.consumerRelease(step - 1);
  }

  /// Calls use(m, n, c of n, c of n + 1) for neighbouring numbers of the
  /// rectangle, in this order.
  template <class Use> HOCKET_MEMBER void forEachPair(Use use) const {
#pragma unroll
    for (int i = 0; i < columns / 4; ++i)
      use(rowOf(i), columnOf(i), sums[i / 2][i % 2 * 2],
          sums[i / 2][i % 2 * 2 + 1]);
  }

  /// The same, with what get(m, n) has for them, a Pack<float, 2>: Ahead of
  /// them are gotten before the first is used.
  template <int Ahead, class Get, class Use>
  HOCKET_MEMBER void forEachPair(Get get, Use use) const {
    Pack<float, 2> gotten[2 * Ahead];
    auto getSome = [&](int first) {
#pragma unroll
      for (int i = first; i < first + Ahead && i < columns / 4; ++i)
        gotten[i % (2 * Ahead)] = get(rowOf(i), columnOf(i));
    };
    getSome(0);
#pragma unroll
    for (int first = 0; first < columns / 4; first += Ahead) {
      getSome(first + Ahead);
#pragma unroll
      for (int i = first; i < first + Ahead; ++i)
        use(rowOf(i), columnOf(i), sums[i / 2][i % 2 * 2],
            sums[i / 2][i % 2 * 2 + 1], gotten[i % (2 * Ahead)]);
    }
  }

  /// Shared memory behind the ring's, for the warp's 16 rows, 32 columns.
  HOCKET_MEMBER char *ownPiece() const {
    return start + kGroupBytes + threadIdx.x / 32 * kGroupPieceBytes;
  }

private:
  /// Of the thread's i-th pair.
  HOCKET_MEMBER static int rowOf(int i) {
    return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
  }
  HOCKET_MEMBER static int columnOf(int i) {
    return i / 2 * 8 + static_cast<int>(threadIdx.x % 4) * 2;
  }

  template <int Rows, bool Deep>
  using TileOf = SwizzledTile<T, Deep ? Rows : depth, Deep ? depth : Rows>;
  using Left = TileOf<rows, AIsDeep>;
  using Right = TileOf<columns, BIsDeep>;
  static_assert(kGroupStageBytes == Left::bytes + Right::bytes);

  HOCKET_MEMBER char *stage(int i) const {
    return start + i % kGroupStages * kGroupStageBytes;
  }
  HOCKET_MEMBER Left left(int i) const { return {stage(i)}; }
  HOCKET_MEMBER Right right(int i) const { return {stage(i) + Left::bytes}; }

  /// In boxes of 64 columns and, of a deep operand, kGemmSide rows.
  template <bool Deep, int Rows, int Columns, class... Which>
  HOCKET_MEMBER static void fetchStep(const SwizzledTile<T, Rows, Columns> &to,
                                      const TensorMap &from, Mbarrier &barrier,
                                      int first, int k, Which... which) {
    if constexpr (Deep)
#pragma unroll
      for (int row = 0; row < Rows; row += kGemmSide)
        copyBox(to.vector(row, 0), from, barrier, k, first + row, which...);
    else
#pragma unroll
      for (int column = 0; column < Columns; column += 64)
        copyBox(to.vector(0, column / 8), from, barrier, first + column, k,
                which...);
  }

  /// A step, of `rest` k at most; MMAs of one before it may be under way.
  HOCKET_MEMBER void multiplyNext(bool isBehindOthers, int rest) {
    ring.consumerWait(step);
    if constexpr (!AIsDeep)
      if (rest < depth)
        clearFrom(rest);
    multiplyStep();
    // The MMAs of this step may run on; those of the last have ended.
    wgmma.template wait<1>();
    if (isBehindOthers)
      ring.consumerRelease(step - 1);
    ++step;
  }

  /// Rows of k from `row` on become 0 in the present step. Each group clears
  /// them before it reads them, whether or not another one has.
  HOCKET_MEMBER void clearFrom(int row) {
    clearRows(left(step), row);
    clearRows(right(step), row);
    fenceProxyAsync();
    namedBarrierSync(1 + warpgroup(), 128);
  }
  template <int Rows, int Columns>
  HOCKET_MEMBER static void clearRows(const SwizzledTile<T, Rows, Columns> &of,
                                      int row) {
    constexpr int vectors = Columns / 8;
    for (int i = row * vectors + threadIdx.x % 128; i < depth * vectors;
         i += 128)
      *static_cast<Pack<unsigned, 4> *>(of.vector(i / vectors, i % vectors)) =
          Pack<unsigned, 4>();
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
  int step = 0; ///< Of all ranges of all rectangles.
  Wgmma wgmma;
  float sums[columns / 8][4];
};

/// The results of a rectangle in registers, which are stored while the next one
/// is multiplied. Of a thread of warp w, with g = lane / 4 and t = lane % 4, in
/// piece p: rows 16 w + g and 8 behind it, columns 32 p + 8 j + 2t and the
/// next.
template <class T> class LateStores {
public:
  static constexpr int pieces = kGroupColumns / 32;

  /// With what a warp has of shared memory.
  HOCKET_MEMBER explicit LateStores(char *own)
      : own(reinterpret_cast<unsigned *>(own)) {}

  /// Takes the results over; they belong to rows of `tile`, from `column` on.
  template <class Gemm>
  HOCKET_MEMBER void take(const Gemm &gemm, const GroupTile &of, int column) {
    int i = 0;
    gemm.forEachPair([&](int, int, float low, float high) {
      pairs[i / 8][i / 2 % 4][i % 2] = packPair<T>(low, high);
      ++i;
    });
    first = of.first, count = of.count, left = column;
  }

  /// Stores a piece into y[.., columns], of which every row begins at a
  /// multiple of 16 bytes.
  HOCKET_MEMBER void store(int piece, T *y, Integer columns) const {
    if (count == 0)
      return;
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        own[word(lane / 4 + 8 * half, j) + lane % 4] = pairs[piece][j][half];
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int inWarp = lane / 4 + 8 * half;
      Integer row = threadIdx.x / 32 * 16 + inWarp;
      Integer column = left + 32 * piece + lane % 4 * 8;
      if (row < count && column < columns)
        storeWhole(y + (first + row) * columns + column,
                   *reinterpret_cast<const Pack<T, 8> *>(
                       own + word(inWarp, lane % 4)));
    }
    __syncwarp();
  }

private:
  /// Of 16 rows of four vectors of 16 bytes, so that eight rows of a column of
  /// vectors lie in different banks.
  HOCKET_MEMBER static int word(int row, int vector) {
    return row * 16 + ((vector ^ row / 2) & 3) * 4;
  }

  unsigned *own;
  unsigned pairs[pieces][4][2];
  Integer first = 0, left = 0;
  int count = 0; ///< No rows: there is nothing to store.
};

/// y[rows, columns] of x[rows, depth]: the weights of an expert are [columns,
/// depth], or, for the gradient of inputs, [depth, columns].
///
/// Budget: 168 registers, 24 of 24 registers, 216 of 240 registers; a thread:
/// 2500 instructions, 11 loads, 32 stores, 256 shared.
template <class T, bool Gradient>
HOCKET_DEVICE void hopperGroupedLinear(const TensorMap &x,
                                       const TensorMap &weights, T *y,
                                       const GroupTile *tiles, Integer columns,
                                       Integer depth, float *shared) {
  using Gemm = WarpgroupGemm<T, true, !Gradient>;
  using Stores = LateStores<T>;
  __shared__ typename Gemm::Ring ring;
  BandedOrder places = {
      tiles[0].count,
      static_cast<int>((columns + Gemm::columns - 1) / Gemm::columns)};
  int count = places.count(), stride = gridDim.x;
  Gemm gemm(ring, shared);
  auto tileOf = [&](BandedOrder::Place place) { return tiles[1 + place.row]; };
  auto depthOf = [&](const GroupTile &tile) {
    return tile.expert >= 0 ? static_cast<int>(depth) : 0;
  };
  if (Gemm::Roles::fetches()) {
    Gemm::Roles::beginToFetch();
    // Rows behind a tile are fetched, too; nobody asks for their results.
    if (Gemm::Roles::isFetcher())
      for (int i = blockIdx.x; i < count; i += stride) {
        BandedOrder::Place place = places.at(i);
        GroupTile tile = tileOf(place);
        gemm.fetch(x, weights, tile.first, place.column * Gemm::columns, 0,
                   depthOf(tile), tile.expert);
      }
  } else {
    Gemm::Roles::beginToMultiply();
    Stores stores(gemm.ownPiece());
    for (int i = blockIdx.x; i < count; i += stride) {
      BandedOrder::Place place = places.at(i);
      GroupTile tile = tileOf(place);
      gemm.begin();
      gemm.template add<Stores::pieces>(
          depthOf(tile), [&](int piece) { stores.store(piece, y, columns); });
      stores.take(gemm, tile, place.column * Gemm::columns);
    }
#pragma unroll
    for (int piece = 0; piece < Stores::pieces; ++piece)
      stores.store(piece, y, columns);
  }
}

/// dw[experts, out, in] (+)= for each expert the sum over its rows of
/// dy[rows, out] x[rows, in].
///
/// Budget: 168 registers, 24 of 24 registers, 208 of 240 registers; a thread:
/// 5500 instructions, 214 loads, 192 stores, 14 shared.
template <class T>
HOCKET_DEVICE void
hopperGroupedWeightGradient(const TensorMap &dy, const TensorMap &x, float *dw,
                            const GroupShape &shape, Integer out, Integer in,
                            int add, float *shared) {
  using Gemm = WarpgroupGemm<T, false, false>;
  __shared__ typename Gemm::Ring ring;
  BandedOrder places = {
      static_cast<int>((out + Gemm::rows - 1) / Gemm::rows),
      static_cast<int>((in + Gemm::columns - 1) / Gemm::columns)};
  int count = static_cast<int>(shape.experts) * places.count();
  int stride = gridDim.x;
  Gemm gemm(ring, shared);
  if (Gemm::Roles::fetches()) {
    Gemm::Roles::beginToFetch();
    if (Gemm::Roles::isFetcher())
      for (int i = blockIdx.x; i < count; i += stride) {
        int expert = i / places.count();
        BandedOrder::Place place = places.at(i - expert * places.count());
        for (Integer j = 0; j < shape.stretches(); ++j)
          gemm.fetch(dy, x, place.row * Gemm::rows,
                     place.column * Gemm::columns,
                     static_cast<int>(shape.stretch(expert, j).first),
                     static_cast<int>(shape.stretch(expert, j).count));
      }
  } else {
    Gemm::Roles::beginToMultiply();
    for (int i = blockIdx.x; i < count; i += stride) {
      int expert = i / places.count();
      BandedOrder::Place place = places.at(i - expert * places.count());
      float *corner = dw + (expert * out + place.row * Gemm::rows) * in +
                      place.column * Gemm::columns;
      // What exists of a pair of the rectangle's.
      auto left = [&](int m, int n) {
        return place.row * Gemm::rows + m < out
                   ? in - place.column * Gemm::columns - n
                   : Integer(0);
      };
      gemm.begin();
      for (Integer j = 0; j < shape.stretches(); ++j)
        gemm.add(static_cast<int>(shape.stretch(expert, j).count));
      gemm.template forEachPair<16>(
          [&](int m, int n) {
            return load<2>(corner + m * in + n, add ? left(m, n) : Integer(0));
          },
          [&](int m, int n, float low, float high, Pack<float, 2> sum) {
            sum.at[0] += low, sum.at[1] += high;
            store(corner + m * in + n, sum, left(m, n));
          });
    }
  }
}

} // namespace hocket::cuda

#endif // HOCKET_HOPPER

#endif // HOCKET_KERNELS_CUDA_HOPPERGEMM_CUH
