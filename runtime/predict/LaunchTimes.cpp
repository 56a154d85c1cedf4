//===- LaunchTimes.cpp - What a kernel takes on a GPU ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/LaunchTimes.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hocket;

/// Threads of a warp, and by what registers of a warp and warps are counted
/// out, on every GPU from sm_80 on.
static constexpr double warpThreads = 32, registerUnit = 256, warpUnit = 4;
/// Shared memory of every block that CUDA keeps for itself.
static constexpr double reservedShared = 1024;
/// Depth for whose products a tile's first loads and its last stores take time.
static constexpr double tileDepth = 192;
/// Less depth than this is not cut into parts.
static constexpr double leastDepth = 1024;

static double roundedUp(double value, double unit) {
  return std::ceil(value / unit) * unit;
}

const char *hocket::boundName(Bound bound) {
  switch (bound) {
  case Bound::Compute:
    return "compute";
  case Bound::Memory:
    return "memory";
  case Bound::Latency:
    return "latency";
  case Bound::Link:
    return "link";
  }
  return "";
}

double LaunchTime::seconds() const {
  return std::max({compute, memory, latency}) + epilogue + start;
}

LaunchTimes::LaunchTimes(const cluster::System &system)
    : system(system), times(system, 16) {}

double LaunchTimes::neededBytes() const {
  const cluster::Device &device = system.device();
  return device.memory_bandwidth() * device.memory_latency();
}

double LaunchTimes::unfilled(double blocks) const {
  auto count = double(system.device().multiprocessors().count());
  return blocks > 0 && blocks < count ? count / blocks : 1;
}

bool LaunchTimes::isFew(double blocks) const {
  constexpr double enough = 0.75;
  return unfilled(blocks) > 1 / enough;
}

double LaunchTimes::blocksAtOnce(const KernelLaunch &launch,
                                 const CubinKernel *code) const {
  const cluster::Multiprocessors &each = system.device().multiprocessors();
  double threads = roundedUp(std::max(1.0, launch.threads), warpThreads);
  double fixed = code ? double(code->sharedBytes) : 0;
  double blocks = std::min(
      {double(each.blocks()), std::floor(double(each.threads()) / threads),
       std::floor(double(each.shared_bytes()) /
                  (launch.sharedBytes + fixed + reservedShared))});
  if (code && code->registers > 0) {
    double ofWarp = roundedUp(code->registers * warpThreads, registerUnit);
    double warps = std::floor(double(each.registers()) / ofWarp / warpUnit);
    blocks =
        std::min(blocks, std::floor(warps * warpUnit * warpThreads / threads));
  }
  return std::max(1.0, blocks);
}

GemmTiles LaunchTimes::gemmTiles(const GemmSizes &gemm) const {
  // A smaller tile reads its operands more often for what it computes.
  struct Shape {
    double rows, columns, reached;
  };
  static constexpr Shape shapes[] = {
      {128, 256, 1},  {256, 128, 1},  {128, 192, .96}, {192, 128, .96},
      {128, 128, .9}, {128, 64, .75}, {64, 128, .75},  {64, 64, .6}};
  const cluster::Device &device = system.device();
  const cluster::Kernels &kernels = system.kernels();
  bool isWide = gemm.type == program::F32 || gemm.type == program::F64;
  bool isNarrow = device.peak_8bit() > 0 && (gemm.type == program::F8_E4M3 ||
                                             gemm.type == program::F8_E5M2);
  double peak = isWide     ? device.peak_32bit() * kernels.gemm()
                : isNarrow ? device.peak_8bit() * kernels.gemm_8bit()
                           : device.peak_16bit() * kernels.gemm();
  auto count = double(device.multiprocessors().count());
  GemmTiles best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (const Shape &shape : shapes)
    for (double parts : {1, 2, 4, 8, 16, 32}) {
      if (parts > 1 && gemm.k / parts < leastDepth)
        break;
      double tiles = parts * std::ceil(gemm.m / shape.rows) *
                     std::ceil(gemm.n / shape.columns);
      double ofTile = 2 * shape.rows * shape.columns *
                      (gemm.k / parts + tileDepth) /
                      (peak / count * shape.reached);
      double seconds = std::ceil(tiles / count) * ofTile;
      if (parts > 1) // Partial sums in f32, written and read.
        seconds += 2 * 4 * parts * gemm.m * gemm.n /
                   (device.memory_bandwidth() * kernels.memory());
      if (seconds < best.seconds)
        best = {shape.rows, shape.columns, parts, tiles, seconds};
    }
  return best;
}

double LaunchTimes::computeSeconds(const KernelLaunch &launch) const {
  const cluster::Device &device = system.device();
  const cluster::Kernels &kernels = system.kernels();
  if (launch.attention) {
    const AttentionSizes &sizes = launch.attention->sizes;
    double share = kernels.attention() > 0 ? kernels.attention()
                                           : times.software().attention();
    double forward = times.attention(sizes.forwardFlops(), sizes.span(),
                                     sizes.headDim, share);
    double pass = sizes.backward ? times.software().attention_backward() : 1;
    double whole = launch.attention->wholeHeads;
    auto count = double(device.multiprocessors().count());
    double idle = whole > 0 ? std::ceil(whole / count) * count / whole
                            : unfilled(launch.blocks);
    return forward * pass * launch.attention->share * idle;
  }
  double peak = launch.tensorCores ? device.peak_16bit() * kernels.gemm()
                                   : device.peak_vector();
  return launch.flops / peak * unfilled(launch.blocks);
}

LaunchTime LaunchTimes::timeOf(const KernelLaunch &launch,
                               const CubinKernel *code) const {
  const cluster::Device &device = system.device();
  LaunchTime time;
  time.start = system.kernels().start_seconds();
  double bandwidth = device.memory_bandwidth() * system.kernels().memory();
  time.memory = (launch.bytes - launch.epilogueBytes) / bandwidth;
  time.epilogue = system.kernels().epilogue() *
                  (launch.epilogueBytes + launch.summedBytes) / bandwidth;
  time.blocks = launch.blocks;
  if (launch.gemm) {
    time.tiles = gemmTiles(*launch.gemm);
    time.compute = time.tiles.seconds;
    time.blocks = time.tiles.tiles;
  } else {
    time.compute = computeSeconds(launch);
  }
  if (launch.threads > 0)
    time.blocksAtOnce = blocksAtOnce(launch, code);
  if (launch.threadBytes > 0) {
    double atOnce =
        std::min(launch.blocks,
                 time.blocksAtOnce * double(device.multiprocessors().count()));
    time.inFlightBytes = atOnce * launch.threads * launch.threadBytes;
    time.latency =
        launch.readBytes / time.inFlightBytes * device.memory_latency();
  }
  double longest = std::max({time.compute, time.memory, time.latency});
  bool isIdle = time.start > longest || longest == time.latency ||
                (longest == time.compute && isFew(time.blocks));
  time.bound = isIdle                    ? Bound::Latency
               : longest == time.compute ? Bound::Compute
                                         : Bound::Memory;
  return time;
}
