//===- SideFile.h - Files that lie beside a token file ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known of the tokens of PREFIX.bin beyond what Megatron's format can
/// say lies in files beside it, one a kind: PREFIX.mask, .classes, .words. Each
/// begins with 8 bytes that tell its kind and a few numbers (u64, little
/// endian), the first of which says of how many tokens or documents it is.
///
/// They are hostile until checked: an error is a DataLoss that names the file.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SIDEFILE_H
#define HOCKET_RUNTIME_DATA_SIDEFILE_H

#include "base/File.h"
#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// A kind of them.
struct SideFileKind {
  std::string_view extension; ///< ".mask"
  std::string_view magic;     ///< Its first 8 bytes.
  size_t numbers = 0;         ///< Behind these.
  std::string_view purpose;   ///< "is too short PURPOSE": "for a loss mask"
  std::string_view foreign;   ///< Of another file: "is no loss mask"

  uint64_t headBytes() const { return magic.size() + 8 * numbers; }
};

/// "PREFIX.mask"
std::string sideFilePath(const std::string &prefix, const SideFileKind &kind);

/// Deletes what was said of other tokens that PREFIX had before; fine if there
/// is none.
Status removeSideFile(const std::string &prefix, const SideFileKind &kind);

/// One that was opened. What follows its numbers is for its reader to check.
class SideFile {
public:
  /// Nothing where there is none. DataLoss if it is of another kind.
  static StatusOr<std::optional<SideFile>> open(const std::string &prefix,
                                                const SideFileKind &kind);

  const std::vector<uint64_t> &numbers() const { return head; }
  const RandomAccessFile &file() const { return opened; }

  /// "PATH: `what`".
  Status wrong(const std::string &what) const;
  /// DataLoss unless the first number is `count`, the "tokens" or "documents"
  /// of PREFIX with `extension`.
  Status checkCount(uint64_t count, std::string_view noun,
                    std::string_view extension) const;

  /// Gives the file away.
  RandomAccessFile takeFile() && { return std::move(opened); }

private:
  SideFile(std::string prefix, RandomAccessFile opened,
           std::vector<uint64_t> head)
      : prefix(std::move(prefix)), opened(std::move(opened)),
        head(std::move(head)) {}

  std::string prefix;
  RandomAccessFile opened;
  std::vector<uint64_t> head;
};

/// Begins one, of kind.numbers numbers; nothing has its name before commit().
StatusOr<AtomicFile> createSideFile(const std::string &prefix,
                                    const SideFileKind &kind,
                                    std::span<const uint64_t> numbers);

/// Writes the numbers of one that was begun again.
Status writeSideNumbers(AtomicFile &file, const SideFileKind &kind,
                        std::span<const uint64_t> numbers);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SIDEFILE_H
