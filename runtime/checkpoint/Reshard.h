//===- Reshard.h - The same checkpoint in other files -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_RESHARD_H
#define HOCKET_RUNTIME_CHECKPOINT_RESHARD_H

#include "runtime/checkpoint/Compare.h"

namespace hocket::checkpoint {

struct ReshardOptions {
  /// Files of weights, and as many of optimizer state. Tensors are cut along
  /// their first dim, those with fewer rows than shards are not.
  unsigned shards = 1;
  bool slots = true; ///< With the optimizer's state.
};

/// Writes the iteration into `dir` as saveCheckpoint does, bit by bit the same
/// tensors; a few MiB are in memory at once. InvalidArgument where `dir` holds
/// an iteration already.
Status reshard(const Checkpoint &from, const std::string &dir,
               const ReshardOptions &options, const ReadProgress &progress);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_RESHARD_H
