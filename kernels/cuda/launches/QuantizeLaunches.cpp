//===- QuantizeLaunches.cpp - Launches of 8 bits with a scale a block -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

/// Of a block that 256 threads have in time.
static constexpr int64_t kMostElements = 1 << 20, kMostOfWarp = 1024;

KernelError launchQuantizeBlocks(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  if (n[5] > kMostElements / n[6])
    return "quantize_blocks: blocks have more than 2^20 elements";
  std::string wide = cudaType(n[0]), code = cudaType(n[1]);
  int64_t outer = n[2], rows = n[3], columns = n[4];
  std::string height = std::to_string(n[5]), width = std::to_string(n[6]);
  int64_t across = blocksOf(columns, n[6]), down = blocksOf(rows, n[5]);
  auto text = [&](const char *function, std::vector<std::string> sizes) {
    std::vector<std::string> types = {wide, code};
    types.insert(types.end(), sizes.begin(), sizes.end());
    LaunchText made("QuantizeBlocks.cuh", function, types);
    made.in("x", wide, 0).out("codes", code, 1).out("scales", "float", 2);
    return made;
  };
  if (n[5] == 1 && n[6] <= kMostOfWarp) {
    LaunchText made = text("quantizeRows", {width});
    made.size("rows", outer * rows).size("columns", columns);
    return addLaunch(call, made, blocksOf(outer * rows * across, 8), 256);
  }
  if (n[6] == 1) {
    LaunchText made = text("quantizeColumns", {height});
    made.size("outer", outer).size("rows", rows).size("columns", columns);
    return addLaunch(call, made, blocksOf(outer * down * columns, 256), 256);
  }
  LaunchText made = text("quantizeTiles", {height, width});
  made.size("rows", rows).size("columns", columns);
  return addLaunch(call, made, outer * down * across, 256);
}

KernelError launchDequantizeBlocks(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string code = cudaType(n[0]), wide = cudaType(n[1]);
  LaunchText text("QuantizeBlocks.cuh", "dequantizeBlocks",
                  {code, wide, std::to_string(n[5]), std::to_string(n[6])});
  text.in("codes", code, 0).in("scales", "float", 1).out("y", wide, 2);
  text.size("outer", n[2]).size("rows", n[3]).size("columns", n[4]);
  return addLaunch(call, text, blocksOf(n[2] * n[3] * blocksOf(n[4], 8), 256),
                   256);
}

} // namespace hocket::kernels::library
