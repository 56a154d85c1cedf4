//===- LossLaunches.cpp - Launches of cross-entropy -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

#include <algorithm>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static const char *const kLossHeader = "CrossEntropy.cuh";

/// A sum over tokens, whose blocks do not depend on the GPU.
static KernelError addSum(CudaCall &call, const LaunchText &text,
                          int64_t tokens) {
  constexpr int64_t ofBlock = 2 * cuda::kLossThreads;
  int64_t blocks =
      std::min<int64_t>(blocksOf(tokens, ofBlock), cuda::kLossBlocks);
  return addLaunch(call, text, std::max<int64_t>(blocks, 1),
                   cuda::kLossThreads);
}

KernelError launchCrossEntropyForward(const CudaRequest &request,
                                      CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText rows(kLossHeader, "crossEntropyRows", {type});
  rows.in("logits", type, 0).in("labels", "int", 1).out("lse", "float", 3);
  rows.pass("nullptr").size("vocab", n[2]).size("valid", n[3]);
  rows.pass("1").pass("0").fault();
  if (KernelError error = addLaunch(call, rows, n[1], 256))
    return error;
  LaunchText loss(kLossHeader, "meanLossOf", {type});
  loss.in("logits", type, 0).in("labels", "int", 1).in("lse", "float", 3);
  loss.out("loss", "float", 2).size("tokens", n[1]).size("vocab", n[2]);
  return addSum(call, loss.size("valid", n[3]), n[1]);
}

/// Of a whole vocabulary or of a shard: its columns from `first` on.
static KernelError addBackward(const CudaRequest &request, bool shard,
                               CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kLossHeader, "crossEntropyBackward", {type});
  text.in("logits", type, 0).in("labels", "int", 1).in("lse", "float", 2);
  text.in("dloss", "float", 3);
  if (shard)
    text.in("count", "float", 4);
  else
    text.workspace("count", "const float");
  text.out("dlogits", type, shard ? 5 : 4).size("vocab", n[2]);
  text.size("valid", n[3]);
  if (shard)
    text.scalar("first", 0);
  else
    text.pass("0");
  return addLaunch(call, text.fault(), n[1], 256);
}

KernelError launchCrossEntropyBackward(const CudaRequest &request,
                                       CudaCall &call) {
  LaunchText count(kLossHeader, "countLabels");
  count.in("labels", "int", 1).workspace("count", "float");
  count.size("tokens", request.integers[1]);
  call.workspaceBytes = 4;
  if (KernelError error = addSum(call, count, request.integers[1]))
    return error;
  return addBackward(request, /*shard=*/false, call);
}

KernelError launchCrossEntropyShard(const CudaRequest &request,
                                    CudaCall &call) {
  return addBackward(request, /*shard=*/true, call);
}

KernelError launchCrossEntropyJoint(const CudaRequest &request,
                                    CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  int64_t rowBytes = n[2] * bytesOf(static_cast<DType>(n[0]));
  int64_t kept = std::min<int64_t>(rowBytes, cuda::kLossRowBytes) / 16;
  LaunchText text(kLossHeader, "crossEntropyJoint", {type});
  text.in("logits", type, 0).in("labels", "int", 1).in("dloss", "float", 2);
  text.in("count", "float", 3).out("lse", "float", 4).out("picked", "float", 5);
  text.out("dlogits", type, 6).size("vocab", n[2]).size("valid", n[3]);
  text.size("kept", kept).fault();
  // No launch with a pointer to shared memory has none of it.
  return addLaunch(call, text, {n[1], 1, 1}, cuda::kJointThreads,
                   std::max<int64_t>(kept, 1) * 16);
}

KernelError launchCrossEntropyRows(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kLossHeader, "crossEntropyRows", {type});
  text.in("logits", type, 0).in("labels", "int", 1).out("lse", "float", 2);
  text.out("picked", "float", 3).size("vocab", n[2]).size("valid", n[3]);
  text.size("parts", n[4]).scalar("first", 0).fault();
  return addLaunch(call, text, n[1] * n[4], 256);
}

KernelError launchLogSumExp(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kLossHeader, "logSumExp");
  text.in("x", "float", 0).out("y", "float", 1);
  text.size("rows", n[0]).size("width", n[1]);
  return addLaunch(call, text, blocksOf(n[0], 8), 256);
}

KernelError launchCountLabels(const CudaRequest &request, CudaCall &call) {
  LaunchText text(kLossHeader, "countLabels");
  text.in("labels", "int", 0).out("count", "float", 1);
  text.size("tokens", request.integers[0]);
  return addSum(call, text, request.integers[0]);
}

KernelError launchMeanLoss(const CudaRequest &request, CudaCall &call) {
  LaunchText text(kLossHeader, "meanLoss");
  text.in("lse", "float", 0).in("picked", "float", 1).in("labels", "int", 2);
  text.in("count", "float", 3).out("loss", "float", 4);
  text.size("tokens", request.integers[0]);
  return addSum(call, text, request.integers[0]);
}

} // namespace hocket::kernels::library
