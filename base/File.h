//===- File.h - Reading, mapping and replacing files ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files are read whole under a limit, mapped read-only, or replaced in one
/// step: a reader sees the old file or the new one, never a part, and a write
/// that fails leaves nothing behind. What a killed process has left, the next
/// write to that folder removes. Every message starts with the path.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_FILE_H
#define HOCKET_BASE_FILE_H

#include "base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// The whole file. NotFound if there is none; InvalidArgument if it is not a
/// regular file or has more than `limit` bytes.
StatusOr<std::string> readFile(const std::string &path, uint64_t limit);

/// Writes `bytes` to `path` so that `path` either holds all of them or is
/// what it was before.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// Makes the directory and its parents; fine if it exists.
Status makeDirectories(const std::string &path);

/// The regular files below `folder`, however deep, whose names end in one of
/// `extensions` (".txt"), sorted. NotFound if it cannot be read.
StatusOr<std::vector<std::string>>
filesBelow(const std::string &folder,
           const std::vector<std::string> &extensions);

/// The message of an errno value, e.g. "No such file or directory".
std::string errnoMessage(int error);

/// Of a call that has failed with an errno value: "PATH: cannot ACTION: why".
/// NotFound if there is no such file, ResourceExhausted on a full disk,
/// InvalidArgument where another path would do, else Unavailable.
Status fileError(const std::string &path, std::string_view action, int error);

/// What a file is worth that is written.
enum class Durability {
  Lasting, ///< A power failure leaves the old file or the new one.
  /// It may leave a damaged one: for what is checked when it is read, and made
  /// again. The disk is not waited for, nor the folder looked through for what
  /// dead processes have left.
  Replaceable,
};

/// A file that takes the name `path` only when it is complete: bytes go to a
/// temporary file beside it (TemporaryName.h), commit() syncs that and renames
/// it. Destroyed before commit(), it removes the temporary file.
class AtomicFile {
public:
  /// Fails if the directory is missing or read-only, or if `path` exists and
  /// is not a regular file. Without a durability the file is to last.
  static StatusOr<AtomicFile> create(const std::string &path);
  static StatusOr<AtomicFile> create(const std::string &path,
                                     Durability durability);

  /// Removes what dead processes have left in the folder of `path`, as
  /// create() does for a file that is to last.
  static void tidyBeside(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  /// Appends `size` bytes.
  Status append(const void *data, size_t size);
  Status append(std::string_view bytes) {
    return append(bytes.data(), bytes.size());
  }

  /// Writes `size` bytes at `offset`; the file grows as needed. Threads may
  /// write disjoint ranges at the same time.
  Status writeAt(uint64_t offset, const void *data, size_t size);

  /// Makes the bytes durable, if they are to last, under the final name.
  /// Nothing may follow.
  Status commit();

private:
  AtomicFile(std::string path, std::string temporary, int descriptor,
             Durability durability)
      : path(std::move(path)), temporary(std::move(temporary)),
        descriptor(descriptor), durability(durability) {}
  void discard();

  std::string path, temporary;
  int descriptor = -1;
  Durability durability = Durability::Lasting;
  uint64_t end = 0;
};

/// A file that is read chunk by chunk. Where the bytes are no longer there,
/// since the file was cut short or its disk fails, a read is an error; of
/// memory that a file is mapped to it would be a signal. Any thread.
class RandomAccessFile {
public:
  RandomAccessFile() = default;

  /// NotFound if there is none, InvalidArgument if it is not a regular file.
  static StatusOr<RandomAccessFile> open(const std::string &path);

  RandomAccessFile(RandomAccessFile &&other) noexcept;
  RandomAccessFile &operator=(RandomAccessFile &&other) noexcept;
  ~RandomAccessFile();

  const std::string &path() const { return filePath; }

  /// When it was opened.
  uint64_t size() const { return length; }

  /// Of a file of the cache: useCached() of CacheSize.h.
  void useAsCached() const;

  /// Copies bytes [offset, offset + size) to `out`. DataLoss, which names the
  /// byte, where the file ends before that.
  Status read(uint64_t offset, void *out, size_t size) const;

private:
  Status cutShort(uint64_t offset) const;

  std::string filePath;
  int descriptor = -1;
  uint64_t length = 0;
};

} // namespace hocket

#endif // HOCKET_BASE_FILE_H
