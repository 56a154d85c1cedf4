//===- GroupedLaunches.cpp - Launches of the GEMMs of experts -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

#include <algorithm>
#include <array>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static const char *const kGroupedHeader = "GroupedLinear.cuh";
static const char *const kHopperHeader = "HopperGemm.cuh";
/// Of the gradient of weights, and of what stores its results late.
constexpr int64_t kGroupShared = cuda::kGroupBytes + cuda::kTileAlignment;
constexpr int64_t kLateShared =
    kGroupShared + 4 * cuda::kGemmWarpgroups * cuda::kGroupPieceBytes;

static bool isPlain(Integers n) {
  return n[0] == static_cast<int64_t>(DType::F32);
}
static int64_t sideOf(Integers n) {
  return isPlain(n) ? cuda::kPlainSide : cuda::kGemmSide;
}
/// Whether every row is of vectors of 16 bytes, where that matters.
static bool isAligned(Integers n) {
  return n[2] % 8 == 0 && n[3] % 8 == 0 && !isPlain(n);
}
/// Whether operands are tensors that TMA fetches, on Hopper.
static bool hasTensors(Integers n) {
  int64_t most = int64_t(1) << 31;
  return isAligned(n) && n[1] > 0 && n[1] < most && n[2] < most &&
         n[3] < most && n[2] * n[3] < most * 256;
}
/// Where there are kernels for Hopper: in no code for it.
static const char *elsewhere(Integers n) {
  return hasTensors(n) ? "!defined(__CUDA_ARCH_FEAT_SM90_ALL)" : "";
}

/// [rows, columns] of a buffer, of which squares or rows of 128 bytes are
/// copied.
static CudaTensor matrixOf(Integers n, uint32_t buffer, int64_t rows,
                           int64_t columns, int64_t boxRows) {
  return {
      buffer,       static_cast<DType>(n[0]), 2, {columns, rows}, {1, columns},
      {64, boxRows}};
}
/// [experts, rows, columns].
static CudaTensor weightsOf(Integers n, uint32_t buffer, int64_t rows,
                            int64_t columns, int64_t boxRows) {
  return {buffer,
          static_cast<DType>(n[0]),
          3,
          {columns, rows, n[4]},
          {1, columns, rows * columns},
          {64, boxRows, 1}};
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
  text.parameter("Integer", "segments", {CudaArgument::Kind::I64, 0, n[6]});
  text.pass("GroupShape{" + ranges + ", rows, experts, runs, segments}");
}

/// Cuts the rows into tiles, which lie in the workspace; how many there can be
/// in `tiles`.
static KernelError addTiles(const CudaRequest &request, int64_t &tiles,
                            CudaCall &call, std::vector<CudaLaunch> &launches) {
  Integers n = request.integers;
  int64_t side = sideOf(n);
  // Each segment, and the rows before and after it, may end in a tile that is
  // not full.
  tiles = std::min(n[1], n[1] / side + n[5] * (2 * n[6] + 1));
  call.workspaceBytes = 16 * (tiles + 1);
  LaunchText text(kGroupedHeader, "cutGroups");
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
  int64_t tiles = 0;
  const char *isGradient = gradient ? "true" : "false";
  if (KernelError error = addTiles(request, tiles, call, call.launches))
    return error;
  LaunchText any(kGroupedHeader, "groupedLinear",
                 {type, isGradient, isAligned(n) ? "true" : "false"});
  any.onlyIf(elsewhere(n));
  any.out("y", type, 0).in("x", type, 1).in("weights", type, 2);
  any.workspace("tiles", "const GroupTile");
  any.size("columns", columns).size("depth", depth);
  if (isPlain(n))
    any.pass("nullptr");
  if (KernelError error = appendLaunch(
          call.launches, any, {tiles, blocksOf(columns, sideOf(n)), 1},
          cuda::kGemmThreads, isPlain(n) ? 0 : cuda::kGemmBytes))
    return error;
  if (!hasTensors(n))
    return nullptr;
  if (KernelError error = addTiles(request, tiles, call, call.hopper))
    return error;
  LaunchText hopper(kHopperHeader, "hopperGroupedLinear", {type, isGradient});
  hopper.onlyIf("defined(HOCKET_HOPPER)").persistent();
  hopper.tensor("x", matrixOf(n, 1, n[1], depth, cuda::kGemmSide));
  // Weights lie as [n[2], n[3]]: in rows of the depth, or, for the gradient, in
  // rows of columns.
  hopper.tensor("weights",
                weightsOf(n, 2, n[2], n[3],
                          gradient ? cuda::kGroupDepth : cuda::kGemmSide));
  hopper.out("y", type, 0).workspace("tiles", "const GroupTile");
  hopper.size("columns", columns).size("depth", depth);
  return appendLaunch(call.hopper, hopper,
                      {tiles * blocksOf(columns, cuda::kGroupColumns), 1, 1},
                      cuda::kGroupThreads, kLateShared);
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
  int64_t tiles = 0; // Only for the check of the ranges.
  auto addRest = [&](LaunchText &text) {
    addShape(text, request);
    text.size("out", n[2]).size("in", n[3]).accumulate();
  };
  if (KernelError error = addTiles(request, tiles, call, call.launches))
    return error;
  LaunchText any(kGroupedHeader, "groupedWeightGradient",
                 {type, isAligned(n) ? "true" : "false"});
  any.onlyIf(elsewhere(n));
  any.out("dw", "float", 0).in("dy", type, 1).in("x", type, 2);
  addRest(any);
  if (isPlain(n))
    any.pass("nullptr");
  if (KernelError error = appendLaunch(
          call.launches, any,
          {n[4] * blocksOf(n[2], sideOf(n)), blocksOf(n[3], sideOf(n)), 1},
          cuda::kGemmThreads, isPlain(n) ? 0 : cuda::kGemmBytes))
    return error;
  if (!hasTensors(n))
    return nullptr;
  if (KernelError error = addTiles(request, tiles, call, call.hopper))
    return error;
  LaunchText hopper(kHopperHeader, "hopperGroupedWeightGradient", {type});
  hopper.onlyIf("defined(HOCKET_HOPPER)").persistent();
  hopper.tensor("dy", matrixOf(n, 1, n[1], n[2], cuda::kGroupDepth));
  hopper.tensor("x", matrixOf(n, 2, n[1], n[3], cuda::kGroupDepth));
  hopper.out("dw", "float", 0);
  addRest(hopper);
  return appendLaunch(call.hopper, hopper,
                      {n[4] * blocksOf(n[2], cuda::kGemmSide) *
                           blocksOf(n[3], cuda::kGroupColumns),
                       1, 1},
                      cuda::kGroupThreads, kGroupShared);
}

} // namespace hocket::kernels::library
