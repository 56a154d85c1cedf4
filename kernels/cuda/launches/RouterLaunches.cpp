//===- RouterLaunches.cpp - Launches of routers ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

#include <algorithm>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static const char *const kRouterHeader = "Router.cuh";
/// Warps of a block, a token each.
constexpr int64_t kWarps = 4;
constexpr uint32_t kThreads = 32 * kWarps;

static std::string flag(bool value) { return value ? "true" : "false"; }

KernelError launchRouter(const CudaRequest &request, CudaCall &call) {
  // Scores of a block's tokens lie in shared memory, or, where they do not
  // fit, in the workspace; there are only so many blocks then.
  constexpr int64_t mostShared = 48 << 10, mostWorkspace = 64 << 20;
  Integers n = request.integers;
  int64_t bytes = kWarps * 8 * (n[1] + n[5]), blocks = blocksOf(n[0], kWarps);
  bool shared = bytes <= mostShared;
  LaunchText text(
      kRouterHeader, "router",
      {flag(n[3] != 0), flag(n[4] != 0), flag(shared), flag(n.size() > 7)});
  text.in("logits", "float", 2);
  if (request.buffers > 3)
    text.in("bias", "float", 3);
  else
    text.pass("nullptr");
  text.out("weights", "float", 0).out("chosen", "int", 1);
  text.size("tokens", n[0]).size("experts", n[1]).size("topK", n[2]);
  text.size("groups", n[5]).size("topkGroups", n[6]);
  text.size("each", n.size() > 7 ? n[0] / n[7] : n[0]);
  text.real("scale", request.floats[0]);
  if (shared)
    return addLaunch(call, text, {blocks, 1, 1}, kThreads, bytes);
  blocks = std::min(blocks, std::max<int64_t>(mostWorkspace / bytes, 1));
  call.workspaceBytes = blocks * bytes;
  return addLaunch(call, text.workspace("scratch", "double"), blocks, kThreads);
}

KernelError launchSinkhorn(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kRouterHeader, "sinkhorn");
  text.in("logits", "float", 2).out("work", "double", 1);
  text.out("bias", "float", 0).size("each", n[0] / n[2]).size("experts", n[1]);
  return addLaunch(call, text, n[2], 256);
}

KernelError launchRouterGradient(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kRouterHeader, "routerGradient",
                  {flag(n[3] != 0), flag(n[4] != 0)});
  text.in("dweights", "float", 1).in("logits", "float", 2);
  text.in("chosen", "int", 3).out("dlogits", "float", 0);
  text.size("tokens", n[0]).size("experts", n[1]).size("topK", n[2]);
  text.real("scale", request.floats[0]).fault();
  return addLaunch(call, text, blocksOf(n[0], kWarps), kThreads);
}

KernelError launchRouterProbabilities(const CudaRequest &request,
                                      CudaCall &call) {
  Integers n = request.integers;
  std::string sigmoid = flag(n[2] != 0);
  call.workspaceBytes = 8 * n[0];
  LaunchText shares(kRouterHeader, "routerShares", {sigmoid});
  shares.in("logits", "float", 2).workspace("shares", "double");
  shares.size("tokens", n[0]).size("experts", n[1]);
  if (KernelError error =
          addLaunch(call, shares, blocksOf(n[0], kWarps), kThreads))
    return error;
  LaunchText parts(kRouterHeader, "routerParts", {sigmoid});
  parts.in("logits", "float", 2).workspace("shares", "const double");
  parts.out("parts", "double", 1).size("each", n[0] / n[3]);
  parts.size("experts", n[1]);
  if (KernelError error =
          addLaunch(call, parts, {kRouterParts, blocksOf(n[1], 32), n[3]}, 256))
    return error;
  LaunchText sums(kRouterHeader, "routerSums");
  sums.in("parts", "double", 1).out("sums", "float", 0).size("experts", n[1]);
  return addLaunch(call, sums, {blocksOf(n[1], 256), n[3], 1}, 256);
}

KernelError launchRouterProbabilitiesGradient(const CudaRequest &request,
                                              CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kRouterHeader, "routerProbabilitiesGradient",
                  {flag(n[2] != 0)});
  text.in("dsums", "float", 1).in("logits", "float", 2);
  text.out("dlogits", "float", 0).size("tokens", n[0]);
  text.size("each", n[0] / n[3]).size("experts", n[1]);
  return addLaunch(call, text, blocksOf(n[0], kWarps), kThreads);
}

KernelError launchRouterZLoss(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText parts(kRouterHeader, "routerZLossParts");
  parts.in("logits", "float", 2).out("parts", "double", 1);
  parts.size("tokens", n[0]).size("experts", n[1]);
  if (KernelError error = addLaunch(call, parts, kRouterParts, 256))
    return error;
  LaunchText loss(kRouterHeader, "routerZLoss");
  return addLaunch(call, loss.in("parts", "double", 1).out("loss", "float", 0),
                   1, 1);
}

KernelError launchRouterZLossGradient(const CudaRequest &request,
                                      CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kRouterHeader, "routerZLossGradient");
  text.in("dloss", "float", 1).in("logits", "float", 2);
  text.out("dlogits", "float", 0).size("tokens", n[0]).size("experts", n[1]);
  return addLaunch(call, text, blocksOf(n[0], kWarps), kThreads);
}

KernelError launchBalanceBias(const CudaRequest &request, CudaCall &call) {
  LaunchText text(kRouterHeader, "balanceBias");
  text.in("bias", "float", 1).in("counts", "float", 2).in("skip", "float", 3);
  text.out("result", "float", 0).size("experts", request.integers[0]);
  return addLaunch(call, text.real("rate", request.floats[0]), 1, 256);
}

} // namespace hocket::kernels::library
