//===- StateLaunches.cpp - Launches of state-space layers -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static constexpr const char *kStateHeader = "StateSpace.cuh";

KernelError launchCausalConv(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  bool hasBias = request.buffers > 3;
  int64_t count = n[1] * n[2] * n[3];
  LaunchText text(kStateHeader, "causalConv",
                  {type, std::to_string(n[4]), hasBias ? "true" : "false"});
  text.in("x", type, 1).in("w", type, 2);
  if (hasBias)
    text.in("bias", type, 3);
  else
    text.pass("nullptr");
  text.out("y", type, 0).size("count", count).size("sequence", n[2]);
  text.size("channels", n[3]);
  return addLaunch(call, text, blocksOf(count, 256), 256);
}

KernelError launchCausalConvGradient(const CudaRequest &request,
                                     CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  std::vector<std::string> types = {type, std::to_string(n[4])};
  int64_t count = n[1] * n[2] * n[3];
  LaunchText input(kStateHeader, "causalConvInput", types);
  input.in("dy", type, 3).in("w", type, 5).out("dx", type, 0);
  input.size("count", count).size("sequence", n[2]).size("channels", n[3]);
  if (KernelError error = addLaunch(call, input, blocksOf(count, 256), 256))
    return error;
  LaunchText weight(kStateHeader, "causalConvWeight", types);
  weight.in("dy", type, 3).in("x", type, 4);
  weight.out("dw", "float", 1).out("dbias", "float", 2);
  weight.size("rows", n[1] * n[2]).size("sequence", n[2]);
  weight.size("channels", n[3]);
  return addLaunch(call, weight, blocksOf(n[3], 32), 256);
}

/// The sizes of a scan, and what steps are cut to.
static LaunchText &addScan(LaunchText &text, const CudaRequest &request) {
  Integers n = request.integers;
  text.size("sequence", n[2]).size("heads", n[3]).size("width", n[4]);
  text.size("groups", n[5]).size("state", n[6]);
  return text.real("least", request.floats[0]).real("most", request.floats[1]);
}

static std::string lanesOf(Integers n) {
  return std::to_string(blocksOf(n[6], 32));
}

KernelError launchStateScan(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kStateHeader, "stateScan", {type, lanesOf(n)});
  text.in("x", type, 1).in("step", type, 2).in("inMap", type, 3);
  text.in("outMap", type, 4).in("decay", "float", 5);
  text.in("stepBias", "float", 6).in("skip", "float", 7).out("y", type, 0);
  return addLaunch(call, addScan(text, request),
                   {n[1] * n[3], blocksOf(n[4], 4), 1}, 128);
}

/// The two passes over tokens.
static KernelError addPasses(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  std::vector<std::string> types = {type, std::to_string(blocksOf(n[4], 8)),
                                    lanesOf(n)};
  LaunchText forward(kStateHeader, "stateForward", types);
  forward.in("dy", type, 8).in("x", type, 9).in("step", type, 10);
  forward.in("inMap", type, 11).in("decay", "float", 13);
  forward.in("stepBias", "float", 14).out("work", "float", 7);
  addScan(forward.size("sequences", n[1]), request);
  if (KernelError error = addLaunch(call, forward, n[1] * n[3], 256))
    return error;
  LaunchText back(kStateHeader, "stateBack", types);
  back.in("dy", type, 8).in("x", type, 9).in("step", type, 10);
  back.in("inMap", type, 11).in("outMap", type, 12).in("decay", "float", 13);
  back.in("stepBias", "float", 14).in("skip", "float", 15).out("dx", type, 0);
  back.out("work", "float", 7).size("sequences", n[1]);
  return addLaunch(call, addScan(back, request), n[1] * n[3], 256);
}

KernelError launchStateScanGradient(const CudaRequest &request,
                                    CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  if (KernelError error = addPasses(request, call))
    return error;
  LaunchText numbers(kStateHeader, "stateNumbers", {type});
  numbers.in("dy", type, 8).in("x", type, 9).in("step", type, 10);
  numbers.in("inMap", type, 11).in("outMap", type, 12);
  numbers.in("stepBias", "float", 14).out("work", "float", 7);
  addScan(numbers.size("sequences", n[1]), request);
  if (KernelError error =
          addLaunch(call, numbers, blocksOf(n[1] * n[2] * n[3], 8), 256))
    return error;
  LaunchText maps(kStateHeader, "stateMaps", {type});
  maps.in("step", type, 10).in("inMap", type, 11).in("outMap", type, 12);
  maps.in("stepBias", "float", 14).out("work", "float", 7);
  maps.out("dinMap", type, 2).out("doutMap", type, 3);
  addScan(maps.size("sequences", n[1]), request);
  if (KernelError error =
          addLaunch(call, maps, blocksOf(n[1] * n[2] * n[5] * n[6], 256), 256))
    return error;
  LaunchText steps(kStateHeader, "stateSteps", {type});
  steps.in("step", type, 10).in("decay", "float", 13);
  steps.in("stepBias", "float", 14).out("work", "float", 7);
  steps.out("dstep", type, 1);
  addScan(steps.size("sequences", n[1]), request);
  if (KernelError error = addLaunch(call, steps, n[1] * n[3], 256))
    return error;
  LaunchText heads(kStateHeader, "stateHeads");
  heads.out("work", "float", 7).out("ddecay", "float", 4);
  heads.out("dstepBias", "float", 5).out("dskip", "float", 6);
  heads.size("sequences", n[1]).size("sequence", n[2]);
  heads.size("heads", n[3]).size("state", n[6]);
  return addLaunch(call, heads, blocksOf(n[3], 256), 256);
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

static constexpr const char *kCachedHeader = "CachedState.cuh";

KernelError launchCachedConv(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  bool hasBias = request.buffers > 7;
  LaunchText text(kCachedHeader, "cachedConv",
                  {type, std::to_string(n[3]), hasBias ? "true" : "false"});
  text.in("x", type, 2).in("w", type, 3);
  if (hasBias)
    text.in("bias", type, 6);
  else
    text.pass("nullptr");
  text.in("positions", "int", 4).in("rows", "int", 5);
  text.in("before", type, request.buffers - 1);
  text.out("cache", type, 1).out("y", type, 0);
  text.size("tokens", n[1]).size("channels", n[2]);
  return addLaunch(call, text.fault(), {n[4], blocksOf(n[2], 256), 1}, 256);
}

KernelError launchCachedScan(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kCachedHeader, "cachedScan",
                  {type, std::to_string(blocksOf(n[5], 32))});
  text.in("x", type, 2).in("step", type, 3).in("inMap", type, 4);
  text.in("outMap", type, 5).in("decay", "float", 6);
  text.in("stepBias", "float", 7).in("skip", "float", 8);
  text.in("positions", "int", 9).in("rows", "int", 10);
  text.in("before", "float", 11).out("states", "float", 1).out("y", type, 0);
  text.size("tokens", n[1]).size("heads", n[2]).size("width", n[3]);
  text.size("groups", n[4]).size("state", n[5]);
  text.real("least", request.floats[0]).real("most", request.floats[1]);
  return addLaunch(call, text.fault(), {n[6] * n[2], blocksOf(n[3], 4), 1},
                   128);
}

} // namespace hocket::kernels::library
