//===- ShardedSave.cpp - One checkpoint, written by many ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ShardedSave.h"

#include "base/File.h"
#include "base/Format.h"
#include "runtime/checkpoint/ManifestWriter.h"

using namespace hocket;
using namespace hocket::checkpoint;

std::string checkpoint::shardFileName(bool slots, unsigned shard,
                                      unsigned shards) {
  return formatText("%s-%05u-of-%05u.safetensors",
                    slots ? "optimizer" : "model", shard, shards);
}

static StatusOr<ShardFile> writeFile(const std::string &path, bool slots,
                                     const std::vector<CheckpointTensor> &all) {
  std::vector<TensorToWrite> toWrite;
  for (const CheckpointTensor &tensor : all)
    if (tensor.spec.key.slot.empty() != slots)
      for (const TensorSlice &slice : tensor.slices)
        toWrite.push_back({tensor.spec.key.text(), tensor.spec.type,
                           slice.bounds.size, slice.bytes});
  if (toWrite.empty())
    return ShardFile();
  return writeSafetensors(path, std::move(toWrite));
}

StatusOr<Shard>
checkpoint::writeShard(const std::string &folder, unsigned shard,
                       unsigned shards,
                       const std::vector<CheckpointTensor> &tensors) {
  Shard written;
  std::string prefix = folder + "/";
  HOCKET_ASSIGN_OR_RETURN(
      written.weights,
      writeFile(prefix + shardFileName(false, shard, shards), false, tensors));
  HOCKET_ASSIGN_OR_RETURN(
      written.slots,
      writeFile(prefix + shardFileName(true, shard, shards), true, tensors));
  return written;
}

PendingIteration::PendingIteration(std::string dir,
                                   std::unique_ptr<NewFolder> pending)
    : dir(std::move(dir)), pending(std::move(pending)) {}
PendingIteration::~PendingIteration() = default;

StatusOr<std::unique_ptr<PendingIteration>>
PendingIteration::create(const std::string &dir, uint64_t step) {
  HOCKET_RETURN_IF_ERROR(makeDirectories(dir));
  HOCKET_ASSIGN_OR_RETURN(NewFolder folder,
                          NewFolder::create(iterationFolder(dir, step)));
  return std::unique_ptr<PendingIteration>(new PendingIteration(
      dir, std::make_unique<NewFolder>(std::move(folder))));
}

std::string PendingIteration::folder() const { return pending->where(); }

Status PendingIteration::commit(const RunState &state,
                                const std::vector<Shard> &shards,
                                const std::vector<SavedTensor> &tensors) {
  ManifestWriter manifest(state);
  unsigned count = unsigned(shards.size());
  for (unsigned shard = 0; shard < count; ++shard)
    for (bool slots : {false, true}) {
      const ShardFile &file =
          slots ? shards[shard].slots : shards[shard].weights;
      if (file.bytes > 0)
        manifest.addFile(shardFileName(slots, shard, count), file);
    }
  for (const SavedTensor &tensor : tensors) {
    std::vector<const SliceBounds *> bounds;
    for (const SavedSlice &slice : tensor.slices)
      bounds.push_back(&slice.bounds);
    HOCKET_RETURN_IF_ERROR(checkCovered(tensor.spec, bounds));
    manifest.beginTensor(tensor.spec);
    for (const SavedSlice &slice : tensor.slices)
      manifest.addSlice(
          shardFileName(!tensor.spec.key.slot.empty(), slice.shard, count),
          tensor.spec.key.text(), slice.bounds);
  }
  return manifest.commit(*pending, dir);
}
