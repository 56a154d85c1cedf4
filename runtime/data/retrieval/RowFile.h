//===- RowFile.h - Rows that take days to make ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A table of rows of one size that is written from its first row to its last,
/// and goes on where it was when its process was killed. The content of its
/// pages (PagedFile.h) is, in little endian:
///
///    0   8   what kind of rows these are, in letters
///    8  32   a digest of what they are of
///   40  32   a digest of how they were made
///   72   8   u64 bytes of a row, at least 1
///   80   8   u64 R, rows
///   88       R rows
///
/// Until all rows are there the file is PATH.part. Every page says whether it
/// is whole, so what a kill has left is what is read of it: pages up to the
/// first that is not. The bytes are the same however often this happens.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RETRIEVAL_ROWFILE_H
#define HOCKET_RUNTIME_DATA_RETRIEVAL_ROWFILE_H

#include "base/Sha256.h"
#include "runtime/data/PagedFile.h"

#include <string>
#include <string_view>

namespace hocket::data {

/// What a table says of itself.
struct RowFileHead {
  std::string_view kind;    ///< 8 letters.
  Sha256::Digest of = {};   ///< Of what its rows are.
  Sha256::Digest made = {}; ///< How they were made.
  uint64_t rowBytes = 0;    ///< At most 2^30.
  uint64_t rows = 0;
};

inline constexpr uint64_t rowFileHeadBytes = 88;

/// "wiki.3fa9c2d41b07.neighbors": a name that follows from what a table is of.
std::string rowFilePath(const std::string &prefix, const Sha256::Digest &of,
                        std::string_view extension);

class RowFile {
public:
  /// NotFound if there is none. DataLoss if it is not of this kind, cut short
  /// or damaged in its head. The head's `kind` is that of the request.
  static StatusOr<RowFile> open(const std::string &path, std::string_view kind);

  const RowFileHead &head() const { return about; }
  const std::string &path() const { return file.path(); }

  /// Copies rows [first, first + count), which are there. Any thread.
  Status read(uint64_t first, uint64_t count, void *out) const;

private:
  RowFile(PagedFile file, const RowFileHead &about)
      : file(std::move(file)), about(about) {}

  PagedFile file;
  RowFileHead about;
};

class RowFileWriter {
public:
  /// Goes on with PATH.part, or with PATH if it has fewer rows, or begins.
  /// InvalidArgument if what is there was made in another way;
  /// FailedPrecondition while another process writes it.
  static StatusOr<RowFileWriter> open(const std::string &path,
                                      const RowFileHead &head);

  RowFileWriter(RowFileWriter &&other) noexcept;
  RowFileWriter &operator=(RowFileWriter &&) = delete;
  ~RowFileWriter();

  /// Rows that are there.
  uint64_t rows() const { return done; }

  /// Appends whole rows. What full pages they make is in the file when this
  /// returns, and survives a kill.
  Status append(const void *data, uint64_t rows);

  /// Gives the file its name. All rows are there.
  Status commit();

private:
  RowFileWriter(std::string path, int descriptor, const RowFileHead &head)
      : path(std::move(path)), descriptor(descriptor), head(head) {}

  Status takeWhatIsThere();
  Status writeHead();
  Status writePages(uint64_t first, const std::string &pages);

  std::string path;
  int descriptor;
  RowFileHead head;
  uint64_t done = 0;
  uint64_t page = 0;   ///< The one that is being filled,
  std::string content; ///< and what is in it.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RETRIEVAL_ROWFILE_H
