//===- JsonLines.h - One JSON object a line ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A log that a program reads while it grows: each line is one JSON object,
/// written and flushed at once. Doubles have all the digits that reading them
/// back needs; what JSON cannot hold (NaN, infinities) is null.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_JSON_JSONLINES_H
#define HOCKET_BASE_JSON_JSONLINES_H

#include "base/AppendedFile.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

class JsonLines {
public:
  /// Truncates `path`, or continues it if `append`. Half a line at its end,
  /// which a process that was killed has left, is cut off.
  static StatusOr<JsonLines> open(const std::string &path, bool append);

  /// Writes `object` and a line feed; the line is in the file on return. On
  /// failure none of it is, and another line may be tried later.
  Status write(const nlohmann::ordered_json &object);

private:
  explicit JsonLines(AppendedFile file) : file(std::move(file)) {}

  AppendedFile file;
};

/// One line of JSON text; bytes that are no UTF-8 are replaced, not refused.
std::string toJsonText(const nlohmann::ordered_json &value, int indent = -1);

} // namespace hocket

#endif // HOCKET_BASE_JSON_JSONLINES_H
