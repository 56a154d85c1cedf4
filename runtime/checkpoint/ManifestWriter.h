//===- ManifestWriter.h - What a checkpoint says it holds -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds manifest.json of one iteration and makes the iteration the latest.
///
///   {
///    "format": "hocket-checkpoint",
///    "version": 2,
///    "step": 100,  "consumed_samples": 800,  "seed": 1234,
///    "loss_scale": {"scale": 65536.0, "good_steps": 12},    if there is one
///    "spec": "model { ...",
///    "files": [{"name", "bytes", "sha256"}, ...],
///    "tensors": [{"name", "slot", "dtype", "shape",
///                 "slices": [{"file", "key", "offset", "size"}, ...]}, ...],
///    "sha256": "..."
///   }
///
/// The last member is the SHA-256 of every byte before its key. Version 1 had
/// none.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H
#define HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/NewFolder.h"

#include <nlohmann/json.hpp>
#include <string>

namespace hocket::checkpoint {

class ManifestWriter {
public:
  explicit ManifestWriter(const RunState &state);

  void addFile(const std::string &name, const WrittenFile &file);

  /// The slices that follow belong to this tensor.
  void beginTensor(const TensorSpec &spec);
  void addSlice(const std::string &file, const std::string &key,
                const SliceBounds &bounds);

  /// Writes the manifest into `folder`, commits that, and makes it the latest
  /// iteration of `dir`. ResourceExhausted if it is larger than what may be
  /// read.
  Status commit(NewFolder &folder, const std::string &dir);

private:
  std::string text() const;

  uint64_t step;
  nlohmann::ordered_json head;
  std::string files, tensors; ///< Their elements, as text.
};

/// As of what may be read: bytes of a manifest, and of one entry of it.
inline constexpr uint64_t manifestLimit = uint64_t(128) << 20;
inline constexpr uint64_t manifestEntryLimit = uint64_t(8) << 20;

/// Internal, unless `elements` are all of the tensor's.
Status checkCovered(const TensorSpec &spec,
                    const std::vector<const SliceBounds *> &slices);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H
