//===- AttentionLaunches.cpp - Launches of attention ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LibraryLaunches.h"
#include "kernels/reference/Attention.h"
#include "kernels/reference/Philox.h"

#include <cmath>

namespace hocket::kernels::library {
namespace {

/// What the integers of a call say, of a shard or of what is whole.
struct Sizes {
  int64_t dtype, batch, queries, heads, kvHeads, dim, causal, window;
  int64_t keys, wholeHeads, sequence, part, rounds, behind, stream;
  bool drops;
  bool documents; ///< Positions are read: of documents, or ends of padding.
  bool biased;    ///< by distances up to `reach`
  int64_t reach;

  explicit Sizes(const CudaRequest &request) : Sizes(request.integers) {
    drops = dropoutThreshold(static_cast<float>(request.floats[1])) > 0;
    size_t forward = biased ? 6 : 5, backward = biased ? 13 : 10;
    documents =
        request.buffers == forward + 1 || request.buffers == backward + 1;
  }

  /// The elements of a bias.
  int64_t biasRows() const { return biased ? 2 * reach + 1 : 0; }

private:
  explicit Sizes(std::span<const int64_t> n)
      : dtype(n[0]), batch(n[1]), queries(n[2]), heads(n[3]), kvHeads(n[4]),
        dim(n[5]), causal(n[6]), window(n[7]), keys(n[2]), wholeHeads(n[3]),
        sequence(n[2]), part(0), rounds(attentionRounds(n)), behind(0),
        stream(n.back()), drops(false), documents(false),
        biased(n.size() == 16), reach(biased ? attentionReach(n) : 0) {
    if (n.size() > 9)
      keys = n[8], wholeHeads = n[9], sequence = n[10], part = n[11],
      behind = n[12];
  }
};

/// The `Shape` of Attention.cuh.
std::string shapeText(const CudaRequest &request) {
  Sizes s(request);
  auto dropout = static_cast<float>(request.floats[1]);
  return ShapeText(s.dtype)
      .number("int", "batch", s.batch)
      .number("int", "queries", s.queries)
      .number("int", "keys", s.keys)
      .number("int", "heads", s.heads)
      .number("int", "kvHeads", s.kvHeads)
      .number("int", "dim", s.dim)
      .number("Integer", "window", s.window)
      .constant("bool", "causal", s.causal != 0 ? "true" : "false")
      .constant("bool", "documents", s.documents ? "true" : "false")
      .constant("bool", "alibi",
                hasSlopes(request.floats, 2) ? "true" : "false")
      .constant("bool", "biased", s.biased ? "true" : "false")
      .number("int", "reach", s.reach)
      .number("Integer", "part", s.part)
      .number("Integer", "rounds", s.rounds)
      .number("Integer", "sequence", s.sequence)
      .number("Integer", "wholeHeads", s.wholeHeads)
      .real("scale", static_cast<float>(request.floats[0]))
      .real("softcap", static_cast<float>(softcapAt(request.floats, 2)))
      .real("dropoutScale", 1 / (1 - dropout))
      .constant("unsigned", "dropoutThreshold",
                std::to_string(dropoutThreshold(dropout)) + "u")
      .text();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// How GEMMs are computed: in f32 without tensor cores, by warps, or, on
/// Hopper, by warpgroups.
enum class Way { Plain, Warps, Warpgroups };

/// Whether rows of heads can be copied as boxes of a tensor, whose distances
/// are limited.
bool hasTensors(const Sizes &s) {
  int64_t most = (int64_t(1) << 40) / (s.dim * 2 * s.heads);
  return s.queries < most && s.keys < most;
}

bool fits(const Sizes &s, Way way) {
  bool fragments = fitsFragments(s.dtype, s.dim) && !s.biased;
  switch (way) {
  case Way::Plain:
    return true;
  case Way::Warps:
    return fragments;
  case Way::Warpgroups:
    return fragments && (s.dim == 64 || s.dim == 128) && hasTensors(s);
  }
  return false;
}

enum class Kernel { Forward, QueryGradient, KeyGradient };

struct Geometry {
  const char *header, *function;
  uint32_t threads;
  int rows; ///< that a block has of its own
  int64_t sharedBytes;
};

Geometry geometryOf(const Sizes &s, Way way, Kernel kernel) {
  bool forward = kernel == Kernel::Forward;
  auto name = [&](const char *first, const char *second, const char *third) {
    return forward ? first : kernel == Kernel::QueryGradient ? second : third;
  };
  int dim = static_cast<int>(s.dim);
  if (way == Way::Warpgroups && forward) {
    int groups = cuda::hopperGroups(dim, s.drops, s.part);
    int own = 64 * groups;
    int rows = own + 2 * cuda::hopperStages(dim) * cuda::kHopperKeys;
    return {"HopperAttention.cuh", "hopperAttentionForward",
            static_cast<uint32_t>(128 * (groups + 1)), own,
            rows * s.dim * 2 + cuda::kTileAlignment};
  }
  if (way == Way::Warpgroups) {
    // Rows in shared memory: of two tensors its own, and tiles of the others.
    int rows = 2 * cuda::kHopperRows +
               (kernel == Kernel::QueryGradient
                    ? cuda::kHopperGradientStages * cuda::hopperKeys(dim)
                    : 2 * cuda::kHopperQueryStages * cuda::kHopperQueries);
    return {
        "HopperAttention.cuh",
        name("", "hopperAttentionQueryGradient", "hopperAttentionKeyGradient"),
        cuda::kHopperThreads, cuda::kHopperRows,
        rows * s.dim * 2 + cuda::kTileAlignment};
  }
  if (way == Way::Warps)
    return {"Attention.cuh",
            name("attentionForward", "attentionQueryGradient",
                 "attentionKeyGradient"),
            cuda::kAttentionThreads, cuda::kTileRows,
            (forward ? 3 : 4) * cuda::kTileRows *
                (s.dim * 2 + cuda::kTilePadding)};
  int rows = forward ? cuda::plainRows(dim) : cuda::plainGradientRows(dim);
  return {"PlainAttention.cuh",
          name("plainAttentionForward", "plainAttentionQueryGradient",
               "plainAttentionKeyGradient"),
          cuda::kPlainThreads, rows,
          4 * (cuda::plainFloats(rows, dim, forward ? 1 : 2) + s.biasRows())};
}

/// Writes the launches of one call's attention in one way.
class AttentionWriter {
public:
  AttentionWriter(const CudaRequest &request, Way way,
                  std::vector<CudaLaunch> &launches)
      : request(request), way(way), launches(launches), s(request),
        type(cudaType(s.dtype)) {}

  /// Where other kernels take their place there: in no code for Hopper.
  void leaveOutOnHopper() { condition = "!defined(__CUDA_ARCH_FEAT_SM90_ALL)"; }

  KernelError forward() {
    Geometry g = geometryOf(s, way, Kernel::Forward);
    LaunchText kernel = text(g.header, g.function);
    if (way == Way::Warpgroups) {
      kernel.tensor("q", queries(0, g.rows));
      kernel.tensor("k", keys(1, cuda::kHopperKeys));
      kernel.tensor("v", keys(2, cuda::kHopperKeys)).oneBlock();
    } else {
      kernel.in("q", type, in(0)).in("k", type, in(1)).in("v", type, in(2));
      addBias(kernel);
    }
    kernel.out("o", type, out(0)).out("lse", "float", out(1));
    return append(kernel, g, s.queries, s.heads, 3);
  }

  KernelError delta() {
    LaunchText kernel("AttentionTiles.cuh", "attentionDelta", {"$_shape"});
    kernel.declare(shapeText(request)); // The same everywhere.
    kernel.in("o", type, in(3)).in("dO", type, in(5));
    kernel.out("delta", "float", deltaBuffer());
    auto bytes = static_cast<int>(bytesOf(static_cast<DType>(s.dtype)));
    int rows = cuda::kAttentionThreads / cuda::deltaLanes(dimension(), bytes);
    return appendLaunch(launches, kernel,
                        {blocksOf(s.batch * s.queries * s.heads, rows), 1, 1},
                        cuda::kAttentionThreads);
  }

  KernelError queryGradient() {
    Geometry g = geometryOf(s, way, Kernel::QueryGradient);
    LaunchText kernel = gradient(g, g.rows, cuda::hopperKeys(dimension()));
    kernel.out("dq", type, out(0));
    if (s.biased)
      kernel.out("biasParts", "float", 5).size("mostParts", biasParts());
    else if (way == Way::Plain)
      kernel.pass("nullptr").pass("0");
    return append(kernel, g, s.queries, s.heads, 6);
  }

  /// Sums what the blocks of queryGradient() found.
  KernelError biasGradient() {
    LaunchText kernel("PlainAttention.cuh", "attentionBiasGradient",
                      {"$_shape"});
    kernel.declare(shapeText(request));
    kernel.in("biasParts", "float", 5).out("dBias", "float", 3);
    kernel.size("mostParts", biasParts());
    return appendLaunch(launches, kernel,
                        {blocksOf(s.biasRows() * s.heads, 256), 1, 1}, 256);
  }

  bool isBiased() const { return s.biased; }

  KernelError keyGradient() {
    Geometry g = geometryOf(s, way, Kernel::KeyGradient);
    LaunchText kernel = gradient(g, cuda::kHopperQueries, g.rows);
    kernel.out("dk", type, out(1)).out("dv", type, out(2));
    return append(kernel, g, s.keys, s.kvHeads, 6);
  }

  /// All three at once, of an isJointGradient(); sums of queries whose room is
  /// not in shared memory take `workspaceBytes`.
  KernelError jointGradient(int64_t &workspaceBytes) {
    auto pairs = static_cast<int>(blocksOf(s.queries, cuda::kHopperRows));
    int held = cuda::jointHeldPairs(pairs);
    int64_t blocks =
        std::min<int64_t>(s.batch * s.heads, cuda::kJointMostBlocks);
    constexpr int64_t bytesOfPair = 4 * cuda::kJointSums;
    workspaceBytes = blocks * (pairs - held) * bytesOfPair;
    // Keys, values, tiles of queries and of their gradients, scores of a pair.
    int rows = 2 * cuda::kHopperRows +
               2 * cuda::kHopperQueryStages * cuda::kHopperQueries +
               2 * cuda::kHopperRows;
    Geometry g = {"HopperJointAttention.cuh", "hopperAttentionJointGradient",
                  cuda::kHopperThreads, cuda::kHopperRows,
                  rows * s.dim * 2 + held * bytesOfPair + cuda::kTileAlignment};
    LaunchText kernel = gradient(g, cuda::kHopperQueries, g.rows);
    kernel.persistent();
    kernel.out("dq", type, out(0)).out("dk", type, out(1));
    kernel.out("dv", type, out(2)).workspace("workspace", "float");
    addCall(kernel, 6);
    return appendLaunch(launches, kernel, {blocks, 1, 1}, g.threads,
                        g.sharedBytes);
  }

private:
  LaunchText text(const char *header, const char *function) const {
    LaunchText text(header, function, {"$_shape"});
    text.declare(shapeText(request));
    if (way == Way::Warpgroups)
      return text.onlyIf("defined(HOCKET_HOPPER)");
    return text.onlyIf(condition);
  }

  // Buffers are what is read and then the results, but results first where
  // there is a bias; positions are the last that is read.
  bool isForward() const { return request.buffers < 10; }
  uint32_t in(uint32_t i) const {
    return s.biased ? i + (isForward() ? 2 : 6) : i;
  }
  uint32_t out(uint32_t i) const {
    return s.biased ? i : i + (isForward() ? 3 : 6) + s.documents;
  }
  uint32_t deltaBuffer() const { return s.biased ? 4 : out(3); }

  /// What scores get by distance, of kernels that have it.
  void addBias(LaunchText &kernel) const {
    if (s.biased)
      kernel.in("bias", "float", in(isForward() ? 3 : 6));
    else if (way == Way::Plain)
      kernel.pass("nullptr");
  }
  int64_t biasParts() const {
    return attentionBiasParts(s.queries, s.part, s.dim);
  }

  int dimension() const { return static_cast<int>(s.dim); }

  /// TMA fetches so many queries and keys at a time.
  LaunchText gradient(const Geometry &g, int queriesOfTile,
                      int keysOfTile) const {
    LaunchText kernel = text(g.header, g.function);
    if (way == Way::Warpgroups) {
      kernel.tensor("q", queries(0, queriesOfTile));
      kernel.tensor("k", keys(1, keysOfTile)).tensor("v", keys(2, keysOfTile));
      kernel.tensor("dO", queries(5, queriesOfTile)).oneBlock();
      return kernel.in("lse", "float", 4).in("delta", "float", deltaBuffer());
    }
    kernel.in("q", type, in(0)).in("k", type, in(1)).in("v", type, in(2));
    kernel.in("lse", "float", in(4)).in("dO", type, in(5));
    kernel.in("delta", "float", deltaBuffer());
    addBias(kernel);
    return kernel;
  }

  // A buffer as TMA is told of it: [batch, rows, heads, dim], of
  // which it copies `rows` rows of a head, 128 bytes of each.
  CudaTensor queries(uint32_t buffer, int rows) const {
    return tensor(buffer, s.queries, s.heads, rows);
  }
  CudaTensor keys(uint32_t buffer, int rows) const {
    return tensor(buffer, s.keys, s.kvHeads, rows);
  }
  CudaTensor tensor(uint32_t buffer, int64_t count, int64_t heads,
                    int rows) const {
    return {buffer,
            static_cast<DType>(s.dtype),
            4,
            {s.dim, heads, count, s.batch},
            {1, s.dim, heads * s.dim, count * heads * s.dim},
            {64, 1, rows, 1}};
  }

  /// Of `rows` rows of `heads` heads, which are the blocks' own; see addCall().
  KernelError append(LaunchText &kernel, const Geometry &g, int64_t rows,
                     int64_t heads, uint32_t inputs) {
    addCall(kernel, inputs);
    return appendLaunch(launches, kernel,
                        {blocksOf(rows, g.rows), heads, s.batch}, g.threads,
                        g.sharedBytes);
  }

  /// Adds the last argument, which is made of the call's scalars, its place
  /// and, where documents share sequences, their positions, which stand behind
  /// `inputs` others and the bias.
  void addCall(LaunchText &kernel, uint32_t inputs) {
    static const char *const names[] = {"seed", "step",     "base", "query",
                                        "key",  "sequence", "head"};
    std::string list;
    for (uint32_t i = 0; i < request.scalars; ++i) {
      kernel.parameter("Integer", names[i], {CudaArgument::Kind::Scalar, i});
      list += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    // No constant: layers differ by it, and would have a kernel each.
    kernel.parameter("Integer", "stream",
                     {CudaArgument::Kind::I64, 0, s.stream});
    if (s.documents)
      kernel.parameter("const int *", "positions",
                       {CudaArgument::Kind::Buffer, in(inputs) + s.biased});
    kernel.parameter("unsigned *", "fault", {CudaArgument::Kind::Fault});
    kernel.pass("placeCall({" + list + "}, stream, " +
                std::to_string(s.behind) + ", " + std::to_string(s.sequence) +
                (s.documents ? ", positions, fault)" : ", nullptr, fault)"));
  }

  const CudaRequest &request;
  Way way;
  std::vector<CudaLaunch> &launches;
  Sizes s;
  std::string type, condition;
};

/// Writes one op: as every GPU can, and for Hopper where it fits.
using WriteFn = KernelError (*)(AttentionWriter &writer);

KernelError writeAttention(const CudaRequest &request, CudaCall &call,
                           WriteFn write) {
  if (!std::isfinite(request.floats[0]))
    return "attention: the scale is not finite";
  Sizes s(request);
  bool hopper = fits(s, Way::Warpgroups);
  AttentionWriter any(request, fits(s, Way::Warps) ? Way::Warps : Way::Plain,
                      call.launches);
  if (hopper)
    any.leaveOutOnHopper();
  if (KernelError error = write(any))
    return error;
  AttentionWriter groups(request, Way::Warpgroups, call.hopper);
  return hopper ? write(groups) : nullptr;
}

} // namespace

bool fitsFragments(int64_t dtype, int64_t dim) {
  return dtype != static_cast<int64_t>(DType::F32) && dim % 16 == 0 &&
         dim <= 128;
}

KernelError launchAttentionForward(const CudaRequest &request, CudaCall &call) {
  return writeAttention(
      request, call, [](AttentionWriter &writer) { return writer.forward(); });
}

KernelError launchAttentionBackward(const CudaRequest &request,
                                    CudaCall &call) {
  return writeAttention(request, call, [](AttentionWriter &writer) {
    if (KernelError error = writer.delta())
      return error;
    if (KernelError error = writer.queryGradient())
      return error;
    if (writer.isBiased())
      if (KernelError error = writer.biasGradient())
        return error;
    return writer.keyGradient();
  });
}

/// As launchAttentionBackward() but on Hopper.
KernelError launchAttentionJoint(const CudaRequest &request, CudaCall &call) {
  if (KernelError error = launchAttentionBackward(request, call))
    return error;
  Sizes s(request);
  if (!fits(s, Way::Warpgroups))
    return nullptr;
  call.hopper.clear();
  AttentionWriter writer(request, Way::Warpgroups, call.hopper);
  if (KernelError error = writer.delta())
    return error;
  return writer.jointGradient(call.workspaceBytes);
}

} // namespace hocket::kernels::library
