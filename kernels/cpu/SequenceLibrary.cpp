//===- SequenceLibrary.cpp - Kernels of sequences that ranks share --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CachedAttention.h"
#include "kernels/cpu/LibraryCalls.h"
#include "kernels/cpu/Rope.h"
#include "kernels/cpu/StateSpace.h"
#include "kernels/reference/Positions.h"
#include "kernels/reference/RelativeBuckets.h"

#include <cmath>
#include <cstring>

namespace hocket::kernels::library {

static bool isPlace(int64_t first) { return first >= 0 && first <= INT32_MAX; }

KernelError runPositions(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  int64_t first = call.scalars[0];
  if (!isPlace(first))
    return "positions: the first row is out of range";
  auto *result = static_cast<int32_t *>(at(call, 0));
  for (int64_t i = 0; i < n[0]; ++i)
    result[i] = static_cast<int32_t>(
        storedPosition(first + i, n[2], roundsAt(n, 3), n[1]));
  return nullptr;
}

KernelError runRelativeBuckets(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  RelativeBuckets buckets{n[0], n[1], n[2] != 0};
  auto *result = static_cast<int32_t *>(at(call, 0));
  for (int64_t d = -n[1]; d <= n[1]; ++d)
    result[n[1] + d] = static_cast<int32_t>(buckets.of(d));
  return nullptr;
}

KernelError runRopeTableShard(const LibraryCall &call, Workers &workers) {
  if (!isPlace(call.scalars[0]))
    return "rope_table: the first row is out of range";
  return ropeTable(ropeTableArguments(call), workers);
}

KernelError runCachedAttention(const LibraryCall &call, Workers &workers) {
  CachedAttentionArguments args = cachedAttentionArguments(call);
  auto bytes = size_t(args.pages * kCachePage * args.kvHeads * args.headDim *
                      bytesOf(args.keys.dtype));
  size_t results = call.buffers.size() - 2;
  for (size_t i : {0, 1})
    if (at(call, 6 + i) != at(call, results + i))
      std::memcpy(at(call, results + i), at(call, 6 + i), bytes);
  return cachedAttention(args, workers);
}

/// Where the result of a cache is not its operand, the one becomes the other.
static void copyCache(const LibraryCall &call, size_t result, size_t operand,
                      int64_t bytes) {
  if (at(call, result) != at(call, operand))
    std::memcpy(at(call, result), at(call, operand), size_t(bytes));
}

KernelError runCachedConv(const LibraryCall &call, Workers &workers) {
  CachedConvArguments args = cachedConvArguments(call);
  copyCache(call, 1, call.buffers.size() - 1,
            args.places.rows * (args.conv.taps - 1) * args.conv.channels *
                bytesOf(args.cache.dtype));
  return cachedConv(args, workers);
}

KernelError runCachedScan(const LibraryCall &call, Workers &workers) {
  CachedScanArguments args = cachedScanArguments(call);
  const ScanShape &shape = args.scan.shape;
  copyCache(call, 1, 11,
            4 * args.places.rows * shape.heads * shape.width * shape.state);
  return cachedScan(args, workers);
}

/// One token of one sequence, all heads. Results may be the first operands.
static void mergeToken(const LibraryCall &call, int64_t token) {
  int64_t positions = call.integers[1], heads = call.integers[2];
  int64_t width = call.integers[3];
  auto pointer = [&](size_t i) { return static_cast<float *>(at(call, i)); };
  for (int64_t h = 0; h < heads; ++h) {
    int64_t row =
        (token / positions * heads + h) * positions + token % positions;
    float x = pointer(1)[row], y = pointer(3)[row];
    float greatest = x > y ? x : y;
    float sum = greatest, a = 0, b = 0;
    if (greatest != -INFINITY) {
      sum += std::log(std::exp(x - greatest) + std::exp(y - greatest));
      a = std::exp(x - sum), b = std::exp(y - sum);
    }
    pointer(5)[row] = sum;
    int64_t from = (token * heads + h) * width;
    const float *left = pointer(0) + from, *right = pointer(2) + from;
    float *to = pointer(4) + from;
    for (int64_t c = 0; c < width; ++c)
      to[c] = a * left[c] + b * right[c];
  }
}

KernelError runMergeAttention(const LibraryCall &call, Workers &workers) {
  auto task = [&](int64_t token, int) { mergeToken(call, token); };
  workers.run(call.integers[0] * call.integers[1], task);
  return nullptr;
}

} // namespace hocket::kernels::library
