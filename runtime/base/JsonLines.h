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

#ifndef HOCKET_RUNTIME_BASE_JSONLINES_H
#define HOCKET_RUNTIME_BASE_JSONLINES_H

#include "runtime/base/Status.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

class JsonLines {
public:
  /// Truncates `path`, or continues it if `append`.
  static StatusOr<JsonLines> open(const std::string &path, bool append);

  /// Writes `object` and a line feed; the line is in the file on return.
  Status write(const nlohmann::ordered_json &object);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  JsonLines(std::string path, std::FILE *file)
      : path(std::move(path)), file(file) {}

  std::string path;
  std::unique_ptr<std::FILE, Close> file;
};

/// One line of JSON text; bytes that are no UTF-8 are replaced, not refused.
std::string toJsonText(const nlohmann::ordered_json &value, int indent = -1);

} // namespace hocket

#endif // HOCKET_RUNTIME_BASE_JSONLINES_H
