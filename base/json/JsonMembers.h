//===- JsonMembers.h - A JSON text, member by member ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A parser takes several times the bytes of what it parses: simdjson up to
/// sixteen for text that is all brackets. Of a large object or array this
/// gives one member after the other, as a part of the text, to be parsed by
/// itself, so that memory follows the largest member and not the text.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_JSON_JSONMEMBERS_H
#define HOCKET_BASE_JSON_JSONMEMBERS_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace hocket {

class JsonMembers {
public:
  struct Entry {
    /// As it stands between the quotes, escapes included; empty in an array.
    std::string_view key;
    std::string_view value;  ///< Not checked: it may be no JSON.
    std::string_view member; ///< From the key's quote to the value's end.
  };

  /// Begins at the first value of `text`, which outlives this object.
  explicit JsonMembers(std::string_view text);

  bool isObject() const { return opening == '{'; }
  bool isArray() const { return opening == '['; }

  /// The next member or element, or nullopt at the end, or where the text is
  /// neither object nor array, or is not well formed between its values.
  std::optional<Entry> next();

  /// After the last: whether that was the end of the text.
  bool isWhole() const { return whole; }

private:
  void skipSpace();
  bool take(char c);
  bool skipString();
  bool skipValue();

  std::string_view text;
  size_t at = 0;
  char opening = 0;
  bool first = true, ended = false, whole = false;
};

} // namespace hocket

#endif // HOCKET_BASE_JSON_JSONMEMBERS_H
