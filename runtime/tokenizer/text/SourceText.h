//===- SourceText.h - A file that errors point into -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A vocabulary's file in memory, and "file:line:column: message" for any part
/// of it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_SOURCETEXT_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_SOURCETEXT_H

#include "base/Status.h"

#include <optional>
#include <string>
#include <string_view>

namespace hocket::tokenizer {

/// A file's name and bytes. Parts of `text` are told by their address.
struct SourceText {
  std::string path, text;

  /// Reads a file of at most 256 MiB.
  static StatusOr<SourceText> read(const std::string &path);

  /// `message` at the first byte of `part`, which lies within `text`.
  Status wrongAt(std::string_view part, const std::string &message) const;

  /// InvalidArgument at the first byte that is no UTF-8.
  Status checkUtf8() const;
};

/// What a JSON string stands for, given what is between its quotes; nullopt if
/// an escape is wrong, half a surrogate pair, or a bare control character.
std::optional<std::string> unescapeJson(std::string_view raw);

/// For messages: `text` in quotes, cut short, on one line.
std::string inQuotes(std::string_view text);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_SOURCETEXT_H
