//===- JsonParts.h - The small parts of tokenizer.json ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Members of an object by name, and small values as a tree. A value knows
/// where it stands in its file, so that what is wrong with it can be said
/// there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_JSONPARTS_H
#define HOCKET_RUNTIME_TOKENIZER_JSONPARTS_H

#include "runtime/tokenizer/text/SourceText.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tokenizer {

/// A value of a JSON file, as text.
class JsonPart {
public:
  JsonPart(const SourceText &file, std::string_view text)
      : file(&file), text(text) {}

  std::string_view raw() const { return text; }
  bool isNull() const { return text == "null"; }

  /// InvalidArgument, at this value.
  Status wrong(const std::string &message) const {
    return file->wrongAt(text, message);
  }

  /// Each member of the object. InvalidArgument if it is none, or a key is
  /// there twice.
  StatusOr<std::map<std::string, JsonPart>> members() const;
  StatusOr<std::vector<JsonPart>> elements() const;
  StatusOr<std::string> string() const;
  StatusOr<bool> boolean() const;
  /// From 0 up to, not including, `limit`.
  StatusOr<int64_t> whole(int64_t limit) const;

private:
  const SourceText *file;
  std::string_view text;
};

/// The members of an object, with what they are if they are missing.
class JsonObject {
public:
  static StatusOr<JsonObject> read(const JsonPart &part);

  const JsonPart &part() const { return whole; }

  /// The member, or nullptr if it is missing or null.
  const JsonPart *find(const std::string &key) const;

  StatusOr<std::string> string(const std::string &key,
                               const std::string &otherwise) const;
  StatusOr<bool> boolean(const std::string &key, bool otherwise) const;

  /// The string "type", which must be there.
  StatusOr<std::string> type() const;
  /// InvalidArgument if the member is missing.
  StatusOr<JsonPart> need(const std::string &key) const;

private:
  JsonObject(const JsonPart &part, std::map<std::string, JsonPart> members)
      : whole(part), members(std::move(members)) {}

  JsonPart whole;
  std::map<std::string, JsonPart> members;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_JSONPARTS_H
