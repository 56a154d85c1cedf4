//===- OpTimes.h - What one op takes on one device --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Seconds of GEMMs, of kernels that only move data, of attention and of
/// collectives, on local shapes, from a cluster's description.
///
/// Collectives take the ring's time or the tree's, whichever is less. With n
/// members, B bytes in all and a bus bandwidth W,
///
///   all-gather, reduce-scatter   B (n-1)/n / W  +  (n-1) latency
///   all-reduce                   twice that; or by a tree
///                                2 B / W + 2 log2(n) latency
///
/// and the link's start beside it.
///
/// W is that of the node's links; where members are on several nodes, a ring
/// enters and leaves each node once, over the network's shares of all members
/// there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CLUSTER_OPTIMES_H
#define HOCKET_RUNTIME_CLUSTER_OPTIMES_H

#include "runtime/cluster/cluster.pb.h"

#include <cstdint>

namespace hocket::cluster {

/// Ranks `stride` apart, `size` of them.
struct RankGroup {
  int64_t size = 1;
  int64_t stride = 1;
};

/// An [m, k] x [k, n] GEMM, `count` of them in one kernel.
struct Gemm {
  double m = 1, n = 1, k = 1, count = 1;
  double flops() const { return 2 * m * n * k * count; }
};

class OpTimes {
public:
  /// `bits` of the operands of weights' GEMMs: 32, 16 or 8. `system`
  /// outlives it.
  OpTimes(const cluster::System &system, int64_t bits);

  double gemm(const Gemm &gemm) const;
  /// GEMMs of activations, which are never below 16 bits.
  double gemm16(const Gemm &gemm) const;
  double memory(double bytes) const;
  /// Of 32 bits, in a kernel without tensor cores.
  double vector(double flops) const;
  /// Fused attention of `flops`, over sequences of `length` tokens.
  double attention(double flops, double length, double headDim) const;
  /// The same that reaches another share of the peak than software.attention.
  double attention(double flops, double length, double headDim,
                   double share) const;

  double allGather(double bytes, const RankGroup &group) const;
  double allReduce(double bytes, const RankGroup &group) const;
  /// Each member's tokens, of `bytes` together, go to `copies` members each,
  /// evenly chosen from a `share` of them; to one that is chosen c times they
  /// go as often, or once with software.dispatch_once. With it they cross the
  /// network once to each node: with c copies, chosen from M = share N of N
  /// nodes, (N - 1) / N M (1 - (1 - 1/M)^c) times; else c (N - 1) / N times.
  double dispatch(double bytes, double copies, const RankGroup &group,
                  double share = 1) const;
  /// From a rank to one `stride` further on a line of `size`.
  double transfer(double bytes, const RankGroup &line) const;

  /// To the host's memory or back; the system has a host_link.
  double toHost(double bytes) const;

  const cluster::System &system() const { return described; }
  const cluster::Software &software() const { return described.software(); }

private:
  struct Path {
    double bandwidth;
    double latency;
    double start;
    double members; ///< On one node.
  };
  Path pathOf(const RankGroup &group) const;
  double ring(double bytes, double size, const Path &path) const;
  double gemmAt(const Gemm &gemm, double peak) const;

  const cluster::System &described;
  double weightPeak, activationPeak;
};

} // namespace hocket::cluster

#endif // HOCKET_RUNTIME_CLUSTER_OPTIMES_H
