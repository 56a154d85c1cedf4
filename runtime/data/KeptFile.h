//===- KeptFile.h - Large tables that are made once -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tables that follow from the data and from what a run asks of it, and take
/// long to make or much memory to hold, are kept in files beside the data, for
/// all processes and later runs:
///
///   PREFIX.<12 digits>.<kind>      digits of the request's digest
///
/// Such a file begins with the digest of what it is of. It is made again where
/// that has changed or the file is damaged. Where the data's folder cannot be
/// written, it is in the user's cache folder (CacheFolder.h). One process makes
/// it under a lock on the folder, the others wait.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_KEPTFILE_H
#define HOCKET_RUNTIME_DATA_KEPTFILE_H

#include "runtime/data/PagedFile.h"

#include <functional>

namespace hocket::data {

/// How a table may be kept.
struct OrderCache {
  /// Tables of at most so many bytes are made in memory, each time; and the
  /// lengths of sequences are kept there that take no more.
  uint64_t inMemoryBytes = uint64_t(16) << 20;
  /// Told what is being done, a line each, where that takes long.
  std::function<void(const std::string &)> note = {};
};

/// What a file is to be.
struct KeptTable {
  std::string prefix;   ///< Of the data.
  std::string kind;     ///< "samples": the ending of its name.
  std::string what;     ///< "sample index", for notes.
  std::string request;  ///< Its name follows from this,
  std::string contents; ///< and it is made again where this has changed.
  uint64_t bytes = 0;   ///< About; for notes.
};

/// Bytes of the digest in front of what `write` writes.
inline constexpr uint64_t keptHeaderBytes = 32;

/// The file of `table`, made by `write` if there is none that `check` accepts.
/// An error, which is noted, where no folder takes it or `write` cannot make
/// it: the table may still find room in memory.
StatusOr<PagedFile>
openKept(const KeptTable &table, const OrderCache &cache,
         const std::function<Status(const PagedFile &)> &check,
         const std::function<Status(PagedFileWriter &)> &write);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_KEPTFILE_H
