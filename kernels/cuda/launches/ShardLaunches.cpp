//===- ShardLaunches.cpp - Launches of copies between shards --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

/// Elements of `dtype` in 16 bytes; 0 of a type without a size.
static int64_t elementsOf(int64_t dtype) {
  int64_t bytes = bytesOf(static_cast<DType>(dtype));
  return bytes > 0 ? 16 / bytes : 0;
}

KernelError launchPadRows(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  LaunchText text("Shards.cuh", "padRows", {word});
  text.in("x", word, 0).out("y", word, 1);
  text.size("there", n[1]).size("room", n[2]);
  return addLaunch(call, text, blocksOf(n[2], 256 * elementsOf(n[0])), 256);
}

KernelError launchAccumulate(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text("Shards.cuh", "accumulate", {type});
  text.in("x", type, 0).out("y", "float", 1).size("count", n[1]).accumulate();
  return addLaunch(call, text, blocksOf(n[1], 256 * 8), 256);
}

/// Blocks for `rows` rows of `width` elements.
static int64_t blocksOfRows(int64_t rows, int64_t width, int64_t dtype) {
  int64_t each = elementsOf(dtype);
  return each > 0 ? blocksOf(rows * blocksOf(width, each), 256) : 0;
}

static KernelError addShards(const char *function, const CudaRequest &request,
                             CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  LaunchText text("Shards.cuh", function, {word});
  text.in("x", word, 0).out("y", word, 1).size("shards", n[1]);
  text.size("rows", n[2]).size("width", n[3]).size("whole", n[4]);
  return addLaunch(call, text, blocksOfRows(n[1] * n[2], n[3], n[0]), 256);
}

KernelError launchGatherShards(const CudaRequest &request, CudaCall &call) {
  return addShards("gatherShards", request, call);
}

KernelError launchScatterShards(const CudaRequest &request, CudaCall &call) {
  return addShards("scatterShards", request, call);
}

KernelError launchTranspose(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text("Transpose.cuh", "transpose");
  text.in("x", "Byte", 0).out("y", "Byte", 1);
  text.size("rows", n[1]).size("columns", n[2]);
  return addLaunch(call, text,
                   blocksOf(n[1], cuda::kTransposeSide) *
                       blocksOf(n[2], cuda::kTransposeSide),
                   256);
}

KernelError launchSliceShard(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  LaunchText text("Shards.cuh", "sliceShard", {word});
  text.in("x", word, 0).out("y", word, 1).size("rows", n[1]);
  text.size("width", n[2]).size("whole", n[3]).scalar("first", 0).fault();
  return addLaunch(call, text, blocksOfRows(n[1], n[2], n[0]), 256);
}

KernelError launchInsertRows(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  LaunchText text("Shards.cuh", "insertRows", {word});
  text.in("x", word, 0).in("z", word, 1).out("y", word, 2);
  text.size("there", n[1]).size("room", n[2]).size("first", n[3]);
  return addLaunch(call, text, blocksOf(n[2], 256 * elementsOf(n[0])), 256);
}

KernelError launchShiftRows(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  LaunchText text("Shards.cuh", "shiftRows", {word});
  text.in("x", word, 0).out("y", word, 1).size("rows", n[1]);
  text.size("width", n[2]).size("first", n[3]);
  return addLaunch(call, text, blocksOfRows(n[1], n[2], n[0]), 256);
}

KernelError launchJoinHeads(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  int64_t rows = n[1] * n[2];
  LaunchText text("Shards.cuh", "joinHeads", {word});
  text.in("front", word, 0).in("x", word, 1).out("y", word, 2);
  text.size("rows", rows).size("heads", n[3] == 1 ? n[2] : 1);
  text.size("before", n[4]).size("own", n[5]);
  return addLaunch(call, text, blocksOfRows(rows, n[4] + n[5], n[0]), 256);
}

KernelError launchSumHeads(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text("Shards.cuh", "sumHeads", {type});
  text.in("x", type, 0).out("y", type, 1).size("tokens", n[1]);
  text.size("heads", n[2]).size("whole", n[3]).size("width", n[4]);
  return addLaunch(call, text, blocksOf(n[1] * blocksOf(n[4], 4), 256), 256);
}

KernelError launchMergeAttention(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  int64_t rows = n[0] * n[1] * n[2];
  LaunchText text("Shards.cuh", "mergeAttention");
  text.in("o", "float", 0).in("lse", "float", 1).in("otherO", "float", 2);
  text.in("otherLse", "float", 3).out("resultO", "float", 4);
  text.out("resultLse", "float", 5).size("rows", rows).size("positions", n[1]);
  text.size("heads", n[2]).size("width", n[3]);
  return addLaunch(call, text, blocksOf(rows, 8), 256);
}

} // namespace hocket::kernels::library
