//===- ManifestWriter.h - What a checkpoint says it holds -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds manifest.json of one iteration and makes the iteration the latest.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H
#define HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/NewFolder.h"

#include <nlohmann/json.hpp>

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
  /// iteration of `dir`.
  Status commit(NewFolder &folder, const std::string &dir);

private:
  uint64_t step;
  nlohmann::ordered_json manifest;
};

/// Internal, unless `elements` are all of the tensor's.
Status checkCovered(const TensorSpec &spec,
                    const std::vector<const SliceBounds *> &slices);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_MANIFESTWRITER_H
