//===- ScatteredGradients.h - What waits to be scattered --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_SCATTEREDGRADIENTS_H
#define HOCKET_PASSES_PLANNING_COST_SCATTEREDGRADIENTS_H

#include <span>
#include <vector>

namespace hocket::planning {

/// With ZeRO-2 and 3, the gradients of one microbatch that are there whole and
/// what they are scattered into, as exec-order-collectives deals with them: the
/// gradients of a layer are made in its backward, and then dealt to buckets. A
/// bucket goes when it is full; the gradients that it reads and its shards are
/// there until the next one goes.
class ScatteredGradients {
public:
  /// A bucket is full with `limit` bytes; each of `ranks` gets a shard.
  ScatteredGradients(double limit, double ranks) : limit(limit), ranks(ranks) {}

  /// Makes gradients of so many bytes.
  void make(double bytes) { made += bytes; }
  /// Deals what was made, gradients of `bytes`, to buckets.
  void deal(std::span<const double> bytes);
  /// Bytes that are there.
  double live() const;

private:
  bool isFull() const { return open > 0 && open >= limit; }

  double limit, ranks;
  double made = 0; ///< not in a bucket yet
  double open = 0; ///< in the last one, which may be full
  double gone = 0; ///< in the one before, where its shards are not added yet
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_SCATTEREDGRADIENTS_H
