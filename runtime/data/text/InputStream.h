//===- InputStream.h - Files, compressed or not -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads a file from its beginning to its end. A name that ends in .gz, .xz or
/// .zst says that it is compressed: by gzip (RFC 1952), xz or Zstandard (RFC
/// 8878). Several compressed streams one after the other are one text, as their
/// programs have it.
///
/// Checksums are checked, and a file that ends early is an error. Memory: what
/// a decoder needs, and no file makes that more than 256 MiB for xz and a
/// window of 128 MiB for Zstandard.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_INPUTSTREAM_H
#define HOCKET_RUNTIME_DATA_TEXT_INPUTSTREAM_H

#include "base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hocket::data {

/// `path` without the ending that says how it is compressed.
std::string_view withoutCompression(std::string_view path);

class InputStream {
public:
  virtual ~InputStream() = default;

  /// NotFound or InvalidArgument, naming the path, if it cannot be read.
  static StatusOr<std::unique_ptr<InputStream>> open(const std::string &path);

  /// Fills `size` bytes at `out`, fewer only at the end. DataLoss, naming the
  /// path, for what is not whole.
  virtual StatusOr<size_t> read(char *out, size_t size) = 0;

  /// Bytes of the file that are used up.
  virtual uint64_t consumed() const = 0;
};

/// "PATH: cannot read: No such file or directory".
Status cannotRead(const std::string &path, int error);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_INPUTSTREAM_H
