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

constexpr KernelError kScale = "attention: the scale is not finite";

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

/// Whether fragments fit; else sums are in f32 on other units.
bool fitsTensorCores(const Sizes &s) {
  return s.dtype != static_cast<int64_t>(DType::F32) && s.dim % 16 == 0 &&
         s.dim <= 128;
}

/// One of attention's kernels: what is launched for a shape.
struct Geometry {
  const char *header, *function;
  uint32_t threads;
  int rows; ///< that a block has of its own
  int64_t sharedBytes;
};

enum class Kernel { Forward, QueryGradient, KeyGradient };

Geometry geometryOf(const Sizes &s, Kernel kernel) {
  bool forward = kernel == Kernel::Forward;
  if (fitsTensorCores(s)) {
    static const char *const names[] = {
        "attentionForward", "attentionQueryGradient", "attentionKeyGradient"};
    int64_t tile = cuda::kTileRows * (s.dim * 2 + cuda::kTilePadding);
    return {"Attention.cuh", names[static_cast<int>(kernel)],
            cuda::kAttentionThreads, cuda::kTileRows, tile * (forward ? 3 : 4)};
  }
  static const char *const names[] = {"plainAttentionForward",
                                      "plainAttentionQueryGradient",
                                      "plainAttentionKeyGradient"};
  int dim = static_cast<int>(s.dim);
  int rows = forward ? cuda::plainRows(dim) : cuda::plainGradientRows(dim);
  return {"PlainAttention.cuh", names[static_cast<int>(kernel)],
          cuda::kPlainThreads, rows,
          4 * cuda::plainFloats(rows, dim, forward ? 1 : 2)};
}

/// A call's attention: its kernels one after another.
class AttentionCalls {
public:
  AttentionCalls(const CudaRequest &request, CudaCall &call)
      : request(request), call(call), s(request.integers),
        type(cudaType(s.dtype)) {}

  LaunchText text(const char *header, const char *function) const {
    LaunchText text(header, function, {"$_shape"});
    return text.declare(shapeText(request));
  }

  KernelError forward() {
    Geometry g = geometryOf(s, Kernel::Forward);
    LaunchText kernel = text(g.header, g.function);
    kernel.in("q", type, 0).in("k", type, 1).in("v", type, 2);
    kernel.out("o", type, 3).out("lse", "float", 4);
    return launch(kernel, g, s.queries, s.heads);
  }

  KernelError delta() {
    LaunchText kernel = text("AttentionTiles.cuh", "attentionDelta");
    kernel.in("o", type, 3).in("dO", type, 5).out("delta", "float", 9);
    return addLaunch(call, kernel, blocksOf(s.batch * s.queries * s.heads, 4),
                     cuda::kAttentionThreads);
  }

  KernelError queryGradient() {
    Geometry g = geometryOf(s, Kernel::QueryGradient);
    LaunchText kernel = gradient(g);
    kernel.out("dq", type, 6);
    return launch(kernel, g, s.queries, s.heads);
  }

  KernelError keyGradient() {
    Geometry g = geometryOf(s, Kernel::KeyGradient);
    LaunchText kernel = gradient(g);
    kernel.out("dk", type, 7).out("dv", type, 8);
    return launch(kernel, g, s.keys, s.kvHeads);
  }

private:
  LaunchText gradient(const Geometry &g) const {
    LaunchText kernel = text(g.header, g.function);
    kernel.in("q", type, 0).in("k", type, 1).in("v", type, 2);
    return kernel.in("lse", "float", 4)
        .in("dO", type, 5)
        .in("delta", "float", 9);
  }

  /// `rows` rows of `heads` heads are a block's own; the last argument is made
  /// of the call's scalars and its place.
  KernelError launch(LaunchText &kernel, const Geometry &g, int64_t rows,
                     int64_t heads) {
    static const char *const names[] = {"seed", "step",     "base", "query",
                                        "key",  "sequence", "head"};
    std::string list;
    for (uint32_t i = 0; i < request.scalars; ++i) {
      kernel.parameter("Integer", names[i], {CudaArgument::Kind::Scalar, i});
      list += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    kernel.parameter("unsigned *", "fault", {CudaArgument::Kind::Fault});
    kernel.pass("placeCall({" + list + "}, " + std::to_string(s.behind) + ", " +
                std::to_string(s.sequence) + ", fault)");
    return addLaunch(call, kernel, {blocksOf(rows, g.rows), heads, s.batch},
                     g.threads, g.sharedBytes);
  }

  const CudaRequest &request;
  CudaCall &call;
  Sizes s;
  std::string type;
};

} // namespace

KernelError launchAttentionForward(const CudaRequest &request, CudaCall &call) {
  if (!std::isfinite(request.floats[0]))
    return kScale;
  return AttentionCalls(request, call).forward();
}

KernelError launchAttentionBackward(const CudaRequest &request,
                                    CudaCall &call) {
  if (!std::isfinite(request.floats[0]))
    return kScale;
  AttentionCalls calls(request, call);
  if (KernelError error = calls.delta())
    return error;
  if (KernelError error = calls.queryGradient())
    return error;
  return calls.keyGradient();
}

} // namespace hocket::kernels::library
