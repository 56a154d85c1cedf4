//===- CachedLaunches.cpp - Launches of attention over kept keys ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"
#include "kernels/reference/CachedAttention.h"

#include <cmath>

namespace hocket::kernels::library {
namespace {

// A page is a tile of keys.
static_assert(kCachePage == cuda::kTileRows);
static_assert(kCachePage == cuda::kPlainOthers);

/// What the integers of a call say.
struct CachedSizes {
  int64_t dtype, tokens, heads, kvHeads, dim, window, rows, tablePages, pages;
  int64_t wholeHeads;
  bool biased; ///< By distances up to `reach`.
  int64_t reach;

  explicit CachedSizes(std::span<const int64_t> n)
      : dtype(n[0]), tokens(n[1]), heads(n[2]), kvHeads(n[3]), dim(n[4]),
        window(n[5]), rows(n[6]), tablePages(n[7]), pages(n[8]),
        wholeHeads(n.size() > 9 ? n[9] : n[2]), biased(n.size() > 10),
        reach(biased ? n[10] : 0) {}

  /// The buffer that result `i` is: o, then keys, then values.
  uint32_t out(uint32_t i) const { return (biased ? 9 : 8) + i; }

  /// As many as there are rows are taken to be one of each, which have no keys
  /// in common; of others many may be of one row.
  bool isOneOfEach() const { return tokens == rows; }
  /// Blocks that share the query heads of a token.
  int64_t headBlocks() const {
    return kvHeads * blocksOf(heads / kvHeads, cuda::kFewRows);
  }
};

/// The `Shape` of CachedAttention.cuh.
std::string cachedShapeText(const CachedSizes &s,
                            std::span<const double> floats) {
  return ShapeText(s.dtype)
      .number("int", "heads", s.heads)
      .number("int", "kvHeads", s.kvHeads)
      .number("int", "dim", s.dim)
      .number("Integer", "window", s.window)
      .number("Integer", "rows", s.rows)
      .number("Integer", "tablePages", s.tablePages)
      .number("Integer", "pages", s.pages)
      .number("Integer", "wholeHeads", s.wholeHeads)
      .constant("bool", "causal", "true")
      .constant("bool", "alibi", hasSlopes(floats, 1) ? "true" : "false")
      .constant("bool", "biased", s.biased ? "true" : "false")
      .number("int", "reach", s.reach)
      .real("scale", static_cast<float>(floats[0]))
      .real("softcap", static_cast<float>(softcapAt(floats, 1)))
      .constant("unsigned", "dropoutThreshold", "0u")
      .text();
}

/// Writes the launches of one call.
class CachedWriter {
public:
  CachedWriter(const CudaRequest &request, CudaCall &call)
      : call(call), s(request.integers), isShard(request.scalars > 0),
        type(cudaType(s.dtype)), shape(cachedShapeText(s, request.floats)) {}

  KernelError keep() {
    LaunchText kernel = text("keepTokens");
    kernel.in("k", type, 1).in("v", type, 2);
    places(kernel).in("keysBefore", type, 6).in("valuesBefore", type, 7);
    kernel.out("keys", type, s.out(1)).out("values", type, s.out(2)).fault();
    return addLaunch(call, kernel, s.tokens, cuda::kKeepThreads);
  }

  KernelError manyTokens() {
    return attend(text("cachedAttention"), cuda::kTileRows, s.heads,
                  cuda::kAttentionThreads, 3 * tileBytes());
  }

  KernelError fewTokens() {
    call.workspaceBytes = s.tokens * s.heads * s.tablePages * kCachePage * 4;
    LaunchText scores = text("cachedScores");
    scores.in("q", type, 0).in("keys", type, s.out(1));
    firstHead(places(scores).workspace("scores", "float"));
    if (KernelError error = addLaunch(
            call, scores, {s.tablePages, s.headBlocks(), s.tokens},
            cuda::kAttentionThreads, tileBytes() + cuda::kFewRows * rowBytes()))
      return error;
    LaunchText sums = text("cachedSums");
    sums.workspace("scores", "const float").in("values", type, s.out(2));
    places(sums).out("o", type, s.out(0));
    return addLaunch(call, sums,
                     {s.dim / cuda::kFewColumns, s.headBlocks(), s.tokens}, 32,
                     int64_t(cuda::kCacheStages) * cuda::kCacheStageBytes);
  }

  KernelError plain() {
    bool few = s.isOneOfEach();
    auto dim = static_cast<int>(s.dim);
    int rows = few ? cuda::kFewRows : cuda::plainRows(dim);
    return attend(text("plainCachedAttention", few ? "true" : "false"),
                  few ? 1 : rows, few ? s.headBlocks() : s.heads,
                  cuda::kPlainThreads, 4 * cuda::plainFloats(rows, dim, 1),
                  /*isPlain=*/true);
  }

private:
  LaunchText text(const char *function, const char *more = nullptr) const {
    std::vector<std::string> types = {"$_shape"};
    if (more)
      types.push_back(more);
    LaunchText text("CachedAttention.cuh", function, types);
    return text.declare(shape);
  }

  static LaunchText &places(LaunchText &kernel) {
    return kernel.in("positions", "int", 3)
        .in("rows", "int", 4)
        .in("table", "int", 5);
  }

  void firstHead(LaunchText &kernel) const {
    if (isShard)
      kernel.scalar("firstHead", 0);
    else
      kernel.size("firstHead", 0);
  }

  int64_t rowBytes() const { return s.dim * 2 + cuda::kTilePadding; }
  int64_t tileBytes() const { return cuda::kTileRows * rowBytes(); }

  /// Blocks of so many tokens each, and of one of `heads` heads.
  KernelError attend(LaunchText kernel, int tokens, int64_t heads,
                     uint32_t threads, int64_t sharedBytes,
                     bool isPlain = false) {
    kernel.in("q", type, 0).in("keys", type, s.out(1));
    kernel.in("values", type, s.out(2));
    if (s.biased)
      kernel.in("bias", "float", 8);
    else if (isPlain)
      kernel.pass("nullptr");
    places(kernel).out("o", type, s.out(0)).size("tokenCount", s.tokens);
    firstHead(kernel);
    return addLaunch(call, kernel, {blocksOf(s.tokens, tokens), heads, 1},
                     threads, sharedBytes);
  }

  CudaCall &call;
  CachedSizes s;
  bool isShard;
  std::string type, shape;
};

} // namespace

KernelError launchCachedAttention(const CudaRequest &request, CudaCall &call) {
  if (!std::isfinite(request.floats[0]))
    return "attention: the scale is not finite";
  CachedSizes s(request.integers);
  if (s.tokens > INT32_MAX - cuda::kTileRows)
    return "too large for one launch on a GPU";
  CachedWriter writer(request, call);
  if (KernelError error = writer.keep())
    return error;
  if (s.biased || !fitsFragments(s.dtype, s.dim))
    return writer.plain();
  return s.isOneOfEach() ? writer.fewTokens() : writer.manyTokens();
}

} // namespace hocket::kernels::library
