//===- ExpertLaunches.cpp - Launches between tokens and experts -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"

#include <algorithm>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

static const char *const kExpertsHeader = "Experts.cuh";

KernelError launchExpertCounts(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  LaunchText text(kExpertsHeader, "expertCounts");
  text.in("chosen", "int", 1).out("counts", "float", 0);
  text.size("choices", n[0] / n[2]).size("experts", n[1]).fault();
  return addLaunch(call, text, n[2], 1024);
}

KernelError launchExpertOrder(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  int64_t experts = n[3], capacity = n[4];
  int64_t runs = capacity > 0 ? n[0] : n[5];
  int64_t each = n[0] * n[1] * n[2] / std::max<int64_t>(runs, 1);
  // So many choices a chunk that its counts take no more room than they do.
  int64_t chunk = std::max<int64_t>(256, experts);
  int64_t chunks = blocksOf(each, chunk);
  call.workspaceBytes = 4 * runs * chunks * experts;

  LaunchText count(kExpertsHeader, "countChoices");
  count.in("chosen", "int", 2).workspace("counts", "int").size("runs", runs);
  count.size("each", each).size("chunk", chunk).size("experts", experts);
  if (KernelError error =
          addLaunch(call, count.fault(), blocksOf(runs * chunks, 4), 128))
    return error;

  LaunchText order(kExpertsHeader, "orderExperts");
  order.workspace("counts", "int");
  if (capacity > 0)
    order.pass("nullptr");
  else
    order.out("ranges", "int", 1);
  order.size("each", each).size("chunk", chunk).size("experts", experts);
  if (KernelError error = addLaunch(call, order, runs, 1024))
    return error;

  LaunchText place(kExpertsHeader, "placeChoices");
  place.in("chosen", "int", 2)
      .workspace("counts", "int")
      .in("ranges", "int", 1);
  place.out("slots", "int", 0).size("runs", runs).size("each", each);
  place.size("chunk", chunk).size("experts", experts);
  return addLaunch(call, place.size("capacity", capacity),
                   blocksOf(runs * chunks, 4), 128);
}

KernelError launchPackSegments(const CudaRequest &request, CudaCall &call) {
  LaunchText text(kExpertsHeader, "packSegments");
  text.in("ranges", "int", 1).out("packed", "int", 0);
  text.size("segments", request.integers[0]).fault();
  return addLaunch(call, text, 1, 1024);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Passes the SlotShape of Experts.cuh.
static void addShape(LaunchText &text, Integers n) {
  static const char *const names[] = {"batch",    "sequence", "k",   "experts",
                                      "capacity", "runs",     "rows"};
  std::string list;
  for (size_t i = 0; i < 7; ++i) {
    text.parameter("Integer", names[i], {CudaArgument::Kind::I64, 0, n[1 + i]});
    list += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  text.pass("SlotShape{" + list + "}");
}

static int64_t slotsOf(Integers n) { return n[1] * n[2] * n[3]; }

static void addWeights(LaunchText &text, const CudaRequest &request) {
  if (request.buffers > 3)
    text.in("weights", "float", 3);
  else
    text.pass("nullptr");
}

KernelError launchDispatch(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  if (slotsOf(n) > INT32_MAX)
    return "dispatch: more slots than fit in 32 bits";
  call.workspaceBytes = 4 * n[7];
  LaunchText clear(kExpertsHeader, "clearSources");
  clear.workspace("sources", "int").size("rows", n[7]);
  if (KernelError error = addLaunch(call, clear, blocksOf(n[7], 256), 256))
    return error;
  LaunchText find(kExpertsHeader, "findSources");
  find.in("slots", "int", 2).workspace("sources", "int");
  addShape(find, n);
  if (KernelError error =
          addLaunch(call, find.fault(), blocksOf(slotsOf(n), 256), 256))
    return error;
  LaunchText text(kExpertsHeader, "dispatch", {type});
  text.in("tokens", type, 1).workspace("sources", "const int");
  addWeights(text, request);
  text.out("rows", type, 0).size("topK", n[3]).size("width", n[8]);
  return addLaunch(call, text, n[7], 128);
}

KernelError launchCombine(const CudaRequest &request, CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kExpertsHeader, "combine", {type});
  text.in("from", type, 1).in("slots", "int", 2);
  addWeights(text, request);
  text.out("tokens", type, 0);
  addShape(text, n);
  return addLaunch(call, text.size("width", n[8]).fault(), n[1] * n[2], 128);
}

KernelError launchCombineWeightGradient(const CudaRequest &request,
                                        CudaCall &call) {
  Integers n = request.integers;
  std::string type = cudaType(n[0]);
  LaunchText text(kExpertsHeader, "combineWeightGradient", {type});
  text.in("tokens", type, 1).in("from", type, 2).in("slots", "int", 3);
  text.out("dweights", "float", 0);
  addShape(text, n);
  return addLaunch(call, text.size("width", n[8]).fault(),
                   blocksOf(slotsOf(n), 4), 128);
}

} // namespace hocket::kernels::library
