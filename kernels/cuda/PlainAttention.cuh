//===- PlainAttention.cuh - Attention without tensor cores ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The algorithm of Attention.cuh in f32 throughout, for f32 and for every head
/// size that fragments do not fit: up to 512. A block of 256 threads, 16 x 16,
/// has some rows of its own (queries; for the gradients of keys, keys) and
/// walks over the others, 64 at a time. Scores lie in shared memory; thread
/// (y, x) has the sums of rows y, y + 16, .. and columns x, x + 16, ..
///
///   plainAttentionForward, plainAttentionQueryGradient
///                              blocks(queries), heads, batch
///   plainAttentionKeyGradient  blocks(keys), kvHeads, batch
///
/// Scores may get a number by their distance (Shape::biased), which lies in
/// shared memory behind the rest; its gradient is found a block of queries at a
/// time, and then attentionBiasGradient sums those.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_PLAINATTENTION_CUH
#define HOCKET_KERNELS_CUDA_PLAINATTENTION_CUH

#include "kernels/cuda/AttentionTiles.cuh"

namespace hocket::cuda {

/// Some rows of a head: row r is at from + (first + r) * pitch, and those from
/// `count` on are 0.
template <class T> struct HeadRows {
  const T *from;
  Integer pitch;
  int count;
  int first = 0;

  HOCKET_MEMBER float at(int row, int column) const {
    return first + row < count ? toFloat(from[(first + row) * pitch + column])
                               : 0.0f;
  }
};

constexpr int kScorePitch = kPlainOthers + 1;

/// scores[Rows][64] = rows of `a` times 64 rows of `b`, transposed. Every
/// thread must call it; the scores are there after a barrier.
template <int Rows, int Dim, class T>
HOCKET_DEVICE void dotRows(float *scores, const HeadRows<T> &a,
                           const HeadRows<T> &b, float *stage) {
  constexpr int pitch = kPlainDepth + 1;
  constexpr int depth = Dim < kPlainDepth ? Dim : kPlainDepth;
  int thread = threadIdx.x, x = thread % 16, y = thread / 16;
  float *left = stage, *right = stage + Rows * pitch;
  float sums[Rows / 16][4] = {};
  for (int start = 0; start < Dim; start += kPlainDepth) {
    __syncthreads(); // What was staged has been read.
    int column = thread % kPlainDepth;
    bool exists = start + column < Dim;
    for (int row = thread / kPlainDepth; row < Rows;
         row += kPlainThreads / kPlainDepth)
      left[row * pitch + column] = exists ? a.at(row, start + column) : 0.0f;
    for (int row = thread / kPlainDepth; row < kPlainOthers;
         row += kPlainThreads / kPlainDepth)
      right[row * pitch + column] = exists ? b.at(row, start + column) : 0.0f;
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < depth; ++k)
#pragma unroll
      for (int i = 0; i < Rows / 16; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[i][j] +=
              left[(y + 16 * i) * pitch + k] * right[(x + 16 * j) * pitch + k];
  }
#pragma unroll
  for (int i = 0; i < Rows / 16; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      scores[(y + 16 * i) * kScorePitch + x + 16 * j] = sums[i][j];
}

/// A thread's sums of Rows rows of a head.
template <int Rows, int Dim> struct RowSums {
  static constexpr int columns = (Dim + 15) / 16;
  float at[Rows / 16][columns] = {};

  /// Adds scores[Rows][64] times the 64 rows of `b`. Every thread must call it.
  template <class T>
  HOCKET_MEMBER void add(const float *scores, const HeadRows<T> &b,
                         float *stage) {
    int thread = threadIdx.x, x = thread % 16, y = thread / 16;
    for (int start = 0; start < kPlainOthers && b.first + start < b.count;
         start += kPlainGemmRows) {
      __syncthreads(); // What was staged has been read; scores are written.
      for (int i = thread; i < kPlainGemmRows * columns * 16;
           i += kPlainThreads) {
        int row = i / (columns * 16), column = i % (columns * 16);
        stage[i] = column < Dim ? b.at(start + row, column) : 0.0f;
      }
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < kPlainGemmRows; ++k)
#pragma unroll
        for (int i = 0; i < Rows / 16; ++i) {
          float score = scores[(y + 16 * i) * kScorePitch + start + k];
#pragma unroll
          for (int j = 0; j < columns; ++j)
            at[i][j] += score * stage[k * columns * 16 + x + 16 * j];
        }
    }
  }

  /// Brings them to another maximum: row r times factors[r].
  HOCKET_MEMBER void scale(const float *factors) {
#pragma unroll
    for (int i = 0; i < Rows / 16; ++i) {
      float factor = factors[threadIdx.x / 16 + 16 * i];
#pragma unroll
      for (int j = 0; j < columns; ++j)
        at[i][j] *= factor;
    }
  }

  /// Stores them, row r times factors[r * step], as rows first .. of a head.
  template <class T>
  HOCKET_MEMBER void store(T *to, Integer pitch, int first, int count,
                           const float *factors, int step) const {
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
#pragma unroll
    for (int i = 0; i < Rows / 16; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        int row = y + 16 * i, column = x + 16 * j;
        if (first + row < count && column < Dim)
          to[(first + row) * pitch + column] =
              fromFloat<T>(factors[row * step] * at[i][j]);
      }
  }
};

//===----------------------------------------------------------------------===//
// What scores get by distance
//===----------------------------------------------------------------------===//

/// Copies what head `head` has to `line`, as scores stand. Every thread must
/// call it; the numbers are there after a barrier.
template <class Shape>
HOCKET_DEVICE void loadBias(float *line, const float *bias, int head) {
  if constexpr (Shape::biased)
#pragma unroll 1
    for (int i = threadIdx.x; i < 2 * Shape::reach + 1; i += kPlainThreads)
      line[i] = bias[i * Shape::heads + head] * (1 / scoreScale<Shape>());
}

/// Where that of a key is that is `behind` a query.
template <class Shape> HOCKET_DEVICE int biasRow(int behind) {
  constexpr int reach = Shape::reach;
  int near = behind < -reach ? -reach : behind;
  return (near > reach ? reach : near) + reach;
}

/// The gradient of the bias that one block's queries give, in memory of its own.
/// Of a row of scores no two keys have a distance in common, but for those that
/// are too far: rows are added one after another, a thread a key, and what is
/// too far is kept by the threads until the end.
template <class Shape> struct BiasGradient {
  float *part;
  float before = 0, behind = 0;

  /// Part `index` of a sequence, for a head. Every thread must call it.
  HOCKET_MEMBER BiasGradient(float *parts, Integer mostParts,
                             const Head<Shape> &head, int index)
      : part(parts + ((head.b * mostParts + index) * Shape::heads + head.h) *
                         (2 * Shape::reach + 1)) {
    if constexpr (Shape::biased)
#pragma unroll 1
      for (int i = threadIdx.x; i < 2 * Shape::reach + 1; i += kPlainThreads)
        part[i] = 0;
  }

  /// Adds Rows rows of gradients of scores. Every thread must call it.
  template <int Rows>
  HOCKET_MEMBER void add(const float *ds, const AttentionCall &call, int query,
                         int key) {
    int column = threadIdx.x;
    bool exists = column < kPlainOthers && key + column < Shape::keys;
    int keyAt = positionOf<Shape>(call.firstKey, key + column);
#pragma unroll 1
    for (int row = 0; row < Rows && query + row < Shape::queries; ++row) {
      __syncthreads(); // The row before is added.
      if (!exists)
        continue;
      float gradient = ds[row * kScorePitch + column];
      int far = keyAt - positionOf<Shape>(call.firstQuery, query + row);
      if (far <= -Shape::reach)
        before += gradient;
      else if (far >= Shape::reach)
        behind += gradient;
      else
        part[far + Shape::reach] += gradient;
    }
  }

  /// `shared` is free. Every thread must call it.
  HOCKET_MEMBER void end(float *shared) {
    __syncthreads();
    if (threadIdx.x < kPlainOthers) {
      shared[threadIdx.x] = before;
      shared[kPlainOthers + threadIdx.x] = behind;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
      float sum = 0;
#pragma unroll 4
      for (int i = 0; i < kPlainOthers; ++i)
        sum += shared[threadIdx.x * kPlainOthers + i];
      part[threadIdx.x * 2 * Shape::reach] += sum;
    }
  }
};

/// dBias = the sum of what all blocks found, a thread an element.
///
/// Budget: 32 registers; an iteration: 20 instructions, 1 load.
template <class Shape>
HOCKET_DEVICE void attentionBiasGradient(const float *biasParts, float *dBias,
                                         Integer mostParts) {
  constexpr int length = 2 * Shape::reach + 1;
  constexpr int rows = plainGradientRows(Shape::dim);
  constexpr int blocks = (Shape::queries + rows - 1) / rows;
  int at = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  if (at >= length * Shape::heads)
    return;
  int distance = at / Shape::heads, head = at % Shape::heads;
  constexpr int each = Shape::heads * length; // Of what a block found.
  const float *first = biasParts + head * length + distance;
  float sum = 0;
#pragma unroll 1
  for (int b = 0; b < Shape::batch; ++b) {
    const float *part = first + b * mostParts * each;
#pragma unroll 1
    for (int i = 0; i < blocks; ++i, part += each)
      sum += *part;
  }
  dBias[at] = sum;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The running maximum and sum of each row, and what brings the sums of before
/// to the new maximum.
template <int Rows> struct PlainSoftmax {
  float greatest[Rows], sum[Rows], before[Rows];

  HOCKET_MEMBER void begin() {
    if (threadIdx.x < Rows) {
      greatest[threadIdx.x] = neutral<Max>();
      sum[threadIdx.x] = 0;
    }
  }
  /// What sums are still to be multiplied by comes to `before`, in the thread
  /// of the row.
  HOCKET_MEMBER void end() {
    if (threadIdx.x < Rows)
      before[threadIdx.x] = sum[threadIdx.x] > 0 ? 1 / sum[threadIdx.x] : 0.0f;
  }
};

/// Turns scores into probabilities times exp(lse - greatest), with dropout.
/// The neighbouring threads of a row, as many as a whole block of rows has for
/// each, have its columns in turns.
template <class Shape, int Rows, class Walk>
HOCKET_DEVICE void plainSoftmaxStep(float *scores, PlainSoftmax<Rows> &softmax,
                                    const Walk &walk,
                                    const typename Walk::Place &place) {
  constexpr int lanes = kPlainThreads / plainRows(Shape::dim);
  constexpr int each = kPlainOthers / lanes;
  int row = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  if (row >= Rows) // Whole warps.
    return;
  float *mine = scores + row * kScorePitch;
  float last = softmax.greatest[row], greatest = last, sum = 0;
  for (int i = 0; i < each; ++i) {
    int key = lane + i * lanes;
    if (!walk.sees(place, row, key))
      mine[key] = neutral<Max>();
    else if constexpr (isCapped<Shape>())
      mine[key] = tanhf(mine[key] * capShare<Shape>());
    else if constexpr (Shape::alibi)
      mine[key] -= slopeOf<Shape>(walk.headOf(row)) *
                   static_cast<float>(walk.distanceOf(place, row, key));
    else if constexpr (Shape::biased)
      mine[key] += walk.biasOf(place, row, key);
    greatest = maximum(greatest, mine[key]);
  }
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    greatest =
        maximum(greatest, __shfl_xor_sync(0xffffffffu, greatest, distance));
  // A row that has seen no key yet has no maximum to subtract.
  float shift = greatest == neutral<Max>() ? 0.0f : greatest;
  for (int i = 0; i < each; ++i) {
    int key = lane + i * lanes;
    float p = expf((mine[key] - shift) * scoreScale<Shape>());
    sum += p;
    if constexpr (Shape::dropoutThreshold > 0)
      p *= walk.isKept(place, row, key) ? Shape::dropoutScale : 0.0f;
    mine[key] = p;
  }
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) {
    float before = expf((last - shift) * scoreScale<Shape>());
    softmax.greatest[row] = greatest;
    softmax.before[row] = before;
    softmax.sum[row] = softmax.sum[row] * before + sum;
  }
}

/// The tiles of keys of one sequence that a block's queries see, in order.
template <class Shape> struct PlainSequenceWalk {
  using T = typename Shape::T;
  using Place = int; ///< The first key of a tile.
  static constexpr int rows = plainRows(Shape::dim);
  const T *k, *v;
  const AttentionCall &call;
  const Head<Shape> &head;
  int firstQuery;
  const float *bias; ///< of the head
  TileDocuments documents =
      tileDocuments<Shape, rows>(call, head.b, firstQuery);

  HOCKET_MEMBER Place begin() const { return seen(0); }
  HOCKET_MEMBER Place next(Place key) const { return seen(key + kPlainOthers); }
  HOCKET_MEMBER bool has(Place key) const { return key < Shape::keys; }
  HOCKET_MEMBER HeadRows<T> keys(Place key) const {
    return {k + head.key(), head.keyPitch, Shape::keys, key};
  }
  HOCKET_MEMBER HeadRows<T> values(Place key) const {
    return {v + head.key(), head.keyPitch, Shape::keys, key};
  }
  HOCKET_MEMBER bool sees(Place first, int row, int key) const {
    int query = firstQuery + row;
    SeenKeys<Shape> seen(call, documentOf<Shape>(call, head.b, query), query);
    return first + key < Shape::keys && seen.has(keyAt(first + key));
  }
  /// Of all heads.
  HOCKET_MEMBER int headOf(int) const {
    return static_cast<int>(call.firstHead) + head.h;
  }
  HOCKET_MEMBER float biasOf(Place first, int row, int key) const {
    return bias[biasRow<Shape>(-distanceOf(first, row, key))];
  }
  HOCKET_MEMBER int distanceOf(Place first, int row, int key) const {
    return queryAt(row) - keyAt(first + key);
  }
  HOCKET_MEMBER bool isKept(Place first, int row, int key) const {
    return cuda::isKept<Shape>(call, head.b, head.h, queryAt(row),
                               keyAt(first + key));
  }

private:
  HOCKET_MEMBER int queryAt(int row) const {
    return positionOf<Shape>(call.firstQuery, firstQuery + row);
  }
  HOCKET_MEMBER int keyAt(int key) const {
    return positionOf<Shape>(call.firstKey, key);
  }
  HOCKET_MEMBER Place seen(int key) const {
#pragma unroll 1
    while (key < Shape::keys && !tilesMeet<Shape, rows, kPlainOthers>(
                                    call, documents, firstQuery, key))
      key += kPlainOthers;
    return key;
  }
};

/// Attention of a block's queries to the tiles of keys that `walk` has: its
/// sums, and their softmax. A tile that a row sees nothing of changes no bit of
/// it.
template <class Shape, int Rows, class Walk>
HOCKET_DEVICE void
plainAttendToTiles(const Walk &walk, const HeadRows<typename Shape::T> &queries,
                   RowSums<Rows, Shape::dim> &sums, PlainSoftmax<Rows> &softmax,
                   float *shared) {
  float *scores = shared, *stage = shared + Rows * kScorePitch;
  softmax.begin();
  for (auto at = walk.begin(); walk.has(at); at = walk.next(at)) {
    dotRows<Rows, Shape::dim>(scores, queries, walk.keys(at), stage);
    __syncthreads();
    plainSoftmaxStep<Shape, Rows>(scores, softmax, walk, at);
    __syncthreads();
    sums.scale(softmax.before);
    sums.add(scores, walk.values(at), stage);
  }
  __syncthreads();
}

/// Budget: 80 registers; a thread: 1750 instructions, 21 loads, 17 stores, 250
/// shared.
/// Budget of 256: 80 registers; a thread: 1750 instructions, 21 loads, 33
/// stores, 250 shared.
/// Budget of softcap: 80 registers; a thread: 1800 instructions, 21 loads, 17
/// stores, 250 shared.
/// Budget of alibi: 80 registers; a thread: 1800 instructions, 21 loads, 17
/// stores, 250 shared.
/// Budget of relative: 80 registers; a thread: 1900 instructions, 24 loads, 17
/// stores, 250 shared.
template <class Shape>
HOCKET_DEVICE void
plainAttentionForward(const typename Shape::T *q, const typename Shape::T *k,
                      const typename Shape::T *v, const float *bias,
                      typename Shape::T *o, float *lse,
                      const AttentionCall &call, float *shared) {
  constexpr int rows = plainRows(Shape::dim), dim = Shape::dim;
  __shared__ PlainSoftmax<rows> softmax;
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int first = blockIdx.x * rows, thread = threadIdx.x;
  HeadRows<typename Shape::T> queries{q + head.query(), head.queryPitch,
                                      Shape::queries, first};
  RowSums<rows, dim> sums;
  float *line = shared + plainFloats(rows, dim, 1);
  loadBias<Shape>(line, bias, head.h);
  PlainSequenceWalk<Shape> walk{k, v, call, head, first, line};
  plainAttendToTiles<Shape, rows>(walk, queries, sums, softmax, shared);
  softmax.end();
  if (thread < rows && first + thread < Shape::queries) {
    float sum = softmax.sum[thread];
    lse[head.statistic() + first + thread] =
        sum > 0 ? softmax.greatest[thread] * scoreScale<Shape>() + logf(sum)
                : neutral<Max>();
  }
  __syncthreads();
  sums.store(o + head.query(), head.queryPitch, first, Shape::queries,
             softmax.before, 1);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Of scores in p and of do . v in ds: p, the probabilities with dropout, and
/// ds = p * (mask * dp - delta), as in Attention.cuh.
template <class Shape, int Rows, bool queriesInRows>
HOCKET_DEVICE void
plainGradientOfScores(float *p, float *ds, const AttentionCall &call,
                      const Head<Shape> &head, const float *lse,
                      const float *delta, const float *bias, int firstRow,
                      int firstOther) {
  for (int i = threadIdx.x; i < Rows * kPlainOthers; i += kPlainThreads) {
    int at = i / kPlainOthers * kScorePitch + i % kPlainOthers;
    int row = firstRow + i / kPlainOthers,
        other = firstOther + i % kPlainOthers;
    int query = queriesInRows ? row : other, key = queriesInRows ? other : row;
    float probability = 0, gradient = 0;
    if (query < Shape::queries && key < Shape::keys) {
      int queryAt = positionOf<Shape>(call.firstQuery, query);
      int keyAt = positionOf<Shape>(call.firstKey, key);
      SeenKeys<Shape> seen(call, documentOf<Shape>(call, head.b, query), query);
      if (seen.has(keyAt)) {
        float mask = 1;
        if constexpr (Shape::dropoutThreshold > 0)
          mask = isKept<Shape>(call, head.b, head.h, queryAt, keyAt)
                     ? Shape::dropoutScale
                     : 0.0f;
        float score = p[at];
        if constexpr (isCapped<Shape>())
          score = tanhf(score * capShare<Shape>());
        if constexpr (Shape::alibi)
          score -= slopeOf<Shape>(static_cast<int>(call.firstHead) + head.h) *
                   static_cast<float>(queryAt - keyAt);
        if constexpr (Shape::biased)
          score += bias[biasRow<Shape>(keyAt - queryAt)];
        probability =
            expf(score * scoreScale<Shape>() - lse[head.statistic() + query]);
        gradient =
            probability * (mask * ds[at] - delta[head.statistic() + query]);
        if constexpr (isCapped<Shape>())
          gradient *= 1 - score * score;
        probability *= mask;
      }
    }
    p[at] = probability;
    ds[at] = gradient;
  }
}

/// Budget: 64 registers; a thread: 1750 instructions, 43 loads, 16 stores, 249
/// shared.
/// Budget of softcap: 80 registers; a thread: 1750 instructions, 43 loads, 16
/// stores, 249 shared.
/// Budget of alibi: 80 registers; a thread: 1750 instructions, 43 loads, 16
/// stores, 249 shared.
/// Budget of relative: 80 registers; a thread: 1900 instructions, 47 loads, 20
/// stores, 260 shared.
template <class Shape>
HOCKET_DEVICE void plainAttentionQueryGradient(
    const typename Shape::T *q, const typename Shape::T *k,
    const typename Shape::T *v, const float *lse, const typename Shape::T *dO,
    const float *delta, const float *bias, typename Shape::T *dq,
    float *biasParts, Integer mostParts, const AttentionCall &call,
    float *shared) {
  using T = typename Shape::T;
  constexpr int rows = plainGradientRows(Shape::dim), dim = Shape::dim;
  float *p = shared, *ds = p + rows * kScorePitch;
  float *stage = ds + rows * kScorePitch;
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int first = blockIdx.x * rows;
  HeadRows<T> queries{q + head.query(), head.queryPitch, Shape::queries, first};
  HeadRows<T> keys{k + head.key(), head.keyPitch, Shape::keys};
  auto gradients = queries, values = keys;
  gradients.from = dO + head.query(), values.from = v + head.key();
  RowSums<rows, dim> sums;
  float *line = shared + plainFloats(rows, dim, 2);
  loadBias<Shape>(line, bias, head.h);
  BiasGradient<Shape> biasGradient(biasParts, mostParts, head, blockIdx.x);
  TileDocuments documents = tileDocuments<Shape, rows>(call, head.b, first);
  for (int key = 0; key < Shape::keys; key += kPlainOthers) {
    if (!tilesMeet<Shape, rows, kPlainOthers>(call, documents, first, key))
      continue;
    keys.first = values.first = key;
    dotRows<rows, dim>(p, queries, keys, stage);
    dotRows<rows, dim>(ds, gradients, values, stage);
    __syncthreads();
    plainGradientOfScores<Shape, rows, true>(p, ds, call, head, lse, delta,
                                             line, first, key);
    sums.add(ds, keys, stage);
    if constexpr (Shape::biased)
      biasGradient.template add<rows>(ds, call, first, key);
  }
  if constexpr (Shape::biased)
    biasGradient.end(shared);
  constexpr float scale = Shape::scale;
  sums.store(dq + head.query(), head.queryPitch, first, Shape::queries, &scale,
             0);
}

/// Budget: 80 registers; a thread: 2100 instructions, 48 loads, 32 stores, 282
/// shared.
/// Budget of 256: 104 registers; a thread: 2100 instructions, 48 loads, 32
/// stores, 282 shared.
/// Budget of softcap: 128 registers; a thread: 2100 instructions, 48 loads, 32
/// stores, 282 shared.
/// Budget of relative: 128 registers; a thread: 2150 instructions, 52 loads, 32
/// stores, 290 shared.
template <class Shape>
HOCKET_DEVICE void plainAttentionKeyGradient(
    const typename Shape::T *q, const typename Shape::T *k,
    const typename Shape::T *v, const float *lse, const typename Shape::T *dO,
    const float *delta, const float *bias, typename Shape::T *dk,
    typename Shape::T *dv, const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int rows = plainGradientRows(Shape::dim), dim = Shape::dim;
  constexpr int group = Shape::heads / Shape::kvHeads;
  float *p = shared, *ds = p + rows * kScorePitch;
  float *stage = ds + rows * kScorePitch;
  Head<Shape> head{static_cast<int>(blockIdx.z),
                   static_cast<int>(blockIdx.y) * group};
  Integer start = head.key();
  int first = blockIdx.x * rows;
  HeadRows<T> keys{k + start, head.keyPitch, Shape::keys, first};
  auto values = keys;
  values.from = v + start;
  RowSums<rows, dim> keySums, valueSums;
  float *line = shared + plainFloats(rows, dim, 2);
  for (int member = 0; member < group; ++member, ++head.h) {
    __syncthreads(); // That of the head before has been read.
    loadBias<Shape>(line, bias, head.h);
    for (int query = 0; query < Shape::queries; query += kPlainOthers) {
      TileDocuments documents =
          tileDocuments<Shape, kPlainOthers>(call, head.b, query);
      if (!tilesMeet<Shape, kPlainOthers, rows>(call, documents, query, first))
        continue;
      HeadRows<T> queries{q + head.query(), head.queryPitch, Shape::queries,
                          query};
      auto gradients = queries;
      gradients.from = dO + head.query();
      dotRows<rows, dim>(p, keys, queries, stage);
      dotRows<rows, dim>(ds, values, gradients, stage);
      __syncthreads();
      plainGradientOfScores<Shape, rows, false>(p, ds, call, head, lse, delta,
                                                line, first, query);
      valueSums.add(p, gradients, stage);
      keySums.add(ds, queries, stage);
    }
  }
  constexpr float scale = Shape::scale, one = 1;
  keySums.store(dk + start, head.keyPitch, first, Shape::keys, &scale, 0);
  valueSums.store(dv + start, head.keyPitch, first, Shape::keys, &one, 0);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_PLAINATTENTION_CUH
