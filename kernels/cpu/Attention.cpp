//===- Attention.cpp - Attention on the CPU -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Attention.h"

#include "kernels/cpu/simd/Kernels.h"
#include "kernels/reference/RelativeBuckets.h"

#include <algorithm>
#include <initializer_list>

namespace hocket::kernels {
namespace {

/// Queries of one forward task: the blocks of keys are converted once for all
/// of them.
constexpr int64_t kForwardQueries = 512;
/// Keys of one backward task where not all fit in scratch.
constexpr int64_t kBackwardKeys = 512;
/// The widest head; scratch is sized for it.
constexpr int64_t kMostHeadDim = 512;

/// Queries held in scratch at a time by a backward task.
constexpr int64_t backwardChunk(int64_t headDim) {
  return headDim > 256 ? 128 : 256;
}

static_assert(attentionBackwardScratch(kMostHeadDim,
                                       backwardChunk(kMostHeadDim),
                                       kBackwardKeys) <=
              static_cast<int64_t>(kScratchBytesPerWorker));
static_assert(attentionBackwardScratch(256, backwardChunk(256),
                                       kBackwardKeys) <=
              static_cast<int64_t>(kScratchBytesPerWorker));

/// Cuts the rows [0, rows) of a sequence into blocks of at most `most`, none
/// across the end of a part.
struct RowBlocks {
  int64_t rows, part, most;
  int64_t perPart;

  RowBlocks(const AttentionShape &s, int64_t rows, int64_t most)
      : rows(rows),
        part(s.place.part > 0 ? s.place.part : std::max<int64_t>(rows, 1)),
        most(most), perPart(divideUp(part, most)) {}

  int64_t count() const { return divideUp(rows, part) * perPart; }
  int64_t begin(int64_t block) const {
    return std::min(rows, block / perPart * part + block % perPart * most);
  }
  int64_t end(int64_t block) const {
    int64_t partEnd = (block / perPart + 1) * part;
    return std::min({rows, partEnd, begin(block) + most});
  }
};

KernelError checkShape(const AttentionShape &s) {
  if (KernelError error = checkProcessor())
    return error;
  if (s.heads < 1 || s.kvHeads < 1 || s.heads % s.kvHeads)
    return "attention: the key/value heads do not divide the heads";
  if (s.headDim < 1 || s.headDim > kMostHeadDim)
    return "attention: a head is not 1 to 512 wide";
  if (!(s.dropout >= 0 && s.dropout < 1))
    return "attention: dropout is not in [0, 1)";
  if (!(s.softcap >= 0))
    return "attention: the softcap is negative";
  if (s.bias && (s.softcap > 0 || s.alibi || s.reach < 0 ||
                 s.reach > kMostRelativeDistance))
    return "attention: a bias that it does not take";
  const AttentionPlace &at = s.place;
  for (int64_t first :
       {at.firstQuery, at.firstKey, at.firstSequence, at.firstHead})
    if (first < 0 || first > INT32_MAX)
      return "attention: a shard starts outside of the whole";
  if (!isStorable(at.part, at.rounds, wholeSequence(s)))
    return "attention: a sequence is no even number of parts in every round";
  return nullptr;
}

KernelError checkTypes(DType dtype, std::initializer_list<DType> tensors,
                       std::initializer_list<DType> statistics) {
  bool same = isFloating(dtype);
  for (DType other : tensors)
    same &= other == dtype;
  for (DType other : statistics)
    same &= other == DType::F32;
  return same ? nullptr : "attention: element types it does not take";
}

/// dk and dv of whole key/value heads, and dq with them: every tile is
/// computed once.
void runFused(const AttentionBackwardArguments &args, Workers &workers,
              AttentionBackwardFn compute) {
  const AttentionShape &s = args.shape;
  int64_t group = s.heads / s.kvHeads;
  auto task = [&](int64_t index, int worker) {
    AttentionBackwardTask part;
    part.b = index / s.kvHeads, part.g = index % s.kvHeads;
    part.head = part.g * group, part.headEnd = part.head + group;
    part.queryEnd = s.queries, part.keyEnd = s.keys;
    part.chunk = backwardChunk(s.headDim);
    part.wantQuery = part.wantKey = true;
    compute(args, part, workers.scratch(worker).data());
  };
  workers.run(s.batch * s.kvHeads, task);
}

/// dk and dv in one sweep over chunks of keys, dq in another over chunks of
/// queries: tiles are computed twice, but sequences may be long and tasks are
/// many. Sums have the same order as in runFused.
void runSplit(const AttentionBackwardArguments &args, Workers &workers,
              AttentionBackwardFn compute) {
  const AttentionShape &s = args.shape;
  int64_t group = s.heads / s.kvHeads, chunk = backwardChunk(s.headDim);
  RowBlocks keys(s, s.keys, kBackwardKeys), queries(s, s.queries, chunk);
  auto keyTask = [&](int64_t index, int worker) {
    AttentionBackwardTask part;
    int64_t head = index / keys.count(), block = index % keys.count();
    part.b = head / s.kvHeads, part.g = head % s.kvHeads;
    part.head = part.g * group, part.headEnd = part.head + group;
    part.key = keys.begin(block), part.keyEnd = keys.end(block);
    part.queryEnd = s.queries, part.chunk = chunk, part.wantKey = true;
    compute(args, part, workers.scratch(worker).data());
  };
  workers.run(s.batch * s.kvHeads * keys.count(), keyTask);
  auto queryTask = [&](int64_t index, int worker) {
    AttentionBackwardTask part;
    int64_t head = index / queries.count(), block = index % queries.count();
    part.b = head / s.heads, part.head = head % s.heads;
    part.headEnd = part.head + 1, part.g = part.head / group;
    part.query = queries.begin(block), part.queryEnd = queries.end(block);
    part.keyEnd = s.keys, part.chunk = chunk, part.wantQuery = true;
    compute(args, part, workers.scratch(worker).data());
  };
  workers.run(s.batch * s.heads * queries.count(), queryTask);
}

/// The gradient of the bias, of what each part of the queries gave.
void sumBiasParts(const AttentionBackwardArguments &args, Workers &workers) {
  const AttentionShape &s = args.shape;
  int64_t rows = 2 * s.reach + 1;
  int64_t parts = attentionBiasParts(s.queries, s.place.part, s.headDim);
  int64_t used = RowBlocks(s, s.queries, backwardChunk(s.headDim)).count();
  auto task = [&](int64_t h, int) {
    for (int64_t d = 0; d < rows; ++d) {
      float sum = 0;
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t i = 0; i < used; ++i)
          sum += args.biasParts[((b * parts + i) * s.heads + h) * rows + d];
      args.dBias[d * s.heads + h] = sum;
    }
  };
  workers.run(s.heads, task);
}

} // namespace

KernelError attentionForward(const AttentionForwardArguments &args,
                             Workers &workers) {
  const AttentionShape &s = args.shape;
  if (KernelError error = checkShape(s))
    return error;
  if (KernelError error =
          checkTypes(args.q.dtype, {args.k.dtype, args.v.dtype, args.o.dtype},
                     {args.lse.dtype}))
    return error;
  AttentionForwardFn compute = workers.isa() >= Isa::Avx512
                                   ? avx512::attentionForwardChunk
                                   : avx2::attentionForwardChunk;
  RowBlocks chunks(s, s.queries, kForwardQueries);
  auto task = [&](int64_t index, int worker) {
    int64_t head = index / chunks.count(), block = index % chunks.count();
    AttentionTask part{head / s.heads, head % s.heads, chunks.begin(block), 0};
    part.queries = chunks.end(block) - part.query;
    if (part.queries <= 0)
      return;
    compute(args, part, workers.scratch(worker).data());
  };
  workers.run(s.batch * s.heads * chunks.count(), task);
  return nullptr;
}

KernelError attentionBackward(const AttentionBackwardArguments &args,
                              Workers &workers) {
  const AttentionShape &s = args.shape;
  if (KernelError error = checkShape(s))
    return error;
  if (KernelError error =
          checkTypes(args.q.dtype,
                     {args.k.dtype, args.v.dtype, args.o.dtype, args.dO.dtype,
                      args.dq.dtype, args.dk.dtype, args.dv.dtype},
                     {args.lse.dtype, args.delta.dtype}))
    return error;
  bool wide = workers.isa() >= Isa::Avx512;
  AttentionDeltaFn delta = wide ? avx512::attentionDelta : avx2::attentionDelta;
  auto task = [&](int64_t token, int) { delta(args, token); };
  workers.run(s.batch * s.queries, task);
  AttentionBackwardFn compute =
      wide ? avx512::attentionBackwardPart : avx2::attentionBackwardPart;
  bool fits =
      attentionBackwardScratch(s.headDim, backwardChunk(s.headDim), s.keys) <=
      static_cast<int64_t>(kScratchBytesPerWorker);
  // Both give the same bits, so the number of workers may choose.
  if (fits && s.batch * s.kvHeads >= workers.count())
    runFused(args, workers, compute);
  else
    runSplit(args, workers, compute);
  if (s.bias)
    sumBiasParts(args, workers);
  return nullptr;
}

} // namespace hocket::kernels
