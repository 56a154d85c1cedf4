//===- JsonObject.h - A JSON object of others -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// nlohmann's parser keeps the last of two equal keys, and what copies or
/// prints a value calls itself for each level of it. So an object that others
/// wrote has to pass this first.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_JSON_JSONOBJECT_H
#define HOCKET_BASE_JSON_JSONOBJECT_H

#include "base/Status.h"
#include "base/json/JsonDefect.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace hocket {

/// Reads `text`, which must be one JSON object in which no object has a key
/// twice, at most 1,024 levels deep. Returns what is wrong with it.
std::optional<JsonDefect> readJsonObject(std::string_view text,
                                         nlohmann::json &object);

/// The object in `text`, which begins in line `line` of `path`. InvalidArgument
/// "PATH:LINE:COLUMN: expected ..." if there is none.
StatusOr<nlohmann::json>
parseJsonObject(std::string_view text, const std::string &path, uint64_t line);

} // namespace hocket

#endif // HOCKET_BASE_JSON_JSONOBJECT_H
