//===- TorchFile.h - What torch.save wrote ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file of torch.save: NAME/data.pkl describes values (Pickle.h), and each
/// tensor among them names a storage, NAME/data/0 and so on, with an offset and
/// strides. A tensor is a range of the file here; nothing of it is read.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_TORCHFILE_H
#define HOCKET_RUNTIME_MEGATRON_TORCHFILE_H

#include "runtime/checkpoint/ElementType.h"
#include "runtime/megatron/Pickle.h"
#include "runtime/megatron/StoredZip.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::megatron {

/// Dense, row-major and little-endian; `bytes` is what its shape and type need.
struct TorchTensor {
  checkpoint::ElementType type = checkpoint::ElementType::F32;
  std::vector<uint64_t> shape;
  FileRange bytes;
};

class TorchFile {
public:
  /// DataLoss, with the path and what is wrong, for an archive without a
  /// pickle, a pickle that cannot be read, and numbers that are big-endian.
  static StatusOr<TorchFile> open(const FileRange &range);

  const PickleValue &root() const { return pickle.root(); }
  const std::string &path() const { return zip.path(); }

  /// Whether `value` is a tensor, or a parameter, which holds one.
  static bool isTensor(const PickleValue &value);

  /// The tensor `value`, called `name` in errors. DataLoss if its storage is
  /// missing or too short, or shape, strides and offset do not lie inside it;
  /// InvalidArgument for types that are not known and elements that are not
  /// stored in the order of the shape.
  StatusOr<TorchTensor> tensor(const PickleValue &value,
                               const std::string &name) const;

private:
  TorchFile(StoredZip zip, Pickle pickle, std::string prefix)
      : zip(std::move(zip)), pickle(std::move(pickle)),
        prefix(std::move(prefix)) {}

  StoredZip zip;
  Pickle pickle;
  std::string prefix; ///< "NAME/"
};

/// The whole numbers of a tuple, a list or a torch.Size, none of them negative.
/// nullopt if `value` is something else.
std::optional<std::vector<uint64_t>> sizesOf(const PickleValue &value);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_TORCHFILE_H
