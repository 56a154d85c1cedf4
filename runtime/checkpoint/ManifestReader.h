//===- ManifestReader.h - What a checkpoint holds ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads manifest.json of one iteration (ManifestWriter.h) and opens the files
/// that it names. The manifest is untrusted: its digest must be that of its
/// content, files are names without folders, every slice must be a tensor of
/// its file with that type and shape, and the slices of a tensor must be
/// disjoint and cover it. Version 1, which has no digest, is read without that
/// check. Entries are parsed one by one: memory is the text, what is kept of
/// it, and the largest entry.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H
#define HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H

#include "runtime/checkpoint/Checkpoint.h"

#include <map>
#include <simdjson.h>

namespace hocket::checkpoint {

/// Whether `name` can only be a file of the same folder: no '/', not empty,
/// not "." or "..", no NUL.
bool isPlainFileName(std::string_view name);

class ManifestReader {
public:
  ManifestReader(Checkpoint &checkpoint, const Checkpoint::OpenOptions &options)
      : checkpoint(checkpoint), options(options),
        path(checkpoint.folder + "/manifest.json") {}

  /// Fills the checkpoint, whose folder is set.
  Status read();

private:
  using Element = simdjson::dom::element;

  /// The parts of the text; views into it.
  struct Parts {
    std::string head; ///< The members that are not listed here, as an object.
    std::string_view files, tensors, digest;
    size_t digestAt = 0; ///< Where its key begins.
  };

  Status wrong(const std::string &what) const;
  Status notJson(const char *reason) const;
  Status split(Parts &parts) const;
  Status checkDigest(const Parts &parts) const;
  Status eachEntry(std::string_view array, const char *key,
                   Status (ManifestReader::*read)(simdjson::dom::element));
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
  Checkpoint::OpenOptions options;
  std::string path, text;
  uint64_t version = 0;
  std::map<std::string, size_t> fileNumbers; ///< Indices of checkpoint.files.
};

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_MANIFESTREADER_H
