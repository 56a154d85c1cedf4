//===- CachedAttention.cpp - Attention over kept keys ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/CachedAttention.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hocket::kernels {

KernelError checkCachedPlaces(const CachedAttentionArguments &args) {
  int64_t wholeHeads = args.wholeHeads > 0 ? args.wholeHeads : args.heads;
  if (args.firstHead < 0 || args.firstHead > wholeHeads - args.heads)
    return "cached_attention: a shard of heads starts outside of the whole";
  for (int64_t t = 0; t < args.tokens; ++t) {
    int64_t row = args.tokenRows[t], position = args.positions[t];
    if (row == -1)
      continue;
    if (row < 0 || row >= args.rows)
      return "cached_attention: a token's row is not in the table";
    if (position < 0 || position >= args.tablePages * kCachePage)
      return "cached_attention: a token's position is not in its row";
    for (int64_t p = 0; p <= position; p += kCachePage)
      if (int64_t page = pageOf(args, row, p); page < 0 || page >= args.pages)
        return "cached_attention: a page is not in the cache";
  }
  return nullptr;
}

/// The element in the cache of key/value head g at `position` of `row`.
static int64_t entryOf(const CachedAttentionArguments &args, int64_t row,
                       int64_t position, int64_t g) {
  int64_t entry =
      pageOf(args, row, position) * kCachePage + position % kCachePage;
  return (entry * args.kvHeads + g) * args.headDim;
}

static void keep(const CachedAttentionArguments &args, int64_t t) {
  for (int64_t g = 0; g < args.kvHeads; ++g)
    for (int64_t c = 0; c < args.headDim; ++c) {
      int64_t to = entryOf(args, args.tokenRows[t], args.positions[t], g) + c;
      int64_t from = (t * args.kvHeads + g) * args.headDim + c;
      store(args.keys, to, load(args.k, from));
      store(args.values, to, load(args.v, from));
    }
}

static void attend(const CachedAttentionArguments &args, int64_t t, int64_t h) {
  int64_t row = args.tokenRows[t], last = args.positions[t];
  int64_t first =
      args.window > 0 ? std::max<int64_t>(0, last - args.window + 1) : 0;
  int64_t g = h / (args.heads / args.kvHeads);
  int64_t query = (t * args.heads + h) * args.headDim;
  std::vector<double> scores, sums(size_t(args.headDim), 0.0);
  double largest = -INFINITY, total = 0;
  for (int64_t j = first; j <= last; ++j) {
    double dot = 0;
    for (int64_t c = 0; c < args.headDim; ++c)
      dot += load(args.q, query + c) *
             load(args.keys, entryOf(args, row, j, g) + c);
    double score = cappedScore(args.softcap, dot * double(args.scale));
    if (args.alibi)
      score -= alibiSlope(args.firstHead + h,
                          args.wholeHeads > 0 ? args.wholeHeads : args.heads) *
               double(last - j);
    if (args.bias) {
      int64_t behind = std::max(j - last, -args.reach);
      score += double(args.bias[(args.reach + behind) * args.heads + h]);
    }
    scores.push_back(score);
    largest = std::max(largest, scores.back());
  }
  for (int64_t j = first; j <= last; ++j) {
    double p = std::exp(scores[size_t(j - first)] - largest);
    total += p;
    for (int64_t c = 0; c < args.headDim; ++c)
      sums[size_t(c)] += p * load(args.values, entryOf(args, row, j, g) + c);
  }
  for (int64_t c = 0; c < args.headDim; ++c)
    store(args.o, query + c, sums[size_t(c)] / total);
}

KernelError reference::cachedAttention(const CachedAttentionArguments &args) {
  if (KernelError error = checkCachedPlaces(args))
    return error;
  for (int64_t t = 0; t < args.tokens; ++t)
    if (args.tokenRows[t] >= 0)
      keep(args, t);
  for (int64_t t = 0; t < args.tokens; ++t)
    for (int64_t h = 0; h < args.heads; ++h) {
      if (args.tokenRows[t] >= 0) {
        attend(args, t, h);
        continue;
      }
      for (int64_t c = 0; c < args.headDim; ++c)
        store(args.o, (t * args.heads + h) * args.headDim + c, 0);
    }
  return nullptr;
}

} // namespace hocket::kernels
