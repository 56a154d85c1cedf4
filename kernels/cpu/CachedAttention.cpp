//===- CachedAttention.cpp - Attention over kept keys, on CPUs ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CachedAttention.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace hocket::kernels {
namespace {

static_assert(kCachePage == kAttentionBlock);

/// Tokens that follow each other in one sequence, as many as a block has.
struct TokenRun {
  int64_t token, count;
};

std::vector<TokenRun> runsOf(const CachedAttentionArguments &args) {
  std::vector<TokenRun> runs;
  for (int64_t t = 0; t < args.tokens; ++t) {
    bool follows = !runs.empty() && runs.back().count < kAttentionBlock &&
                   args.tokenRows[t] == args.tokenRows[t - 1] &&
                   (args.tokenRows[t] < 0 ||
                    args.positions[t] == args.positions[t - 1] + 1);
    if (follows)
      ++runs.back().count;
    else
      runs.push_back({t, 1});
  }
  return runs;
}

KernelError checkCall(const CachedAttentionArguments &args) {
  if (KernelError error = checkProcessor())
    return error;
  DType dtype = args.q.dtype;
  if (!isFloating(dtype) || args.k.dtype != dtype || args.v.dtype != dtype ||
      args.o.dtype != dtype || args.keys.dtype != dtype ||
      args.values.dtype != dtype)
    return "cached_attention: element types it does not take";
  return checkCachedPlaces(args);
}

void keepToken(const CachedAttentionArguments &args, int64_t t) {
  int64_t row = args.tokenRows[t], position = args.positions[t];
  if (row < 0)
    return;
  auto bytes = size_t(args.kvHeads * args.headDim * bytesOf(args.q.dtype));
  auto entry =
      size_t(pageOf(args, row, position) * kCachePage + position % kCachePage);
  auto copy = [&](View to, ConstView from) {
    std::memcpy(static_cast<std::byte *>(to.data) + entry * bytes,
                static_cast<const std::byte *>(from.data) + size_t(t) * bytes,
                bytes);
  };
  copy(args.keys, args.k);
  copy(args.values, args.v);
}

/// The tokens of a run as queries of one sequence whose keys are pages.
AttentionForwardArguments attentionOf(const CachedAttentionArguments &args,
                                      const TokenRun &run) {
  AttentionForwardArguments result;
  AttentionShape &s = result.shape;
  int64_t position = args.positions[run.token];
  s.batch = 1, s.queries = args.tokens, s.keys = position + run.count;
  s.heads = args.heads, s.kvHeads = args.kvHeads, s.headDim = args.headDim;
  s.window = args.window, s.scale = args.scale, s.softcap = args.softcap;
  s.alibi = args.alibi, s.place.firstHead = args.firstHead;
  s.place.heads = args.wholeHeads;
  s.bias = args.bias, s.reach = args.reach;
  s.place.firstQuery = position - run.token;
  result.q = args.q, result.k = args.keys, result.v = args.values;
  result.o = args.o;
  result.pages = args.table + args.tokenRows[run.token] * args.tablePages;
  return result;
}

void clear(const CachedAttentionArguments &args, const TokenRun &run) {
  auto bytes = size_t(args.heads * args.headDim * bytesOf(args.o.dtype));
  std::memset(static_cast<std::byte *>(args.o.data) + size_t(run.token) * bytes,
              0, size_t(run.count) * bytes);
}

} // namespace

KernelError cachedAttention(const CachedAttentionArguments &args,
                            Workers &workers) {
  if (KernelError error = checkCall(args))
    return error;
  auto keep = [&](int64_t t, int) { keepToken(args, t); };
  workers.run(args.tokens, keep);
  std::vector<TokenRun> runs = runsOf(args);
  AttentionForwardFn compute = workers.isa() >= Isa::Avx512
                                   ? avx512::attentionForwardChunk
                                   : avx2::attentionForwardChunk;
  auto task = [&](int64_t index, int worker) {
    const TokenRun &run = runs[size_t(index / args.heads)];
    int64_t head = index % args.heads;
    if (args.tokenRows[run.token] >= 0)
      compute(attentionOf(args, run), {0, head, run.token, run.count},
              workers.scratch(worker).data());
    else if (head == 0)
      clear(args, run);
  };
  workers.run(int64_t(runs.size()) * args.heads, task);
  return nullptr;
}

} // namespace hocket::kernels
