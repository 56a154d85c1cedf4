//===- AttentionForward.cpp - Attention of one chunk of queries -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One head and one chunk of its queries: key blocks stream past with a
/// running maximum m and sum l per query, and the output is rescaled when the
/// maximum rises. Scores are held transposed, [key][query], so that a query is
/// a lane: maxima and sums need no horizontal step, and the tile is already
/// what the GEMM with V reads.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/AttentionBlocks.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

class ForwardChunk {
public:
  ForwardChunk(const AttentionForwardArguments &args, const AttentionTask &task,
               std::byte *memory)
      : args(args), s(args.shape), task(task), width(paddedDim(s)) {
    Scratch scratch{memory};
    int64_t rows = (task.queries + kBlock - 1) / kBlock * kBlock;
    queries = scratch.floats(rows * s.headDim);
    output = scratch.floats(rows * width);
    largest = scratch.floats(rows);
    sums = scratch.floats(rows);
    keys = scratch.floats(kBlock * s.headDim);
    values = scratch.floats(kBlock * width);
    scores = scratch.floats(kBlock * kBlock);
    factors = scratch.floats(kBlock);
    dropped = scratch.floats(kBlock * kBlock);
    kept = scratch.floats(kBlock * kBlock);
    for (int64_t i = 0; i < rows * width; ++i)
      output[i] = 0;
    for (int64_t i = 0; i < rows; ++i)
      largest[i] = -kInfinity, sums[i] = 0;
  }

  void run() {
    for (int64_t i = 0; i < task.queries; i += kBlock) {
      int64_t count = std::min(kBlock, task.queries - i);
      loadColumns(
          s,
          {args.q, s.queries, s.heads, task.b, task.h, task.query + i, count},
          queries + i * s.headDim);
    }
    scaleBy(s.scale, queries,
            (task.queries + kBlock - 1) / kBlock * kBlock * s.headDim);
    for (int64_t key = 0, count; key < s.keys; key += count) {
      count = rowsFrom(s, key, s.keys, kBlock);
      visitKeys(key, count);
    }
    finish();
  }

private:
  /// Rows of a sequence, or of the page that holds them.
  HeadRows keyRows(ConstView tensor, int64_t key, int64_t count) const {
    int64_t g = task.h / (s.heads / s.kvHeads);
    if (args.pages)
      return {tensor, kBlock, s.kvHeads, args.pages[key / kBlock], g, 0, count};
    return {tensor, s.keys, s.kvHeads, task.b, g, key, count};
  }

  void visitKeys(int64_t key, int64_t count) {
    if (!Tile(s, task.b, task.query, task.queries, key, count).visible(s))
      return;
    loadColumns(s, keyRows(args.k, key, count), keys);
    loadRows(s, keyRows(args.v, key, count), values);
    for (int64_t i = 0; i < task.queries; i += kBlock) {
      Tile tile(s, task.b, task.query + i, std::min(kBlock, task.queries - i),
                key, count);
      if (tile.visible(s))
        visitTile(tile, i);
    }
  }

  /// Lanes of the tile's queries, whole vectors.
  static int64_t lanesOf(const Tile &tile) {
    return (tile.queries + kWidth - 1) / kWidth * kWidth;
  }

  void visitTile(const Tile &tile, int64_t at) {
    multiply(tile.keys, lanesOf(tile),
             {s.headDim, keys, kBlock, queries + at * s.headDim, kBlock, scores,
              kBlock, false});
    if (s.softcap > 0)
      cap(tile);
    if (s.alibi)
      slope(tile);
    if (s.bias)
      addBias(tile);
    if (!tile.whole(s)) {
      mask(tile);
      if (s.positions && s.causal)
        maskDocuments(tile);
      else if (s.positions)
        maskPadding(tile);
    }
    softmax(tile, at);
    if (s.dropout > 0)
      drop(tile);
    for (int64_t i = 0; i < tile.queries; ++i)
      if (factors[i] != 1)
        scaleBy(factors[i], output + (at + i) * width, width);
    multiply(tile.queries, width,
             {tile.keys, scores, kBlock, values, width, output + at * width,
              width, true});
  }

  /// Bends scores to stay within the softcap.
  void cap(const Tile &tile) {
    Vec most = broadcast(s.softcap), inverse = broadcast(1 / s.softcap);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        store(score, mul(most, tanh(mul(load(score), inverse))));
      }
  }

  /// Lowers scores by their distances.
  void slope(const Tile &tile) {
    Vec each = broadcast(static_cast<float>(slopeOf(s, task.h)));
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        Vec distance = lanesFrom(tile.queryAt + i - (tile.keyAt + j));
        store(score, fnma(each, distance, load(score)));
      }
  }

  /// Adds what the head has for their distances, which a lane has one less of
  /// than the lane before it.
  void addBias(const Tile &tile) {
    alignas(64) float biases[2 * kBlock];
    loadBias(s, tile, task.h, -1, biases);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        store(score, add(load(score), load(biases + kBlock + i - j)));
      }
  }

  /// Hides key j from the lanes i < j (causal) and i >= j + window.
  void mask(const Tile &tile) {
    Vec hidden = broadcast(-kInfinity);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        Vec lane = lanesFrom(tile.queryAt + i - (tile.keyAt + j));
        Vec x = load(score);
        if (s.causal)
          x = selectLess(lane, zero(), hidden, x);
        if (s.window > 0)
          x = selectLess(lane, broadcast(static_cast<float>(s.window)), x,
                         hidden);
        store(score, x);
      }
  }

  /// Hides key j from the lanes whose documents begin behind it.
  void maskDocuments(const Tile &tile) {
    alignas(64) float first[kBlock] = {};
    for (int64_t i = 0; i < tile.queries; ++i)
      first[i] = static_cast<float>(tile.firstKeyOf(s, i) - tile.keyAt);
    Vec hidden = broadcast(-kInfinity);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        store(score, selectLess(broadcast(static_cast<float>(j)),
                                load(first + i), hidden, load(score)));
      }
  }

  /// Hides key j from the lanes that see only keys before it.
  void maskPadding(const Tile &tile) {
    alignas(64) float last[kBlock] = {};
    for (int64_t i = 0; i < tile.queries; ++i)
      last[i] = static_cast<float>(tile.lastKeyOf(s, i) - tile.keyAt);
    Vec hidden = broadcast(-kInfinity);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
        float *score = scores + j * kBlock + i;
        store(score, selectLess(broadcast(static_cast<float>(j)),
                                load(last + i), load(score), hidden));
      }
  }

  /// Scores to probabilities relative to the new maximum; `factors` is what
  /// earlier results are to be multiplied by.
  void softmax(const Tile &tile, int64_t at) {
    for (int64_t i = 0; i < lanesOf(tile); i += kWidth) {
      Vec before = load(largest + at + i), top = before;
      for (int64_t j = 0; j < tile.keys; ++j)
        top = max(top, load(scores + j * kBlock + i));
      // A query that has seen nothing yet: any finite maximum will do.
      Vec finite = selectLess(broadcast(-kInfinity), top, top, zero());
      Vec factor = exp(sub(before, finite)), sum = zero();
      for (int64_t j = 0; j < tile.keys; ++j) {
        Vec p = exp(sub(load(scores + j * kBlock + i), finite));
        store(scores + j * kBlock + i, p);
        sum = add(sum, p);
      }
      store(largest + at + i, top);
      store(sums + at + i, fma(load(sums + at + i), factor, sum));
      store(factors + i, factor);
    }
  }

  void drop(const Tile &tile) {
    // Rows of `dropped` are queries; the scores' rows are keys.
    dropoutRows(s, task.b, task.h, tile, dropped);
    transposeTile(dropped, tile.queries, tile.keys, kept);
    for (int64_t j = 0; j < tile.keys * kBlock; j += kWidth)
      store(scores + j, mul(load(scores + j), load(kept + j)));
  }

  void finish() {
    auto *lse = static_cast<float *>(args.lse.data);
    if (lse)
      lse += (task.b * s.heads + task.h) * s.queries + task.query;
    for (int64_t i = 0; i < task.queries; ++i) {
      bool none = sums[i] == 0;
      if (lse)
        lse[i] = none ? -kInfinity : largest[i] + __builtin_logf(sums[i]);
      if (!none)
        scaleBy(1 / sums[i], output + i * width, width);
    }
    storeRows(
        s, args.o,
        {args.q, s.queries, s.heads, task.b, task.h, task.query, task.queries},
        output, 1);
  }

  const AttentionForwardArguments &args;
  const AttentionShape &s;
  AttentionTask task;
  int64_t width; ///< of a row of values or output
  float *queries, *output, *largest, *sums, *keys, *values, *scores, *factors,
      *dropped, *kept;
};

void forwardChunk(const AttentionForwardArguments &args,
                  const AttentionTask &task, std::byte *scratch) {
  ForwardChunk(args, task, scratch).run();
}

} // namespace

const AttentionForwardFn attentionForwardChunk = forwardChunk;

} // namespace hocket::kernels::HOCKET_ISA
