//===- AttentionTiles.cuh - Tiles of queries against tiles of keys *- C++ -===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What attention's kernels share. On tensor cores everything moves in tiles of
/// 64 rows (of queries or of keys) of one head. A block has four warps; a warp
/// has 16 rows of one tile against all 64 of the other.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ATTENTIONTILES_CUH
#define HOCKET_KERNELS_CUDA_ATTENTIONTILES_CUH

#include "kernels/cuda/Random.cuh"
#include "kernels/cuda/Tiles.cuh"

namespace hocket::cuda {

/// The numbers of a call that are known when it is made, in the order of
/// kernels/cpu/Library.h.
struct AttentionCall {
  Integer seed, step, elementBase;
  Integer firstQuery, firstKey, firstSequence, firstHead;
  unsigned stream; ///< of random numbers
  /// Where documents share sequences, [batch, queries]: how far each query is
  /// behind the beginning of its own.
  const int *positions;
};

/// Whether a shard may start there.
HOCKET_DEVICE bool isPlace(Integer first) {
  return first >= 0 && first <= 0x7fffffff;
}

/// The numbers of a call, of whose keys those `behind` rows before are meant,
/// around the end of the sequence. A fault where a shard starts nowhere.
HOCKET_DEVICE AttentionCall placeCall(AttentionCall call, Integer stream,
                                      Integer behind, Integer sequence,
                                      const int *positions, unsigned *fault) {
  call.stream = static_cast<unsigned>(stream);
  call.positions = positions;
  if (!isPlace(call.firstQuery) || !isPlace(call.firstKey) ||
      !isPlace(call.firstSequence) || !isPlace(call.firstHead))
    report(fault, Fault::Place);
  else if (behind > 0 && call.firstKey < sequence)
    call.firstKey = (call.firstKey + sequence - behind) % sequence;
  return call;
}

/// 64 rows of a head in shared memory.
template <class T, int Dim>
using HeadTile = Tile<T, kTileRows, Dim, kAttentionThreads>;

/// Begins to copy rows first .. first + 63 of a head; from `count` on they are
/// 0.
template <class T, int Dim>
HOCKET_DEVICE void copyRows(const HeadTile<T, Dim> &tile, const T *from,
                            Integer pitch, int first, int count) {
  tile.template copy<true>(from, pitch, first, count, 0, Dim);
}

/// Tile `number` of those that lie behind each other in shared memory.
template <class T, int Dim>
HOCKET_DEVICE HeadTile<T, Dim> tileOf(float *shared, int number) {
  return {reinterpret_cast<T *>(shared) +
          number * (HeadTile<T, Dim>::bytes / 2)};
}

/// A warp's 16 x 64 numbers: sums[j][..] is the fragment c of columns
/// 8 j .. 8 j + 7.
using Scores = float[8][4];

/// scores = 16 rows, whose fragment of columns k .. k + 15 is leftOf(k, ..),
/// times the 8 NTiles rows of `b` from `row` on, transposed.
template <class T, int Dim, int NTiles, class Left>
HOCKET_DEVICE void multiplyRows(float (&scores)[NTiles][4], Left leftOf,
                                const HeadTile<T, Dim> &b, int row) {
#pragma unroll
  for (int j = 0; j < NTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[j][i] = 0;
#pragma unroll
  for (int k = 0; k < Dim; k += 16) {
    unsigned left[4];
    leftOf(k, left);
#pragma unroll
    for (int j = 0; j < NTiles; j += 2) {
      unsigned right[4];
      b.rowsAsColumns(right, row + 8 * j, k);
      multiplyAdd<T>(scores[j], left, right[0], right[1]);
      multiplyAdd<T>(scores[j + 1], left, right[2], right[3]);
    }
  }
}

/// scores = rows row .. row + 15 of `a` times the 8 NTiles rows of `b` from
/// `other` on, transposed.
template <class T, int Dim, int NTiles>
HOCKET_DEVICE void multiplyRows(float (&scores)[NTiles][4],
                                const HeadTile<T, Dim> &a, int row,
                                const HeadTile<T, Dim> &b, int other = 0) {
  auto leftOf = [&](int k, unsigned(&left)[4]) { a.fragment(left, row, k); };
  multiplyRows<T, Dim>(scores, leftOf, b, other);
}

/// sums += scores times the 8 NTiles rows of `b` from `row` on, a tile of Dim
/// columns; sums[j] has columns 8 j .. 8 j + 7.
template <class T, int Dim, int NTiles, class Rows>
HOCKET_DEVICE void addGemm(float (&sums)[Dim / 8][4],
                           const float (&scores)[NTiles][4], const Rows &b,
                           int row = 0) {
#pragma unroll
  for (int k = 0; k < NTiles / 2; ++k) {
    const float *low = scores[2 * k], *high = scores[2 * k + 1];
    unsigned left[4] = {
        packPair<T>(low[0], low[1]), packPair<T>(low[2], low[3]),
        packPair<T>(high[0], high[1]), packPair<T>(high[2], high[3])};
#pragma unroll
    for (int j = 0; j < Dim / 8; j += 2) {
      unsigned right[4];
      b.rowsAsRows(right, row + 16 * k, 8 * j);
      multiplyAdd<T>(sums[j], left, right[0], right[1]);
      multiplyAdd<T>(sums[j + 1], left, right[2], right[3]);
    }
  }
}

/// Stores a warp's 16 x Dim sums, times `factor`, as rows row .. row + 15 of a
/// head, as far as they are below `count`.
template <class T, int Dim>
HOCKET_DEVICE void storeRows(T *to, Integer pitch, int row, int count,
                             const float (&sums)[Dim / 8][4], float upperFactor,
                             float lowerFactor) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int at = row + lane / 4 + 8 * half;
    float factor = half ? lowerFactor : upperFactor;
    if (at >= count)
      continue;
    T *start = to + at * pitch + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < Dim / 8; ++j)
      *reinterpret_cast<unsigned *>(start + 8 * j) = packPair<T>(
          factor * sums[j][2 * half], factor * sums[j][2 * half + 1]);
  }
}

/// One head of one sequence.
template <class Shape> struct Head {
  using T = typename Shape::T;
  static constexpr Integer queryPitch = Integer(Shape::heads) * Shape::dim;
  static constexpr Integer keyPitch = Integer(Shape::kvHeads) * Shape::dim;
  int b, h;

  HOCKET_MEMBER Integer query() const {
    return b * Shape::queries * queryPitch + Integer(h) * Shape::dim;
  }
  HOCKET_MEMBER Integer key() const {
    int group = h / (Shape::heads / Shape::kvHeads);
    return b * Shape::keys * keyPitch + Integer(group) * Shape::dim;
  }
  HOCKET_MEMBER Integer statistic() const {
    return (Integer(b) * Shape::heads + h) * Shape::queries;
  }
};

//===----------------------------------------------------------------------===//
// Softcaps
//===----------------------------------------------------------------------===//

/// Whether scores are bent to stay within a bound. They then stand as their
/// shares of it: tanh(capShare() * q . k).
template <class Shape> HOCKET_DEVICE constexpr bool isCapped() {
  return Shape::softcap > 0;
}
template <class Shape> HOCKET_DEVICE constexpr float capShare() {
  return Shape::scale / (isCapped<Shape>() ? Shape::softcap : 1.0f);
}

/// What the softmax multiplies scores by, as they stand.
template <class Shape> HOCKET_DEVICE constexpr float scoreScale() {
  return isCapped<Shape>() ? Shape::softcap : Shape::scale;
}

//===----------------------------------------------------------------------===//
// Slopes
//===----------------------------------------------------------------------===//

/// What scores, as they stand, are less by for each position that a key is
/// behind a query: the slope of head `head` of all, as
/// kernels/reference/Alibi.h has it.
template <class Shape> HOCKET_DEVICE float slopeOf(int head) {
  static_assert(!isCapped<Shape>());
  constexpr int heads = Shape::wholeHeads;
  constexpr auto powerUpTo = [](int most) {
    int power = 1;
    while (power <= most / 2)
      power *= 2;
    return power;
  };
  constexpr int power = powerUpTo(heads);
  int steps = head < power ? 2 * (head + 1) : 2 * (head - power) + 1;
  return exp2f(static_cast<float>(steps) * (-4.0f / power)) *
         (1 / scoreScale<Shape>());
}

//===----------------------------------------------------------------------===//
// Who sees whom
//===----------------------------------------------------------------------===//

/// The position of row `row` of a shard that starts at `first`, as
/// kernels/reference/Attention.h counts. Positions of shards that lie within
/// the whole fit in 32 bits.
template <class Shape> HOCKET_DEVICE int positionOf(Integer first, int row) {
  auto at = static_cast<int>(static_cast<unsigned>(first) + row);
  if constexpr (Shape::part == 0) {
    return at;
  } else {
    constexpr int part = Shape::part, own = 2 * Shape::rounds;
    constexpr int width = Shape::sequence / (Shape::part * Shape::rounds);
    int stored = at / part, mine = stored % own, rank = stored / own;
    int round = Shape::rounds > 1 ? mine / 2 : 0;
    int number = mine % 2 ? width - 1 - rank : rank;
    return (round * width + number) * part + at % part;
  }
}

template <class Shape> HOCKET_DEVICE bool sees(int query, int key) {
  bool seen = true;
  if constexpr (Shape::causal)
    seen = key <= query;
  if constexpr (Shape::window > 0 && Shape::window < 0x7fffffff)
    seen = seen && key > query - static_cast<int>(Shape::window);
  return seen;
}

/// Where the call has positions. Under a causal mask, the first position that
/// query `query` of sequence `b` sees in its document; without one, how many
/// keys it sees, the first ones: padding is behind them. 0 without positions,
/// and of a query that does not exist. One load: where many keys are tested,
/// of a row once and for all.
template <class Shape>
HOCKET_DEVICE int documentOf(const AttentionCall &call, int b, int query) {
  if (!Shape::documents || query >= Shape::queries)
    return 0;
  int position = call.positions[Integer(b) * Shape::queries + query];
  return Shape::causal ? positionOf<Shape>(call.firstQuery, query) - position
                       : position;
}

/// Whether a query, whose documentOf() is `document`, sees a key for it.
template <class Shape>
HOCKET_DEVICE bool isOfDocument(int document, int keyAt) {
  return Shape::causal ? keyAt >= document : keyAt < document;
}

/// The same of the first and the last query of a tile.
struct TileDocuments {
  int first, last;
};
/// Of `Queries` queries of sequence `b` from `query` on, which exists.
template <class Shape, int Queries = kTileRows>
HOCKET_DEVICE TileDocuments tileDocuments(const AttentionCall &call, int b,
                                          int query) {
  int last = query + Queries < Shape::queries ? query + Queries - 1
                                              : Shape::queries - 1;
  return {documentOf<Shape>(call, b, query), documentOf<Shape>(call, b, last)};
}

/// Whether a window leaves out any key.
template <class Shape> HOCKET_DEVICE constexpr bool isWindowed() {
  return Shape::window > 0 && Shape::window < 0x7fffffff;
}

/// The positions of the keys that a query sees, of those that exist: found
/// for many keys, of which each then takes two comparisons.
template <class Shape> struct SeenKeys {
  /// Whether any query has a first one.
  static constexpr bool haveFirst =
      isWindowed<Shape>() || (Shape::documents && Shape::causal);
  int first, last;

  /// Of query `query`, whose documentOf() is `document`; none where it does not
  /// exist.
  HOCKET_MEMBER SeenKeys(const AttentionCall &call, int document, int query)
      : first(Shape::causal ? document : 0), last(-1) {
    int position = positionOf<Shape>(call.firstQuery, query);
    if (query < Shape::queries)
      last = Shape::causal      ? position
             : Shape::documents ? document - 1
                                : 0x7fffffff;
    if constexpr (isWindowed<Shape>()) {
      int edge = position - static_cast<int>(Shape::window) + 1;
      first = edge > first ? edge : first;
    }
  }
  HOCKET_MEMBER bool has(int position) const {
    return position <= last && (!haveFirst || position >= first);
  }
};

/// Whether tiles of as many rows lie within one part each.
template <class Shape, int Queries, int Keys>
HOCKET_DEVICE constexpr bool areWithinParts() {
  return Shape::part % Queries == 0 && Shape::part % Keys == 0;
}

/// How far the position of query `query` is behind that of key `key`. Both are
/// at least 0, so that it fits.
template <class Shape>
HOCKET_DEVICE int distanceOf(const AttentionCall &call, int query, int key) {
  return static_cast<int>(
      static_cast<unsigned>(positionOf<Shape>(call.firstQuery, query)) -
      static_cast<unsigned>(positionOf<Shape>(call.firstKey, key)));
}

/// Whether any of `Queries` queries from `query` on, of which the first exists
/// and which have `documents`, may see any of `Keys` keys. Tiles that cross a
/// border between parts are taken to.
template <class Shape, int Queries = kTileRows, int Keys = kTileRows>
HOCKET_DEVICE bool tilesMeet(const AttentionCall &call,
                             const TileDocuments &documents, int query,
                             int key) {
  if constexpr (!Shape::causal && Shape::window == 0 && !Shape::documents)
    return true;
  if constexpr (!areWithinParts<Shape, Queries, Keys>())
    return true;
  int distance = distanceOf<Shape>(call, query, key);
  bool meet = true;
  if constexpr (Shape::causal)
    meet = distance > -Queries;
  if constexpr (Shape::window > 0)
    meet = meet && distance < Shape::window + (Keys - 1);
  if constexpr (Shape::documents && !Shape::causal) // The last one sees most.
    meet = meet && positionOf<Shape>(call.firstKey, key) < documents.last;
  if constexpr (Shape::documents && Shape::causal) // The first one's is first.
    meet =
        meet && documents.first - positionOf<Shape>(call.firstKey, key) < Keys;
  return meet;
}

/// Whether all of `Queries` queries see all of `Keys` keys, which all exist; it
/// may be false where they do.
template <class Shape, int Queries = kTileRows, int Keys = kTileRows>
HOCKET_DEVICE bool tilesSeeAll(const AttentionCall &call,
                               const TileDocuments &documents, int query,
                               int key) {
  if (key + Keys > Shape::keys)
    return false;
  if constexpr (!Shape::causal && Shape::window == 0 && !Shape::documents)
    return true;
  if constexpr (!areWithinParts<Shape, Queries, Keys>())
    return false;
  int distance = distanceOf<Shape>(call, query, key);
  bool all = true;
  if constexpr (Shape::causal)
    all = distance >= Keys - 1;
  if constexpr (Shape::window > 0)
    all = all && distance <= Shape::window - Queries;
  if constexpr (Shape::documents && !Shape::causal)
    all =
        all && positionOf<Shape>(call.firstKey, key) <= documents.first - Keys;
  if constexpr (Shape::documents && Shape::causal) // The last one's is last.
    all = all && positionOf<Shape>(call.firstKey, key) >= documents.last;
  return all;
}

/// The block's tile of queries: under a causal mask those that see most come
/// first, so that no block with much to do is left for the end.
template <class Shape> HOCKET_DEVICE int queryTile() {
  return static_cast<int>(Shape::causal ? gridDim.x - 1 - blockIdx.x
                                        : blockIdx.x);
}

/// The random number of a query and a key, by position.
template <class Shape>
HOCKET_DEVICE unsigned long long elementOf(const AttentionCall &call, int b,
                                           int h, Integer query, Integer key) {
  unsigned long long row =
      (call.firstSequence + b) * Shape::wholeHeads + call.firstHead + h;
  return call.elementBase + (row * Shape::sequence + query) * Shape::sequence +
         key;
}

/// Whether dropout keeps their score.
template <class Shape>
HOCKET_DEVICE bool isKept(const AttentionCall &call, int b, int h,
                          Integer query, Integer key) {
  unsigned word;
  randomWords<1>({call.seed, call.stream, unsigned(call.step)},
                 elementOf<Shape>(call, b, h, query, key), &word);
  return word >= Shape::dropoutThreshold;
}

/// Whether the numbers of four keys from a multiple of four on, of any query,
/// are those of one Philox block.
template <class Shape>
HOCKET_DEVICE bool keysShareBlocks(const AttentionCall &call) {
  return Shape::sequence % 4 == 0 && Shape::part % 4 == 0 &&
         call.elementBase % 4 == 0 && call.firstKey % 4 == 0;
}

//===----------------------------------------------------------------------===//
// Rows of o
//===----------------------------------------------------------------------===//

/// delta = do . o, deltaLanes() threads a row.
/// Budget: 32 registers; a thread of 8 elements: 16 instructions an element, 2
/// loads, 1 store.
/// Over: 18 loads: whether an address is a multiple of 16 bytes is tested as
/// the kernel runs, and an access an element stands beside each.
template <class Shape>
HOCKET_DEVICE void attentionDelta(const typename Shape::T *o,
                                  const typename Shape::T *dO, float *delta) {
  constexpr Integer rows =
      Integer(Shape::batch) * Shape::queries * Shape::heads;
  constexpr int N = 16 / sizeof(typename Shape::T);
  constexpr int lanes = deltaLanes(Shape::dim, sizeof(typename Shape::T));
  Integer row =
      Integer(blockIdx.x) * (kAttentionThreads / lanes) + threadIdx.x / lanes;
  int lane = threadIdx.x % lanes;
  float sum = 0;
  for (int column = lane * N; row < rows && column < Shape::dim;
       column += lanes * N) {
    auto left = load<N>(o + row * Shape::dim + column, Shape::dim - column);
    auto right = load<N>(dO + row * Shape::dim + column, Shape::dim - column);
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum += toFloat(left.at[i]) * toFloat(right.at[i]);
  }
  // All lanes of the warp, rows or not.
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  // Rows are [b, i, h], statistics [b, h, i].
  Integer token = row / Shape::heads, h = row % Shape::heads;
  Integer b = token / Shape::queries, i = token % Shape::queries;
  if (lane == 0 && row < rows)
    delta[(b * Shape::heads + h) * Shape::queries + i] = sum;
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_ATTENTIONTILES_CUH
