//===- ManifestReader.h - What a checkpoint holds ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads manifest.json of one iteration and opens the files that it names. The
/// manifest is untrusted: files are names without folders, every slice must be
/// a tensor of its file with that type and shape, and the slices of a tensor
/// must be disjoint and cover it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H
#define HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H

#include "runtime/checkpoint/Checkpoint.h"

#include <simdjson.h>

namespace hocket::checkpoint {

/// Whether `name` can only be a file of the same folder: no '/', not empty,
/// not "." or "..", no NUL.
bool isPlainFileName(std::string_view name);

class ManifestReader {
public:
  ManifestReader(Checkpoint &checkpoint, bool verifyDigests)
      : checkpoint(checkpoint), verifyDigests(verifyDigests),
        path(checkpoint.folder + "/manifest.json") {}

  /// Fills the checkpoint, whose folder is set.
  Status read();

private:
  using Element = simdjson::dom::element;

  Status wrong(const std::string &what) const;
  template <typename T>
  Status get(Element object, const char *key, T &value) const;
  Status numbers(Element object, const char *key,
                 std::vector<uint64_t> &values) const;
  Status readState(Element root);
  Status readFile(Element entry);
  Status readTensor(Element entry);
  Status readSlice(Element entry, Checkpoint::StoredTensor &tensor);
  Status checkCoverage(const Checkpoint::StoredTensor &tensor) const;

  Checkpoint &checkpoint;
  bool verifyDigests;
  std::string path;
  std::vector<std::string> fileNames;
};

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H
