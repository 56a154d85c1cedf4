//===- PagedFile.h - A file whose every page is checked ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers that are looked up here and there for weeks and are too many for
/// memory. The file is a row of pages of 4,096 bytes: 4,092 of content, then
/// CRC-32 over the page's number (u64) and that content; all is little endian,
/// and the last page is filled up with zeros. A page is checked whenever it is
/// read, so that damage is an error and not another number. What a stranger
/// made passes: whoever reads it checks what numbers mean.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_PAGEDFILE_H
#define HOCKET_RUNTIME_DATA_PAGEDFILE_H

#include "base/File.h"

#include <array>
#include <cstdint>
#include <string>

namespace hocket::data {

inline constexpr uint64_t pageBytes = 4096;
inline constexpr uint64_t pageContent = pageBytes - 4;

/// Page `number` with this content, of at most pageContent bytes, in front of
/// its check.
std::array<uint8_t, pageBytes> makePage(uint64_t number, const void *content,
                                        uint64_t size);

/// Whether a page is what makePage() made.
bool isWholePage(uint64_t number, const std::array<uint8_t, pageBytes> &page);

/// Writes one from its beginning to its end. Nothing has the name `path` before
/// commit().
class PagedFileWriter {
public:
  static StatusOr<PagedFileWriter> create(const std::string &path);

  Status append(const void *data, uint64_t size);
  Status commit();

private:
  explicit PagedFileWriter(AtomicFile file) : file(std::move(file)) {}
  Status flush();

  AtomicFile file;
  std::array<uint8_t, pageBytes> page = {};
  uint64_t used = 0, number = 0;
};

class PagedFile {
public:
  /// NotFound if there is none, DataLoss if it is no row of pages.
  static StatusOr<PagedFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  /// Bytes of content, the last page's zeros included.
  uint64_t size() const { return file.size() / pageBytes * pageContent; }

  /// Of a file of the cache: useCached() of base/CacheSize.h.
  void useAsCached() const { file.useAsCached(); }

  /// Copies content [offset, offset + size). DataLoss where a page is not what
  /// was written, or there are fewer. Any thread.
  Status read(uint64_t offset, void *out, uint64_t size) const;

private:
  explicit PagedFile(RandomAccessFile file) : file(std::move(file)) {}

  RandomAccessFile file;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_PAGEDFILE_H
