//===- Reshard.cpp - The same checkpoint in other files -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Reshard.h"

#include "runtime/checkpoint/IterationFiles.h"
#include "runtime/checkpoint/ShardedSave.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::checkpoint;

namespace {
class Resharding {
public:
  Resharding(const Checkpoint &from, const ReshardOptions &options,
             const ReadProgress &progress)
      : from(from), options(options), progress(progress) {
    for (TensorSpec &spec : from.tensors())
      if (options.slots || spec.key.slot.empty())
        specs.push_back(std::move(spec));
  }

  /// One file of weights and one of optimizer state, named as a run of one
  /// rank names them.
  Status writeWhole(const std::string &dir) const;
  Status writeShards(const std::string &dir) const;

private:
  ByteProducer bytesOf(const TensorSpec &spec, const SliceBounds &slice) const;

  const Checkpoint &from;
  const ReshardOptions &options;
  const ReadProgress &progress;
  std::vector<TensorSpec> specs;
};
} // namespace

ByteProducer Resharding::bytesOf(const TensorSpec &spec,
                                 const SliceBounds &slice) const {
  return [this, bytes = from.bytesOf(spec, slice)](const ByteSink &sink) {
    return bytes([&](std::span<const uint8_t> part) {
      HOCKET_RETURN_IF_ERROR(sink(part));
      progress(part.size());
      return okStatus();
    });
  };
}

Status Resharding::writeWhole(const std::string &dir) const {
  std::vector<CheckpointTensor> tensors;
  for (const TensorSpec &spec : specs) {
    SliceBounds whole = wholeOf(spec.shape);
    tensors.push_back({spec, {{whole, bytesOf(spec, whole)}}});
  }
  return saveCheckpoint(dir, from.state(), tensors);
}

Status Resharding::writeShards(const std::string &dir) const {
  unsigned shards = options.shards;
  std::vector<std::vector<CheckpointTensor>> ofShard(shards);
  std::vector<uint64_t> bytes(shards); // What each has, to share out the rest.
  std::vector<SavedTensor> saved;
  auto give = [&](unsigned shard, const TensorSpec &spec, SliceBounds slice) {
    bytes[shard] += elementsOf(slice) * elementBytes(spec.type);
    saved.back().slices.push_back({shard, slice});
    ByteProducer producer = bytesOf(spec, slice);
    ofShard[shard].push_back({spec, {{std::move(slice), std::move(producer)}}});
  };
  for (const TensorSpec &spec : specs) {
    saved.push_back({spec, {}});
    SliceBounds whole = wholeOf(spec.shape);
    if (spec.shape.empty() || spec.shape[0] < shards) {
      give(unsigned(std::ranges::min_element(bytes) - bytes.begin()), spec,
           std::move(whole));
      continue;
    }
    for (unsigned shard = 0; shard < shards; ++shard) {
      SliceBounds slice = whole;
      slice.offset[0] = spec.shape[0] * shard / shards;
      slice.size[0] = spec.shape[0] * (shard + 1) / shards - slice.offset[0];
      give(shard, spec, std::move(slice));
    }
  }
  HOCKET_ASSIGN_OR_RETURN(auto pending,
                          PendingIteration::create(dir, from.state().step));
  std::vector<Shard> written;
  for (unsigned shard = 0; shard < shards; ++shard) {
    HOCKET_ASSIGN_OR_RETURN(Shard files, writeShard(pending->folder(), shard,
                                                    shards, ofShard[shard]));
    written.push_back(std::move(files));
  }
  return pending->commit(from.state(), written, saved);
}

Status checkpoint::reshard(const Checkpoint &from, const std::string &dir,
                           const ReshardOptions &options,
                           const ReadProgress &progress) {
  HOCKET_RETURN_IF_ERROR(expectNoIterations(dir));
  Resharding resharding(from, options, progress);
  return options.shards == 1 ? resharding.writeWhole(dir)
                             : resharding.writeShards(dir);
}
