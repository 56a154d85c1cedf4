//===- AttentionScores.cuh - Softmax over fragments of scores ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What attention does with scores that lie in registers as MMAs leave
/// them: 16 rows a warp, scores[j] the fragment c (Mma.cuh) of columns 8 j ..
/// 8 j + 7. For the MMAs of warps and of warpgroups alike.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ATTENTIONSCORES_CUH
#define HOCKET_KERNELS_CUDA_ATTENTIONSCORES_CUH

#include "kernels/cuda/AttentionTiles.cuh"

namespace hocket::cuda {

/// The rows and columns of a warp's numbers: entry i of fragment j is at row
/// firstRow + 8 * (i / 2), column firstColumn + 8 * j + i % 2.
struct WarpPlace {
  int firstRow, firstColumn;
  HOCKET_MEMBER WarpPlace(int row, int column)
      : firstRow(row + static_cast<int>(threadIdx.x % 32 / 4)),
        firstColumn(column + static_cast<int>(threadIdx.x % 4 * 2)) {}
  HOCKET_MEMBER int row(int i) const { return firstRow + 8 * (i / 2); }
  HOCKET_MEMBER int column(int j, int i) const {
    return firstColumn + 8 * j + i % 2;
  }
};

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Products of queries and keys become their scores' shares of the softcap,
/// where there is one.
template <class Shape, int NTiles>
HOCKET_DEVICE void capScores(float (&scores)[NTiles][4]) {
  if constexpr (isCapped<Shape>())
#pragma unroll
    for (int j = 0; j < NTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[j][i] = tanhNearOne(scores[j][i] * capShare<Shape>());
}

/// The running maximum and sum of a thread's two rows, and what brings sums of
/// before the last step to the maximum after it.
struct SoftmaxRows {
  float greatest[2] = {neutral<Max>(), neutral<Max>()}, sum[2] = {0, 0};
  float before[2];
};

/// Turns scores into exp(score - greatest so far).
template <class Shape, int NTiles>
HOCKET_DEVICE void softmaxStep(float (&scores)[NTiles][4], SoftmaxRows &rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float greatest = rows.greatest[half];
#pragma unroll
    for (int j = 0; j < NTiles; ++j)
      greatest =
          fmaxf(greatest, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, 1));
    greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, 2));
    // A row that has seen no key yet has no maximum to subtract.
    bool empty = greatest == neutral<Max>();
    float shift = empty ? 0.0f : greatest * (scoreScale<Shape>() * kLog2e);
    rows.before[half] =
        empty
            ? 1.0f
            : powerOfTwo(rows.greatest[half] * (scoreScale<Shape>() * kLog2e) - shift);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < NTiles; ++j)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] =
            powerOfTwo(scores[j][i] * (scoreScale<Shape>() * kLog2e) - shift);
        sum += scores[j][i];
      }
    rows.greatest[half] = greatest;
    rows.sum[half] = rows.sum[half] * rows.before[half] + sum;
  }
}

/// Multiplies a thread's numbers by what the two rows have.
template <int NTiles>
HOCKET_DEVICE void scaleRows(float (&numbers)[NTiles][4],
                             const float (&factors)[2]) {
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      numbers[j][i] *= factors[i / 2];
}

/// Ends the softmax of the two rows: the sum of each, and what o is still to be
/// multiplied by.
HOCKET_DEVICE void finishSoftmax(const SoftmaxRows &rows, float (&sums)[2],
                                 float (&factors)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sums[half] = sum;
    factors[half] = sum > 0 ? 1 / sum : 0.0f;
  }
}

/// The same of the two rows from `row` on, whose lse it writes.
template <class Shape>
HOCKET_DEVICE void finishSoftmax(const SoftmaxRows &rows, float (&factors)[2],
                                 float *lse, const Head<Shape> &head, int row) {
  float sums[2];
  finishSoftmax(rows, sums, factors);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    int at = row + static_cast<int>(threadIdx.x % 32 / 4) + 8 * half;
    if (threadIdx.x % 4 == 0 && at < Shape::queries)
      lse[head.statistic() + at] =
          sum > 0 ? rows.greatest[half] * scoreScale<Shape>() + logf(sum)
                  : neutral<Max>();
  }
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// What the queries in a thread's two rows see.
template <class Shape> struct RowsSee {
  SeenKeys<Shape> rows[2];
  HOCKET_MEMBER RowsSee(const AttentionCall &call, int b,
                        const WarpPlace &place)
      : rows{{call, documentOf<Shape>(call, b, place.row(0)), place.row(0)},
             {call, documentOf<Shape>(call, b, place.row(2)), place.row(2)}} {}
};

/// Whether the positions of a tile of as many rows follow each other.
template <class Shape, int Rows> HOCKET_DEVICE constexpr bool areInOrder() {
  return Shape::part % Rows == 0;
}

/// Numbers of keys, in columns, that the query of a row does not see, or that
/// do not exist, become `hidden`.
template <class Shape, int NTiles>
HOCKET_DEVICE void hideKeys(float (&numbers)[NTiles][4], float hidden,
                            const AttentionCall &call,
                            const RowsSee<Shape> &see, const WarpPlace &place) {
  int start = positionOf<Shape>(call.firstKey, place.firstColumn);
  int last = Shape::keys - 1 - place.firstColumn;
  int from[2], to[2]; // Columns that a row sees, from the first on.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    from[half] = see.rows[half].first - start;
    to[half] = see.rows[half].last - start;
    to[half] = to[half] < last ? to[half] : last;
  }
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int column = 8 * j + i % 2;
      bool isSeen = column <= to[i / 2];
      if constexpr (SeenKeys<Shape>::haveFirst)
        isSeen &= column >= from[i / 2];
      if constexpr (!areInOrder<Shape, 8 * NTiles>())
        isSeen = column <= last && see.rows[i / 2].has(positionOf<Shape>(
                                       call.firstKey, place.column(j, i)));
      numbers[j][i] = isSeen ? numbers[j][i] : hidden;
    }
}

/// Numbers of queries, in columns, that do not see the key of a row, or of
/// which one does not exist, become 0. documentOf(j, i) is that of the query of
/// a number.
template <class Shape, int NTiles, class Documents>
HOCKET_DEVICE void hideQueries(float (&numbers)[NTiles][4],
                               const AttentionCall &call,
                               const WarpPlace &place, Documents documentOf) {
  int start = positionOf<Shape>(call.firstQuery, place.firstColumn);
  int last = Shape::queries - 1 - place.firstColumn;
  int keyAt[2], from[2], to[2]; // Columns that see a row, from the first on.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    keyAt[half] = positionOf<Shape>(call.firstKey, place.row(2 * half));
    from[half] = Shape::causal ? keyAt[half] - start : 0, to[half] = last;
    if constexpr (isWindowed<Shape>()) {
      Integer end = Integer(keyAt[half]) - start + Shape::window - 1;
      to[half] = end < last ? static_cast<int>(end) : last;
    }
    to[half] = place.row(2 * half) < Shape::keys ? to[half] : -1;
  }
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int column = 8 * j + i % 2;
      bool doSee = column <= to[i / 2] && column >= from[i / 2];
      if constexpr (!areInOrder<Shape, 8 * NTiles>())
        doSee =
            column <= last && place.row(i) < Shape::keys &&
            sees<Shape>(positionOf<Shape>(call.firstQuery, place.column(j, i)),
                        keyAt[i / 2]);
      if constexpr (Shape::documents)
        doSee &= isOfDocument<Shape>(documentOf(j, i), keyAt[i / 2]);
      numbers[j][i] = doSee ? numbers[j][i] : 0.0f;
    }
}

/// Scores become less by their distances times the slope of the head, where
/// heads have one. Others are in columns.
template <class Shape, bool queriesInRows, int NTiles>
HOCKET_DEVICE void slopeScores(float (&scores)[NTiles][4],
                               const AttentionCall &call,
                               const WarpPlace &place, int head) {
  if constexpr (Shape::alibi) {
    Integer firstOwn = queriesInRows ? call.firstQuery : call.firstKey;
    Integer firstOther = queriesInRows ? call.firstKey : call.firstQuery;
    float slope = slopeOf<Shape>(static_cast<int>(call.firstHead) + head);
    int start = positionOf<Shape>(firstOther, place.firstColumn), rowAt[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      rowAt[half] = positionOf<Shape>(firstOwn, place.row(2 * half));
#pragma unroll
    for (int j = 0; j < NTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int column = start + 8 * j + i % 2;
        if constexpr (!areInOrder<Shape, 8 * NTiles>())
          column = positionOf<Shape>(firstOther, place.column(j, i));
        int distance =
            queriesInRows ? rowAt[i / 2] - column : column - rowAt[i / 2];
        scores[j][i] -= slope * static_cast<float>(distance);
      }
  }
}

/// Dropout's factors of a thread's numbers, a bit each. Four numbers of Philox
/// are as costly as one, so lanes that need numbers of the same blocks compute
/// different ones and hand each other what they need.
template <class Shape, bool queriesInRows, int NTiles> struct KeptScores {
  unsigned bits[(NTiles + 7) / 8];

  HOCKET_MEMBER KeptScores(const AttentionCall &call, const WarpPlace &place,
                           const Head<Shape> &head) {
    if constexpr (Shape::dropoutThreshold > 0) {
      bool shared = keysShareBlocks<Shape>(call);
#pragma unroll
      for (int first = 0; first < NTiles; first += 8)
        bits[first / 8] = shared ? bitsOf<true>(first, call, place, head)
                                 : bitsOf<false>(first, call, place, head);
    }
  }

  HOCKET_MEMBER float factor(int j, int i) const {
    if constexpr (Shape::dropoutThreshold > 0)
      return bits[j / 8] >> (j % 8 * 4 + i) & 1 ? Shape::dropoutScale : 0.0f;
    else
      return 1;
  }
  HOCKET_MEMBER void apply(float (&scores)[NTiles][4]) const {
    if constexpr (Shape::dropoutThreshold > 0)
#pragma unroll
      for (int j = 0; j < NTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          scores[j][i] *= factor(j, i);
  }

private:
  /// Of n-tiles first .. first + 7. In a loop: sixty-four blocks' code would
  /// fill the instruction cache, and the compiler's time.
  template <bool Shared>
  HOCKET_MEMBER static unsigned bitsOf(int first, const AttentionCall &call,
                                       const WarpPlace &place,
                                       const Head<Shape> &head) {
    unsigned result = 0;
#pragma unroll(Shared ? 4 : 1)
    for (int k = 0; k < (NTiles < 8 ? NTiles : 8); ++k) {
      unsigned words[4];
      if constexpr (!Shared)
        findWords(words, first + k, call, place, head);
      else if constexpr (queriesInRows)
        shareByPairs(words, first + k, call, place, head);
      else
        shareByFours(words, first + k, call, place, head);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        result |= unsigned(words[i] >= Shape::dropoutThreshold) << (k * 4 + i);
    }
    return result;
  }

  HOCKET_MEMBER static unsigned long long element(int row, int column,
                                                  const AttentionCall &call,
                                                  const Head<Shape> &head) {
    return elementOf<Shape>(
        call, head.b, head.h,
        positionOf<Shape>(call.firstQuery, queriesInRows ? row : column),
        positionOf<Shape>(call.firstKey, queriesInRows ? column : row));
  }
  HOCKET_MEMBER static RandomKey keyOf(const AttentionCall &call) {
    return {call.seed, call.stream, unsigned(call.step)};
  }

  /// Each number by itself.
  HOCKET_MEMBER static void findWords(unsigned (&words)[4], int j,
                                      const AttentionCall &call,
                                      const WarpPlace &place,
                                      const Head<Shape> &head) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      randomWords<1>(keyOf(call),
                     element(place.row(i), place.column(j, i), call, head),
                     words + i);
  }

  /// Lanes 2 k and 2 k + 1 have two keys each of four, for the same two
  /// queries: each computes the block of one.
  HOCKET_MEMBER static void shareByPairs(unsigned (&words)[4], int j,
                                         const AttentionCall &call,
                                         const WarpPlace &place,
                                         const Head<Shape> &head) {
    bool odd = threadIdx.x % 2 != 0;
    unsigned own[4];
    randomBlock(keyOf(call),
                element(place.row(odd ? 2 : 0),
                        place.column(j, 0) - (odd ? 2 : 0), call, head) /
                    4,
                own);
    unsigned low = __shfl_xor_sync(0xffffffffu, odd ? own[0] : own[2], 1);
    unsigned high = __shfl_xor_sync(0xffffffffu, odd ? own[1] : own[3], 1);
    words[0] = odd ? low : own[0], words[1] = odd ? high : own[1];
    words[2] = odd ? own[2] : low, words[3] = odd ? own[3] : high;
  }

  /// Lanes whose g (Mma.cuh) is 4 k + m, m < 4, have key m of four, for the
  /// same four pairs of keys' and queries' numbers: lane m computes the block
  /// of number m, and words are transposed between them.
  HOCKET_MEMBER static void shareByFours(unsigned (&words)[4], int j,
                                         const AttentionCall &call,
                                         const WarpPlace &place,
                                         const Head<Shape> &head) {
    int m = threadIdx.x / 4 % 4;
    randomBlock(keyOf(call),
                element(place.row(m) - m, place.column(j, m), call, head) / 4,
                words);
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (!(k & bit)) {
          bool upper = (m & bit) != 0;
          unsigned sent = upper ? words[k] : words[k | bit];
          unsigned got = __shfl_xor_sync(0xffffffffu, sent, 4 * bit);
          words[k] = upper ? got : words[k];
          words[k | bit] = upper ? words[k | bit] : got;
        }
  }
};

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Products of queries and keys of a head become probabilities, with
/// lseOf(j, i) of the query of each number.
template <class Shape, bool queriesInRows, int NTiles, class Lse>
HOCKET_DEVICE void findProbabilities(float (&p)[NTiles][4],
                                     const AttentionCall &call,
                                     const WarpPlace &place, int head,
                                     Lse lseOf) {
  capScores<Shape>(p);
  slopeScores<Shape, queriesInRows>(p, call, place, head);
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p[j][i] = powerOfTwo(p[j][i] * (scoreScale<Shape>() * kLog2e) -
                           lseOf(j, i) * kLog2e);
}

/// The derivative of a capped score, found from its probability, as there are
/// no registers to keep the score in. 0 for a probability of 0.
template <class Shape> HOCKET_DEVICE float slopeOfCap(float p, float lse) {
  float score = logarithmOfTwo(p) * (1 / kLog2e) + lse;
  float share = score * (1 / Shape::softcap);
  return fmaxf(1 - share * share, 0.0f);
}

/// do . v in ds becomes ds = p * (mask * dp - delta), times the slope of the
/// softcap, with lseOf(j, i) and deltaOf(j, i) of the query of each number.
template <class Shape, int NTiles, class Kept, class Lse, class Delta>
HOCKET_DEVICE void gradientOfScores(const float (&p)[NTiles][4],
                                    float (&ds)[NTiles][4], const Kept &kept,
                                    Lse lseOf, Delta deltaOf) {
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      ds[j][i] = p[j][i] * (kept.factor(j, i) * ds[j][i] - deltaOf(j, i));
      if constexpr (isCapped<Shape>())
        ds[j][i] *= slopeOfCap<Shape>(p[j][i], lseOf(j, i));
    }
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_ATTENTIONSCORES_CUH
