//===- RowLaunches.cpp - Launches of ops on rows --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"
#include "kernels/reference/RelativeBuckets.h"

#include <cmath>
#include <cstdio>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

/// The first row of a shard, 0 of what is whole.
static void addFirst(LaunchText &text, const CudaRequest &request) {
  if (request.scalars > 0)
    text.scalar("first", 0);
  else
    text.pass("0");
}

static std::string isShard(const CudaRequest &request) {
  return request.scalars > 0 ? "true" : "false";
}

KernelError launchEmbedding(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string from = cudaType(n[0]), to = cudaType(n[1]);
  LaunchText text("Embedding.cuh", "embedding", {from, to, isShard(request)});
  text.in("ids", "int", 0).in("table", from, 1).out("out", to, 2);
  text.size("vocab", n[3]).size("hidden", n[4]);
  addFirst(text, request);
  return addLaunch(call, text.fault(), n[2], 128);
}

KernelError launchEmbeddingGradient(const CudaRequest &request,
                                    CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text("Embedding.cuh", "embeddingGradient",
                  {type, isShard(request)});
  text.in("ids", "int", 0).in("dy", type, 1).out("table", "float", 2);
  text.size("tokens", n[1]).size("vocab", n[2]).size("hidden", n[3]);
  int64_t shift = 0;
  while ((n[2] - 1) >> shift >= cuda::kGradientRows)
    ++shift;
  addFirst(text.size("shift", shift), request);
  return addLaunch(call, text.accumulate().fault(),
                   n[2] > 0 ? int64_t(1) << shift : 0, cuda::kGradientThreads);
}

//===----------------------------------------------------------------------===//
// Rows in the place of tokens
//===----------------------------------------------------------------------===//

KernelError launchPlaceRows(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string word = cudaWord(n[0]);
  bool hasSources = n[5] != 0;
  LaunchText text("PlacedRows.cuh", "placeRows",
                  {word, hasSources ? "true" : "false"});
  text.in("rows", "int", 1).in("x", word, 2);
  if (hasSources)
    text.in("source", word, 3);
  else
    text.pass("nullptr");
  text.out("out", word, 0).size("positions", n[2]).size("sources", n[3]);
  text.size("hidden", n[4]);
  return addLaunch(call, text.fault(), n[1] * n[2], 128);
}

KernelError launchPlacedRowsGradient(const CudaRequest &request,
                                     CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text("PlacedRows.cuh", "placedRowsGradient", {type});
  text.in("rows", "int", 1).in("dy", type, 2).out("dsource", type, 0);
  text.size("positions", n[2]).size("sources", n[3]).size("hidden", n[4]);
  return addLaunch(call, text.fault(), n[1] * n[3] * blocksOf(n[4], 1024), 128);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Passes a kernel the frequencies of a call.
static KernelError passFrequencies(LaunchText &text,
                                   const CudaRequest &request) {
  std::string numbers;
  for (double frequency : request.floats) {
    if (!std::isfinite(frequency))
      return "rope_table: a frequency is not finite";
    char number[40];
    std::snprintf(number, sizeof(number), "%a", frequency);
    numbers += (numbers.empty() ? "" : ",\n    ") + std::string(number);
  }
  text.declare("static __device__ const double $_frequencies[] = {\n    " +
               numbers + "};\n");
  text.pass("$_frequencies");
  return nullptr;
}

/// The template argument of kernels whose rows' rounds, if they are several,
/// are integer `at`.
static std::vector<std::string> roundsText(Integers n, size_t at) {
  int64_t rounds = roundsAt(n, at);
  if (rounds == 1)
    return {};
  return {std::to_string(rounds)};
}

KernelError launchRopeTable(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  bool shard = n.size() > 2;
  LaunchText text("Rope.cuh", "ropeTable", roundsText(n, 4));
  if (KernelError error = passFrequencies(text, request))
    return error;
  text.out("table", "float", 0);
  text.size("rows", n[0]).size("half", n[1] / 2);
  text.size("whole", shard ? n[2] : n[0]).size("part", shard ? n[3] : 0);
  addFirst(text, request);
  return addLaunch(call, text.fault(), blocksOf(n[0] * (n[1] / 2), 256), 256);
}

KernelError launchRopeTableAt(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text("Rope.cuh", "ropeTableAt");
  if (KernelError error = passFrequencies(text, request))
    return error;
  text.in("positions", "int", 0).out("table", "float", 1);
  text.size("rows", n[0]).size("half", n[1] / 2);
  return addLaunch(call, text, blocksOf(n[0] * (n[1] / 2), 256), 256);
}

KernelError launchPositions(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text("Rope.cuh", "positions", roundsText(n, 3));
  text.out("result", "int", 0).size("rows", n[0]).size("whole", n[1]);
  text.size("part", n[2]).scalar("first", 0).fault();
  return addLaunch(call, text, blocksOf(n[0], 256), 256);
}

/// The numbers are written in the text: there are few, and a GPU's logarithms
/// are not those that distances were dealt out by.
KernelError launchRelativeBuckets(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  RelativeBuckets buckets{n[0], n[1], n[2] != 0};
  std::string numbers;
  for (int64_t d = -n[1]; d <= n[1]; ++d)
    numbers += (numbers.empty() ? ""
                : d % 16 == 0   ? ",\n    "
                                : ", ") +
               std::to_string(buckets.of(d));
  int64_t count = 2 * n[1] + 1;
  LaunchText text("Rope.cuh", "copyIntegers");
  text.declare("static __device__ const int $_buckets[] = {\n    " + numbers +
               "};\n");
  text.pass("$_buckets").out("result", "int", 0).size("count", count);
  return addLaunch(call, text, blocksOf(count, 256), 256);
}

KernelError launchRope(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  int64_t rows = n[1] * n[2] * n[3], half = n[6] / 2;
  int64_t width = 16 / bytesOf(static_cast<DType>(n[0]));
  int64_t vectors = blocksOf(half, width) + blocksOf(n[4] - n[6], width);
  auto flag = [](bool is) { return is ? "true" : "false"; };
  LaunchText text("Rope.cuh", "rope",
                  {type, flag(n[5] != 0), flag(n[6] < n[4])});
  text.in("x", type, 0).in("table", "float", 1).out("y", type, 2);
  text.size("rows", rows).size("sequence", n[2]).size("heads", n[3]);
  text.size("half", half).size("dim", n[4]);
  return addLaunch(call, text, blocksOf(rows * vectors, 256), 256);
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

/// Tensors of one launch.
constexpr size_t kNormTensors = 32;

/// The sums of squares of `tensors` (indices), which have one type and
/// `chunks` chunks, to the workspace from `offset` on.
static KernelError addSums(const CudaRequest &request,
                           std::span<const size_t> tensors, int64_t chunks,
                           int64_t offset, CudaCall &call) {
  std::string type = cudaType(request.integers[2 * tensors[0]]);
  LaunchText text("GlobalNorm.cuh", "sumOfSquares",
                  {type, std::to_string(kNormTensors)});
  std::string list;
  for (size_t i = 0; i < kNormTensors; ++i) {
    bool exists = i < tensors.size();
    size_t tensor = exists ? tensors[i] : tensors[0];
    std::string x = "x" + std::to_string(i), n = "n" + std::to_string(i);
    text.parameter("const " + type + " *", x,
                   {CudaArgument::Kind::Buffer, uint32_t(2 + tensor)});
    text.parameter("Integer", n,
                   {CudaArgument::Kind::I64, 0,
                    exists ? request.integers[2 * tensor + 1] : 0});
    list += (i == 0 ? "{" : ", {") + x + ", " + n + "}";
  }
  text.pass("{" + list + "}").workspace("sums", "double", offset);
  return addLaunch(call, text, chunks, 256);
}

KernelError launchGlobalNorm(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  int64_t sums = 0;
  for (int64_t dtype : {1, 2, 3}) {
    std::vector<size_t> tensors;
    int64_t chunks = 0;
    auto flush = [&]() -> KernelError {
      KernelError error =
          chunks > 0 ? addSums(request, tensors, chunks, sums * 8, call)
                     : nullptr;
      sums += chunks;
      tensors.clear();
      chunks = 0;
      return error;
    };
    for (size_t tensor = 0; 2 * tensor < n.size(); ++tensor) {
      if (n[2 * tensor] != dtype || n[2 * tensor + 1] == 0)
        continue;
      tensors.push_back(tensor);
      chunks += blocksOf(n[2 * tensor + 1], cuda::kNormChunk);
      if (tensors.size() == kNormTensors)
        if (KernelError error = flush())
          return error;
    }
    if (KernelError error = flush())
      return error;
  }
  call.workspaceBytes = sums * 8;
  LaunchText text("GlobalNorm.cuh", "normOfSums");
  text.workspace("sums", "const double").size("count", sums);
  text.out("norm", "float", 0).out("nonfinite", "float", 1);
  return addLaunch(call, text, 1, 1024);
}

} // namespace hocket::kernels::library
