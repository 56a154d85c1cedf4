//===- GroupedLaunches.cpp - Launches of the products of experts ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/LibraryLaunches.h"

#include <algorithm>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static const char *const kHeader = "GroupedLinear.cuh";

static bool isPlain(Integers n) {
  return n[0] == static_cast<int64_t>(DType::F32);
}
static int64_t sideOf(Integers n) {
  return isPlain(n) ? cuda::kPlainSide : cuda::kProductSide;
}
/// Whether every row is of pieces of 16 bytes, where that matters.
static bool isAligned(Integers n) {
  return n[2] % 8 == 0 && n[3] % 8 == 0 && !isPlain(n);
}

/// How products are computed (Feed), and what shared memory that takes.
struct Way {
  const char *feed;
  int64_t sharedBytes;
};

static Way wayOf(Integers n, bool hopper) {
  if (hopper)
    return {"Feed::Panels", cuda::kGroupBytes + cuda::kPanelAlignment};
  return {isAligned(n) ? "Feed::Pieces" : "Feed::Elements",
          isPlain(n) ? 0 : cuda::kProductBytes};
}

/// Calls write(launches, hopper) for the launches of any GPU, and for Hopper
/// where it has a way of its own.
template <typename Write>
static KernelError writeProducts(Integers n, CudaCall &call, Write write) {
  if (KernelError error = write(call.launches, false))
    return error;
  return isAligned(n) ? write(call.hopper, true) : nullptr;
}

/// Where code has a kernel that there is another of for Hopper, or is one.
static const char *conditionOf(Integers n, bool hopper) {
  return hopper         ? "defined(HOCKET_HOPPER)"
         : isAligned(n) ? "!defined(__CUDA_ARCH_FEAT_SM90_ALL)"
                        : "";
}

/// Passes the GroupShape of GroupedLinear.cuh.
static void addShape(LaunchText &text, const CudaRequest &request) {
  Integers n = request.integers;
  std::string ranges = "nullptr";
  if (request.buffers > 3) {
    text.parameter("const int *", "ranges", {CudaArgument::Kind::Buffer, 3});
    ranges = "ranges";
  }
  text.parameter("Integer", "rows", {CudaArgument::Kind::I64, 0, n[1]});
  text.parameter("Integer", "experts", {CudaArgument::Kind::I64, 0, n[4]});
  text.parameter("Integer", "runs", {CudaArgument::Kind::I64, 0, n[5]});
  text.pass("GroupShape{" + ranges + ", rows, experts, runs}");
}

/// Cuts the rows into tiles, which lie in the workspace; how many there can be
/// in `tiles`.
static KernelError addTiles(const CudaRequest &request, int64_t &tiles,
                            CudaCall &call, std::vector<CudaLaunch> &launches) {
  Integers n = request.integers;
  int64_t side = sideOf(n);
  // Each expert's rows, and those before and after them, may end in a tile
  // that is not full.
  tiles = std::min(n[1], n[1] / side + n[5] * (2 * n[4] + 1));
  call.workspaceBytes = 16 * (tiles + 1);
  LaunchText text(kHeader, "cutGroups");
  text.workspace("tiles", "GroupTile");
  addShape(text, request);
  return appendLaunch(launches, text.size("side", side).fault(), {1, 1, 1},
                      1024);
}

/// The layer, or the gradient of its inputs; both write buffer 0.
static KernelError addLinear(const CudaRequest &request, bool gradient,
                             CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  int64_t columns = gradient ? n[3] : n[2], depth = gradient ? n[2] : n[3];
  auto write = [&](std::vector<CudaLaunch> &launches, bool hopper) {
    int64_t tiles = 0;
    if (KernelError error = addTiles(request, tiles, call, launches))
      return error;
    Way way = wayOf(n, hopper);
    LaunchText text(kHeader, "groupedLinear",
                    {type, gradient ? "true" : "false", way.feed});
    text.onlyIf(conditionOf(n, hopper));
    text.out("y", type, 0).in("x", type, 1).in("weights", type, 2);
    text.workspace("tiles", "const GroupTile");
    text.size("columns", columns).size("depth", depth);
    if (isPlain(n))
      text.pass("nullptr");
    return appendLaunch(launches, text,
                        {tiles, blocksOf(columns, sideOf(n)), 1},
                        cuda::kProductThreads, way.sharedBytes);
  };
  return writeProducts(n, call, write);
}

KernelError launchGroupedLinear(const CudaRequest &request, CudaCall &call) {
  return addLinear(request, /*gradient=*/false, call);
}

KernelError launchGroupedInputGradient(const CudaRequest &request,
                                       CudaCall &call) {
  return addLinear(request, /*gradient=*/true, call);
}

KernelError launchGroupedWeightGradient(const CudaRequest &request,
                                        CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  auto write = [&](std::vector<CudaLaunch> &launches, bool hopper) {
    int64_t tiles = 0; // Only for the check of the ranges.
    if (KernelError error = addTiles(request, tiles, call, launches))
      return error;
    Way way = wayOf(n, hopper);
    LaunchText text(kHeader, "groupedWeightGradient", {type, way.feed});
    text.onlyIf(conditionOf(n, hopper));
    text.out("dw", "float", 0).in("dy", type, 1).in("x", type, 2);
    addShape(text, request);
    text.size("out", n[2]).size("in", n[3]).accumulate();
    if (isPlain(n))
      text.pass("nullptr");
    return appendLaunch(
        launches, text,
        {n[4] * blocksOf(n[2], sideOf(n)), blocksOf(n[3], sideOf(n)), 1},
        cuda::kProductThreads, way.sharedBytes);
  };
  return writeProducts(n, call, write);
}

} // namespace hocket::kernels::library
