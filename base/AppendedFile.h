//===- AppendedFile.h - A file that grows by whole records ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program reads while it grows: a log. A record is in the file when
/// append() returns, or none of it is, however full the disk.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_APPENDEDFILE_H
#define HOCKET_BASE_APPENDEDFILE_H

#include "base/Status.h"

#include <string>
#include <string_view>

namespace hocket {

class AppendedFile {
public:
  /// What is done with a file that is already there.
  enum class Use {
    Truncate, ///< It is emptied.
    Continue, ///< Records go behind what it holds.
    New,      ///< It is an error.
  };

  /// Opens `path`, which need not be a regular file. Errors say that `what`
  /// ("the log") cannot be written.
  static StatusOr<AppendedFile> open(const std::string &path, Use use,
                                     const std::string &what);

  AppendedFile(AppendedFile &&other) noexcept;
  AppendedFile &operator=(AppendedFile &&other) noexcept;
  ~AppendedFile();

  /// Writes all of `record`. On failure none of it is in a regular file, and
  /// another may be tried later.
  Status append(std::string_view record);

  /// The error of a call that failed with `error`, an errno value.
  Status cannotWrite(int error) const;

  const std::string &path() const { return filePath; }
  /// For whoever looks at what the file holds; it may be write-only.
  int descriptor() const { return handle; }

private:
  AppendedFile(std::string path, std::string what, int handle)
      : filePath(std::move(path)), what(std::move(what)), handle(handle) {}

  std::string filePath, what;
  int handle;
};

} // namespace hocket

#endif // HOCKET_BASE_APPENDEDFILE_H
