//===- AttentionLaunches.cpp - Launches of attention ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/LibraryLaunches.h"
#include "kernels/reference/Philox.h"

#include <cmath>
#include <cstdio>

namespace hocket::kernels::library {
namespace {

constexpr KernelError kNoKernel =
    "attention: no kernel for GPUs has this type and width of a head";

/// What the integers of a call say, of a piece or of what is whole.
struct Sizes {
  int64_t dtype, batch, queries, heads, kvHeads, dim, causal, window;
  int64_t keys, wholeHeads, sequence, part, behind, stream;

  explicit Sizes(std::span<const int64_t> n)
      : dtype(n[0]), batch(n[1]), queries(n[2]), heads(n[3]), kvHeads(n[4]),
        dim(n[5]), causal(n[6]), window(n[7]), keys(n[2]), wholeHeads(n[3]),
        sequence(n[2]), part(0), behind(0), stream(n.back()) {
    if (n.size() > 9)
      keys = n[8], wholeHeads = n[9], sequence = n[10], part = n[11],
      behind = n[12];
  }
};

/// A float as text that has its bits.
std::string literal(float x) {
  char text[40];
  std::snprintf(text, sizeof(text), "%af", static_cast<double>(x));
  return text;
}

/// The `Shape` of Attention.cuh.
std::string shapeText(const CudaRequest &request) {
  Sizes s(request.integers);
  auto dropout = static_cast<float>(request.floats[1]);
  std::string text =
      "struct $_shape {\n  using T = " + cudaType(s.dtype) + ";\n";
  auto constant = [&](const char *type, const char *name,
                      const std::string &value) {
    text += std::string("  static constexpr ") + type + " " + name + " = " +
            value + ";\n";
  };
  auto number = [&](const char *name, int64_t value) {
    constant("int", name, std::to_string(value));
  };
  number("batch", s.batch), number("queries", s.queries);
  number("keys", s.keys), number("heads", s.heads);
  number("kvHeads", s.kvHeads), number("dim", s.dim);
  constant("Integer", "window", std::to_string(s.window));
  constant("bool", "causal", s.causal != 0 ? "true" : "false");
  constant("Integer", "part", std::to_string(s.part));
  constant("Integer", "sequence", std::to_string(s.sequence));
  constant("Integer", "wholeHeads", std::to_string(s.wholeHeads));
  constant("float", "scale", literal(static_cast<float>(request.floats[0])));
  constant("float", "dropoutScale", literal(1 / (1 - dropout)));
  constant("unsigned", "stream", std::to_string(s.stream) + "u");
  constant("unsigned", "dropoutThreshold",
           std::to_string(dropoutThreshold(dropout)) + "u");
  return text + "};\n";
}

/// One kernel of attention, which its shape is all known to.
LaunchText textOf(const char *function, const CudaRequest &request) {
  LaunchText text("Attention.cuh", function, {"$_shape"});
  text.declare(shapeText(request));
  return text;
}

/// The last argument of most kernels: the call's scalars and its place.
void addCall(LaunchText &text, const CudaRequest &request) {
  static const char *const names[] = {"seed", "step",     "base", "query",
                                      "key",  "sequence", "head"};
  Sizes s(request.integers);
  std::string list;
  for (uint32_t i = 0; i < request.scalars; ++i) {
    text.parameter("Integer", names[i], {CudaArgument::Kind::Scalar, i});
    list += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  text.parameter("unsigned *", "fault", {CudaArgument::Kind::Fault});
  text.pass("placeCall({" + list + "}, " + std::to_string(s.behind) + ", " +
            std::to_string(s.sequence) + ", fault)");
}

int64_t tileBytes(const Sizes &s) {
  return cuda::kTileRows * (s.dim * 2 + cuda::kTilePadding);
}

bool fitsTensorCores(const Sizes &s) {
  return s.dtype != static_cast<int64_t>(DType::F32) && s.dim % 16 == 0 &&
         s.dim <= 128;
}

} // namespace

KernelError launchAttentionForward(const CudaRequest &request, CudaCall &call) {
  Sizes s(request.integers);
  if (!std::isfinite(request.floats[0]))
    return "attention: the scale is not finite";
  if (!fitsTensorCores(s))
    return kNoKernel;
  std::string type = cudaType(s.dtype);
  LaunchText text = textOf("attentionForward", request);
  text.in("q", type, 0).in("k", type, 1).in("v", type, 2);
  text.out("o", type, 3).out("lse", "float", 4);
  addCall(text, request);
  return addLaunch(call, text,
                   {blocksOf(s.queries, cuda::kTileRows), s.heads, s.batch},
                   cuda::kAttentionThreads, 3 * tileBytes(s));
}

KernelError launchAttentionBackward(const CudaRequest &request,
                                    CudaCall &call) {
  Sizes s(request.integers);
  if (!std::isfinite(request.floats[0]))
    return "attention: the scale is not finite";
  if (!fitsTensorCores(s))
    return kNoKernel;
  std::string type = cudaType(s.dtype);
  LaunchText delta = textOf("attentionDelta", request);
  delta.in("o", type, 3).in("dO", type, 5).out("delta", "float", 9);
  if (KernelError error =
          addLaunch(call, delta, blocksOf(s.batch * s.queries * s.heads, 4),
                    cuda::kAttentionThreads))
    return error;

  auto gradient = [&](const char *function) {
    LaunchText text = textOf(function, request);
    text.in("q", type, 0).in("k", type, 1).in("v", type, 2);
    text.in("lse", "float", 4).in("dO", type, 5).in("delta", "float", 9);
    return text;
  };
  LaunchText query = gradient("attentionQueryGradient");
  query.out("dq", type, 6);
  addCall(query, request);
  if (KernelError error = addLaunch(
          call, query, {blocksOf(s.queries, cuda::kTileRows), s.heads, s.batch},
          cuda::kAttentionThreads, 4 * tileBytes(s)))
    return error;

  LaunchText key = gradient("attentionKeyGradient");
  key.out("dk", type, 7).out("dv", type, 8);
  addCall(key, request);
  return addLaunch(call, key,
                   {blocksOf(s.keys, cuda::kTileRows), s.kvHeads, s.batch},
                   cuda::kAttentionThreads, 4 * tileBytes(s));
}

} // namespace hocket::kernels::library
