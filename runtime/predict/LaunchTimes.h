//===- LaunchTimes.h - What a kernel takes on a GPU -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The roofline of one launch, with what a GPU needs beside it: enough blocks
/// for its multiprocessors, and enough bytes in flight for its memory. A launch
/// takes the longest of
///
///   compute   its FLOPs at the share of the peak that such kernels reach;
///             GEMMs in whole waves of tiles
///   memory    its bytes at the bandwidth that copies reach, without those of
///             a GEMM's epilogue
///   latency   the bytes it reads, of which only those that its threads ask for
///             before they wait are in flight: each such lot takes one latency
///             (Little's law: bandwidth = bytes in flight / latency)
///
/// and what it takes to start, and of a GEMM its epilogue, which hardly hides
/// behind products (measured, docs/benchmarks.md). See docs/planning.md for
/// what is left out.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_LAUNCHTIMES_H
#define HOCKET_RUNTIME_PREDICT_LAUNCHTIMES_H

#include "runtime/cluster/OpTimes.h"
#include "runtime/predict/KernelLaunches.h"
#include "runtime/program/CubinKernels.h"

namespace hocket {

/// What takes the time of a launch.
enum class Bound : uint8_t {
  Compute,
  Memory,
  Latency, ///< Neither is busy: too few blocks or bytes in flight, or too
           ///< short.
  Link,    ///< Of messages.
};
const char *boundName(Bound bound);

/// How a GEMM is cut; cuBLASLt may choose otherwise.
struct GemmTiles {
  double rows = 0, columns = 0; ///< Of a tile.
  double parts = 1;             ///< Of the depth, each a tile's.
  double tiles = 0;             ///< In all.
  double seconds = 0;
};

struct LaunchTime {
  double compute = 0, memory = 0, latency = 0;
  double epilogue = 0, start = 0; ///< Beside the longest of these.
  Bound bound = Bound::Memory;
  double blocks = 0;        ///< The launch's, or its tiles.
  double blocksAtOnce = 0;  ///< Of a multiprocessor; 0: not known.
  double inFlightBytes = 0; ///< Of the GPU; 0: not counted.
  GemmTiles tiles;          ///< Of a GEMM.

  double seconds() const;
};

class LaunchTimes {
public:
  /// Of a system that has multiprocessors and kernels, which outlives it.
  explicit LaunchTimes(const cluster::System &system);

  /// `code` is null where there is none for this GPU: then registers and static
  /// shared memory limit nothing.
  LaunchTime timeOf(const KernelLaunch &launch, const CubinKernel *code) const;

  /// The fastest of some usual tiles and cuts of the depth.
  GemmTiles gemmTiles(const GemmSizes &gemm) const;

  /// Blocks that a multiprocessor has at a time, at least 1.
  double blocksAtOnce(const KernelLaunch &launch,
                      const CubinKernel *code) const;

  /// Whether more than a quarter of the multiprocessors have none of so many
  /// blocks (of a launch whose blocks are known).
  bool isFew(double blocks) const;

  /// Bytes that must be in flight for the whole bandwidth.
  double neededBytes() const;

private:
  double computeSeconds(const KernelLaunch &launch) const;
  /// How many times longer it takes as not every multiprocessor has a block.
  double unfilled(double blocks) const;

  const cluster::System &system;
  cluster::OpTimes times;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_LAUNCHTIMES_H
