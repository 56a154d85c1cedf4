//===- ShardedSave.h - One checkpoint, written by many ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks save together: the first makes a PendingIteration, every rank writes
/// its slices there, the first commits. Who is who and how ranks tell each
/// other is the caller's business; between the three steps all must have met.
/// The folder must be the same for all, on one machine or on a shared file
/// system.
///
///   iter_0000100/model-00002-of-00008.safetensors      slices by weight
///   iter_0000100/optimizer-00002-of-00008.safetensors
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_SHARDEDSAVE_H
#define HOCKET_RUNTIME_CHECKPOINT_SHARDEDSAVE_H

#include "runtime/checkpoint/Checkpoint.h"

#include <memory>

namespace hocket::checkpoint {

class NewFolder;

/// A file that a rank has written; `bytes` 0: it had nothing to write.
using ShardFile = WrittenFile;

/// The two files of one shard, which need not both be there.
struct Shard {
  ShardFile weights, slots;
};

/// "model-00002-of-00008.safetensors"; with `slots` "optimizer-...".
std::string shardFileName(bool slots, unsigned shard, unsigned shards);

/// Writes the slices as shard `shard` of `shards` into `folder`; each tensor
/// has one slice or none.
StatusOr<Shard> writeShard(const std::string &folder, unsigned shard,
                           unsigned shards,
                           const std::vector<CheckpointTensor> &tensors);

/// A slice that a shard holds.
struct SavedSlice {
  unsigned shard = 0;
  SliceBounds bounds;
};

struct SavedTensor {
  TensorSpec spec;
  std::vector<SavedSlice> slices; ///< Disjoint; together the whole tensor.
};

/// An iteration that is being written; removed unless it is committed.
class PendingIteration {
public:
  static StatusOr<std::unique_ptr<PendingIteration>>
  create(const std::string &dir, uint64_t step);
  ~PendingIteration();

  /// Where shards are written.
  std::string folder() const;

  /// Writes the manifest of `shards` and makes the iteration the latest.
  Status commit(const RunState &state, const std::vector<Shard> &shards,
                const std::vector<SavedTensor> &tensors);

private:
  PendingIteration(std::string dir, std::unique_ptr<NewFolder> pending);
  std::string dir;
  std::unique_ptr<NewFolder> pending;
};

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_SHARDEDSAVE_H
