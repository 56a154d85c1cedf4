//===- SaveCheckpoint.cpp - Writes an iteration ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/ManifestWriter.h"

#include <cstdio>

using namespace hocket;
using namespace hocket::checkpoint;

std::string checkpoint::iterationFolder(const std::string &dir, uint64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "iter_%07llu", (unsigned long long)step);
  return dir + "/" + name;
}

CheckpointTensor checkpoint::wholeTensor(TensorSpec spec,
                                         std::span<const uint8_t> bytes) {
  TensorSlice slice{wholeOf(spec.shape), bytesInMemory(bytes)};
  return {std::move(spec), {std::move(slice)}};
}

static Status checkSlices(const CheckpointTensor &tensor) {
  std::vector<const SliceBounds *> bounds;
  for (const TensorSlice &slice : tensor.slices)
    bounds.push_back(&slice.bounds);
  return checkCovered(tensor.spec, bounds);
}

/// Key of slice `index` in its file.
static std::string keyInFile(const CheckpointTensor &tensor, size_t index) {
  std::string key = tensor.spec.key.text();
  return tensor.slices.size() == 1 ? key : key + "#" + std::to_string(index);
}

/// Writes the weights, or all optimizer state, as one file; adds it to the
/// manifest.
static Status writeTensors(const NewFolder &folder, const char *name,
                           const std::vector<const CheckpointTensor *> &tensors,
                           ManifestWriter &manifest) {
  std::vector<TensorToWrite> toWrite;
  for (const CheckpointTensor *tensor : tensors) {
    HOCKET_RETURN_IF_ERROR(checkSlices(*tensor));
    manifest.beginTensor(tensor->spec);
    for (size_t i = 0; i < tensor->slices.size(); ++i) {
      const TensorSlice &slice = tensor->slices[i];
      std::string key = keyInFile(*tensor, i);
      manifest.addSlice(name, key, slice.bounds);
      toWrite.push_back(
          {key, tensor->spec.type, slice.bounds.size, slice.bytes});
    }
  }
  HOCKET_ASSIGN_OR_RETURN(WrittenFile written,
                          writeSafetensors(folder / name, std::move(toWrite)));
  manifest.addFile(name, written);
  return okStatus();
}

Status
checkpoint::saveCheckpoint(const std::string &dir, const RunState &state,
                           const std::vector<CheckpointTensor> &tensors) {
  std::vector<const CheckpointTensor *> weights, slots;
  for (const CheckpointTensor &tensor : tensors)
    (tensor.spec.key.slot.empty() ? weights : slots).push_back(&tensor);
  HOCKET_RETURN_IF_ERROR(makeDirectories(dir));
  HOCKET_ASSIGN_OR_RETURN(NewFolder folder,
                          NewFolder::create(iterationFolder(dir, state.step)));
  ManifestWriter manifest(state);
  HOCKET_RETURN_IF_ERROR(
      writeTensors(folder, "model.safetensors", weights, manifest));
  if (!slots.empty())
    HOCKET_RETURN_IF_ERROR(
        writeTensors(folder, "optimizer.safetensors", slots, manifest));
  return manifest.commit(folder, dir);
}
