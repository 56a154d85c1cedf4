//===- AttentionBackward.cpp - Part of attention's gradient ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Probabilities are recomputed from lse, tile by tile (Dao et al., 2022,
/// algorithm 4), and every tile is used for all three gradients. Tiles are
/// [query][key], which is what the GEMMs for dk and dv read; the one for dq
/// reads a transposed copy.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/AttentionBlocks.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

class BackwardPart {
public:
  BackwardPart(const AttentionBackwardArguments &args,
               const AttentionBackwardTask &task, std::byte *memory)
      : args(args), s(args.shape), task(task), width(paddedDim(s)) {
    Scratch scratch{memory};
    int64_t keyRows = task.keyEnd - task.key + kBlock;
    for (float **array :
         {&queryColumns, &queryRows, &outColumns, &outRows, &dq})
      *array = scratch.floats(task.chunk * width);
    for (float **array : {&dk, &dv})
      *array = scratch.floats(keyRows * width);
    for (float **array : {&keyColumns, &valueColumns, &keyRowsOfBlock})
      *array = scratch.floats(kBlock * width);
    for (float **array : {&p, &ds, &kept, &transposed})
      *array = scratch.floats(kBlock * kBlock);
    clear(dk, keyRows * width);
    clear(dv, keyRows * width);
  }

  void run() {
    for (head = task.head; head < task.headEnd; ++head)
      for (int64_t query = task.query, count; query < task.queryEnd;
           query += count) {
        count = rowsFrom(s, query, task.queryEnd, task.chunk);
        visitChunk(query, count);
      }
    if (!task.wantKey)
      return;
    HeadRows rows{args.k,
                  s.keys,
                  s.kvHeads,
                  task.b,
                  task.g,
                  task.key,
                  task.keyEnd - task.key};
    storeRows(s, args.dk, rows, dk, 1); // the queries carried the scale
    storeRows(s, args.dv, rows, dv, 1);
  }

private:
  static void clear(float *x, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      x[i] = 0;
  }

  HeadRows queriesAt(ConstView tensor, int64_t query, int64_t count) const {
    return {tensor, s.queries, s.heads, task.b, head, query, count};
  }

  void visitChunk(int64_t query, int64_t count) {
    bool any = false;
    dBias = biasPartOf(query);
    for (int64_t key = task.key, keys; key < task.keyEnd; key += keys) {
      keys = rowsFrom(s, key, task.keyEnd, kBlock);
      if (!Tile(s, task.b, query, count, key, keys).visible(s))
        continue;
      if (!any)
        loadChunk(query, count);
      any = true;
      visitKeys(query, count, key, keys);
    }
    if (!any && task.wantQuery)
      clear(dq, count * width);
    if (task.wantQuery)
      storeRows(s, args.dq, queriesAt(args.q, query, count), dq, s.scale);
  }

  /// Where the gradient of the bias goes that a chunk's queries give, as zeros;
  /// null where none is wanted.
  float *biasPartOf(int64_t query) const {
    if (!s.bias || !task.wantQuery)
      return nullptr;
    int64_t part = s.place.part > 0 ? s.place.part : s.queries;
    int64_t chunks = (part + task.chunk - 1) / task.chunk;
    int64_t index = query / part * chunks + query % part / task.chunk;
    int64_t parts = attentionBiasParts(s.queries, s.place.part, s.headDim);
    int64_t rows = 2 * s.reach + 1;
    float *to =
        args.biasParts + ((task.b * parts + index) * s.heads + head) * rows;
    for (int64_t i = 0; i < rows; ++i)
      to[i] = 0;
    return to;
  }

  void loadChunk(int64_t query, int64_t count) {
    for (int64_t i = 0; i < count; i += kBlock) {
      int64_t n = std::min(kBlock, count - i);
      loadColumns(s, queriesAt(args.q, query + i, n),
                  queryColumns + i * s.headDim);
      loadColumns(s, queriesAt(args.dO, query + i, n),
                  outColumns + i * s.headDim);
      loadRows(s, queriesAt(args.q, query + i, n), queryRows + i * width);
      loadRows(s, queriesAt(args.dO, query + i, n), outRows + i * width);
    }
    int64_t whole = (count + kBlock - 1) / kBlock * kBlock;
    scaleBy(s.scale, queryColumns, whole * s.headDim);
    scaleBy(s.scale, queryRows, count * width);
    clear(dq, count * width);
  }

  void visitKeys(int64_t query, int64_t count, int64_t key, int64_t keys) {
    HeadRows k{args.k, s.keys, s.kvHeads, task.b, task.g, key, keys}, v = k;
    v.tensor = args.v;
    loadColumns(s, k, keyColumns);
    loadColumns(s, v, valueColumns);
    if (task.wantQuery)
      loadRows(s, k, keyRowsOfBlock);
    for (int64_t i = 0; i < count; i += kBlock) {
      Tile tile(s, task.b, query + i, std::min(kBlock, count - i), key, keys);
      if (tile.visible(s))
        visitTile(tile, i);
    }
  }

  void visitTile(const Tile &tile, int64_t at) {
    multiply(tile.queries, kBlock,
             {s.headDim, queryColumns + at * s.headDim, kBlock, keyColumns,
              kBlock, p, kBlock, false});
    multiply(tile.queries, kBlock,
             {s.headDim, outColumns + at * s.headDim, kBlock, valueColumns,
              kBlock, ds, kBlock, false});
    if (s.bias)
      loadBias(s, tile, head, 1, biases);
    int64_t statistics = (task.b * s.heads + head) * s.queries;
    if (s.dropout > 0)
      dropoutRows(s, task.b, head, tile, kept);
    for (int64_t i = 0; i < tile.queries; ++i)
      differentiate(tile, i, statistics + tile.query + i);
    if (dBias)
      addBiasGradient(tile);
    if (task.wantKey) {
      float *dvRows = dv + (tile.key - task.key) * width;
      float *dkRows = dk + (tile.key - task.key) * width;
      multiply(tile.keys, width,
               {tile.queries, p, kBlock, outRows + at * width, width, dvRows,
                width, true});
      multiply(tile.keys, width,
               {tile.queries, ds, kBlock, queryRows + at * width, width, dkRows,
                width, true});
    }
    if (task.wantQuery) {
      transposeTile(ds, tile.queries, tile.keys, transposed);
      multiply(tile.queries, width,
               {tile.keys, transposed, kBlock, keyRowsOfBlock, width,
                dq + at * width, width, true});
    }
  }

  /// Row i of the tile: scores in p become (dropped) probabilities, gradients
  /// of probabilities in ds become those of scores.
  void differentiate(const Tile &tile, int64_t i, int64_t statistic) {
    Vec lse = broadcast(static_cast<const float *>(args.lse.data)[statistic]);
    Vec delta =
        broadcast(static_cast<const float *>(args.delta.data)[statistic]);
    // Keys from `first` and before `last` are seen, counted from the tile's.
    Vec first =
        broadcast(static_cast<float>(tile.firstKeyOf(s, i) - tile.keyAt));
    Vec last = broadcast(static_cast<float>(tile.lastKeyOf(s, i) - tile.keyAt));
    for (int64_t j = 0; j < kBlock; j += kWidth) {
      float *pAt = p + i * kBlock + j, *dsAt = ds + i * kBlock + j;
      Vec lane = lanesFrom(j);
      Vec score = load(pAt), gradient = load(dsAt), slope = broadcast(1.0f);
      if (s.softcap > 0) {
        Vec share = tanh(mul(score, broadcast(1 / s.softcap)));
        score = mul(broadcast(s.softcap), share);
        slope = fnma(share, share, slope);
      }
      if (s.alibi) {
        Vec each = broadcast(static_cast<float>(slopeOf(s, head)));
        Vec behind = lanesFrom(tile.keyAt + j - (tile.queryAt + i));
        score = fma(each, behind, score);
      }
      if (s.bias)
        score = add(score, load(biases + kBlock + j - i));
      Vec probability = exp(sub(score, lse));
      probability = selectLess(lane, last, probability, zero());
      probability = selectLess(lane, first, zero(), probability);
      Vec dropped = probability;
      if (s.dropout > 0) {
        Vec factor = load(kept + i * kBlock + j);
        dropped = mul(dropped, factor);
        gradient = mul(gradient, factor);
      }
      store(pAt, dropped);
      store(dsAt, mul(mul(probability, sub(gradient, delta)), slope));
    }
  }

  /// Sums the gradients of scores by distance: along the tile's diagonals, and
  /// then those of one row of the bias.
  void addBiasGradient(const Tile &tile) {
    alignas(64) float sums[2 * kBlock] = {};
    for (int64_t i = 0; i < tile.queries; ++i) {
      float *row = ds + i * kBlock, *to = sums + kBlock - i;
      for (int64_t j = tile.keys; j < kBlock; ++j)
        row[j] = 0; // Of no key.
      for (int64_t j = 0; j < kBlock; j += kWidth)
        store(to + j, add(load(to + j), load(row + j)));
    }
    for (int64_t d = 1 - kBlock; d < kBlock; ++d)
      dBias[biasRow(s, tile.keyAt - tile.queryAt + d)] += sums[kBlock + d];
  }

  const AttentionBackwardArguments &args;
  const AttentionShape &s;
  AttentionBackwardTask task;
  int64_t width; ///< of a row
  int64_t head = 0;
  // Columns are [d][kBlock] per block, rows [row][width].
  float *queryColumns, *queryRows, *outColumns, *outRows, *dq;
  float *dk, *dv;
  float *keyColumns, *valueColumns, *keyRowsOfBlock;
  float *p, *ds, *kept, *transposed;    ///< tiles
  float *dBias = nullptr;               ///< of the chunk; null: not wanted
  alignas(64) float biases[2 * kBlock]; ///< of a tile's distances
};

void backwardPart(const AttentionBackwardArguments &args,
                  const AttentionBackwardTask &task, std::byte *scratch) {
  BackwardPart(args, task, scratch).run();
}

void delta(const AttentionBackwardArguments &args, int64_t token) {
  const AttentionShape &s = args.shape;
  int64_t b = token / s.queries, i = token % s.queries;
  for (int64_t h = 0; h < s.heads; ++h) {
    int64_t row = (token * s.heads + h) * s.headDim;
    Vec sum = zero();
    for (int64_t c = 0; c < s.headDim; c += kWidth)
      sum = fma(loadFirst(args.o, row + c, s.headDim - c),
                loadFirst(args.dO, row + c, s.headDim - c), sum);
    static_cast<float *>(args.delta.data)[(b * s.heads + h) * s.queries + i] =
        sumOf(sum);
  }
}

} // namespace

const AttentionBackwardFn attentionBackwardPart = backwardPart;
const AttentionDeltaFn attentionDelta = delta;

} // namespace hocket::kernels::HOCKET_ISA
