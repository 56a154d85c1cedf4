//===- Embedding.cuh - Embedding lookup and its gradient on the GPU *- C++
//-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/Embedding.h on the GPU, with the bits of that reference.
///
///   embedding           a block a token: 128 threads
///   embeddingGradient   a block has up to 64 rows of the table, far from each
///                       other, as neighbouring ids are alike in how often a
///                       text has them, and looks through all ids for them.
///                       Tokens that it finds are sorted by row in shared
///                       memory; then a warp has 256 columns of a row and adds
///                       its tokens in order: 256 threads, 2^shift blocks
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_EMBEDDING_CUH
#define HOCKET_KERNELS_CUDA_EMBEDDING_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

/// An id that has no row gives zeros; unless the table is a shard of a larger
/// one it is a fault.
///
/// Budget: 32 registers; an iteration of 8 elements: 8 instructions an element,
/// 2 loads, 2 stores. Over: 17 instructions, 10 loads, 10 stores: whether an
/// address is a multiple of 16 bytes is tested as the kernel runs, and an
/// access an element stands beside each.
template <class From, class To, bool IsShard>
HOCKET_DEVICE void embedding(const int *ids, const From *table, To *out,
                             Integer vocab, Integer hidden, Integer first,
                             unsigned *fault) {
  Integer token = blockIdx.x, row = ids[token] - first;
  bool exists = row >= 0 && row < vocab;
  if (!IsShard && !exists && threadIdx.x == 0)
    report(fault, Fault::TokenId);
  for (Integer column = threadIdx.x * 8; column < hidden; column += 128 * 8) {
    auto from = load<8>(table + (exists ? row * hidden + column : 0),
                        exists ? hidden - column : 0);
    Pack<To, 8> result;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      result.at[i] = fromFloat<To>(toFloat(from.at[i]));
    store(out + token * hidden + column, result, hidden - column);
  }
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Ids that a block looks at before it meets, and found tokens that it keeps.
constexpr int kIdsAtOnce = 4 * kGradientThreads, kMostFound = 2 * kIdsAtOnce;

/// Tokens whose ids are among the rows of a block, in shared memory.
struct FoundTokens {
  int token[kMostFound], sorted[kMostFound];
  unsigned char row[kMostFound];
  int ofWarp[kGradientThreads / 32];
  int starts[kGradientRows + 1]; ///< of each row in `sorted`
};

/// The rows of a table that a block has: row i is row (i << shift) +
/// blockIdx.x.
struct SpreadRows {
  Integer first, vocab; ///< The id of the table's first row; its rows.
  int shift;            ///< 2^shift blocks.

  HOCKET_MEMBER int count() const {
    Integer behind = vocab - 1 - blockIdx.x;
    return behind < 0 ? 0 : static_cast<int>(behind >> shift) + 1;
  }
  HOCKET_MEMBER bool has(int id) const {
    Integer row = id - first;
    return row >= 0 && row < vocab &&
           (static_cast<unsigned>(row) & ((1u << shift) - 1)) == blockIdx.x;
  }
  HOCKET_MEMBER int indexOf(int id) const {
    return static_cast<int>((id - first) >> shift);
  }
  HOCKET_MEMBER Integer rowOf(int i) const {
    return (Integer(i) << shift) + blockIdx.x;
  }
};

/// Adds to `found`, which holds `count`, the tokens first .. first + 1023 with
/// an id of `rows`, in order; returns how many it holds then.
HOCKET_DEVICE int findTokens(FoundTokens &found, int count, const int *ids,
                             Integer first, Integer tokens,
                             const SpreadRows &rows) {
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  Integer token = first + 4 * thread;
  auto mine = load<4>(ids + token, tokens - token);
  int before = 0, ofWarp = 0;
  bool here[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    here[i] = token + i < tokens && rows.has(mine.at[i]);
    unsigned lanes = __ballot_sync(0xffffffffu, here[i]);
    before += __popc(lanes & ((1u << lane) - 1));
    ofWarp += __popc(lanes);
  }
  __syncthreads(); // The counts of the last ids have been read.
  if (lane == 0)
    found.ofWarp[warp] = ofWarp;
  __syncthreads();
  int at = count + before;
  for (int other = 0; other < kGradientThreads / 32; ++other) {
    at += other < warp ? found.ofWarp[other] : 0;
    count += found.ofWarp[other];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (here[i]) {
      found.token[at] = static_cast<int>(token + i);
      found.row[at++] = static_cast<unsigned char>(rows.indexOf(mine.at[i]));
    }
  return count;
}

/// Fills `sorted` and `starts`: by row, then by token.
HOCKET_DEVICE void sortTokens(FoundTokens &found, int count) {
  int row = threadIdx.x;
  __syncthreads(); // All have been found, and the last ones added.
  if (row < kGradientRows) {
    int ofRow = 0;
    for (int i = 0; i < count; ++i)
      ofRow += found.row[i] == row;
    found.starts[row + 1] = ofRow;
  }
  __syncthreads();
  if (row == 0) {
    found.starts[0] = 0;
    for (int i = 0; i < kGradientRows; ++i)
      found.starts[i + 1] += found.starts[i];
  }
  __syncthreads();
  if (row < kGradientRows) {
    int at = found.starts[row];
    for (int i = 0; i < count; ++i)
      if (found.row[i] == row)
        found.sorted[at++] = found.token[i];
  }
  __syncthreads();
}

/// table[row] = (that, or 0) + the sum over its tokens. A warp a chunk.
template <class T>
HOCKET_DEVICE void addTokens(const FoundTokens &found, const T *dy,
                             float *table, const SpreadRows &rows,
                             Integer hidden, bool add) {
  int chunks = static_cast<int>((hidden + 255) / 256);
  for (int item = threadIdx.x / 32; item < rows.count() * chunks;
       item += kGradientThreads / 32) {
    int row = item / chunks;
    Integer column = item % chunks * 256 + threadIdx.x % 32 * 8;
    int begin = found.starts[row], end = found.starts[row + 1];
    if (column >= hidden || (add && begin == end))
      continue;
    float *to = table + rows.rowOf(row) * hidden + column;
    Pack<float, 8> sums = load<8>(to, add ? hidden - column : 0);
    // Of the most frequent token a warp adds thousands: many are read at once.
#pragma unroll 8
    for (int i = begin; i < end; ++i) {
      auto from =
          load<8>(dy + found.sorted[i] * hidden + column, hidden - column);
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sums.at[j] += toFloat(from.at[j]);
    }
    store(to, sums, hidden - column);
  }
}

/// Budget: 48 registers; an iteration of 16 bytes: 460 instructions an element,
/// 165 loads, 10 stores, 256 shared.
template <class T, bool IsShard>
HOCKET_DEVICE void embeddingGradient(const int *ids, const T *dy, float *table,
                                     Integer tokens, Integer vocab,
                                     Integer hidden, int shift, Integer first,
                                     int accumulate, unsigned *fault) {
  __shared__ FoundTokens found;
  SpreadRows rows = {first, vocab, shift};
  int count = 0;
  bool add = accumulate != 0;
  for (Integer token = 0; token < tokens; token += kIdsAtOnce) {
    if (count > kMostFound - kIdsAtOnce) {
      sortTokens(found, count);
      addTokens(found, dy, table, rows, hidden, add);
      count = 0;
      add = true;
      __syncthreads();
    }
    count = findTokens(found, count, ids, token, tokens, rows);
  }
  sortTokens(found, count);
  addTokens(found, dy, table, rows, hidden, add);
  if (IsShard || blockIdx.x > 0)
    return;
  for (Integer token = threadIdx.x; token < tokens; token += kGradientThreads)
    if (ids[token] < 0 || ids[token] >= vocab)
      report(fault, Fault::TokenId);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_EMBEDDING_CUH
