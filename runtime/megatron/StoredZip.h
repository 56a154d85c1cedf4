//===- StoredZip.h - The members of a torch.save file -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.save writes a zip archive whose members are stored, never compressed,
/// so that a tensor's bytes lie in the file as they are. This reader takes that
/// subset and nothing else, which is why it is not a library: what is left of
/// the format is a table of names and offsets, and every one of them is held
/// against the size of the file before it is used. No member can be larger
/// than the file. Checksums are not compared, since tensors are read in parts;
/// torch can be told to write none.
///
/// A member of a torch.distributed.checkpoint file is a whole archive inside
/// the file: a FileRange says which part of the file is meant.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_STOREDZIP_H
#define HOCKET_RUNTIME_MEGATRON_STOREDZIP_H

#include "base/File.h"
#include "base/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace hocket::megatron {

/// Bytes [begin, begin + bytes) of a file.
struct FileRange {
  std::shared_ptr<const RandomAccessFile> file;
  uint64_t begin = 0;
  uint64_t bytes = 0;

  /// The whole of `path`; NotFound if there is none.
  static StatusOr<FileRange> open(const std::string &path);

  const std::string &path() const { return file->path(); }

  /// DataLoss with the path if that is not inside.
  StatusOr<FileRange> part(uint64_t offset, uint64_t size) const;

  Status read(uint64_t offset, void *out, uint64_t size) const;

  /// All of it; DataLoss if it is more than `limit`.
  StatusOr<std::string> readAll(uint64_t limit) const;
};

class StoredZip {
public:
  /// DataLoss, with the path and what is wrong, if `range` is not an archive
  /// of stored members with distinct names: cut short, compressed, encrypted,
  /// spread over several disks, or with a member outside of it.
  static StatusOr<StoredZip> open(const FileRange &range);

  /// By name.
  const std::map<std::string, FileRange> &members() const { return found; }

  const std::string &path() const { return range.path(); }

private:
  struct Directory;
  explicit StoredZip(FileRange range) : range(std::move(range)) {}
  StatusOr<Directory> findDirectory() const;
  Status readDirectory(const Directory &directory);
  Status wrong(const std::string &what) const;

  FileRange range;
  std::map<std::string, FileRange> found;
};

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_STOREDZIP_H
