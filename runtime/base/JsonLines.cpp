//===- JsonLines.cpp - One JSON object a line -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/JsonLines.h"

#include "runtime/base/File.h"

#include <cerrno>
#include <nlohmann/json.hpp>

using namespace hocket;

std::string hocket::toJsonText(const nlohmann::ordered_json &value,
                               int indent) {
  return value.dump(indent, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

StatusOr<JsonLines> JsonLines::open(const std::string &path, bool append) {
  std::FILE *file = std::fopen(path.c_str(), append ? "ae" : "we");
  if (!file)
    return invalidArgument(path +
                           ": cannot write the log: " + errnoMessage(errno));
  return JsonLines(path, file);
}

Status JsonLines::write(const nlohmann::ordered_json &object) {
  std::string line = toJsonText(object) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    return resourceExhausted(path +
                             ": cannot write the log: " + errnoMessage(errno));
  return okStatus();
}
