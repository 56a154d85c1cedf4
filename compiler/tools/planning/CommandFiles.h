//===- CommandFiles.h - What commands read and write ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_COMMANDFILES_H
#define HOCKET_COMPILER_TOOLS_PLANNING_COMMANDFILES_H

#include "base/File.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace hocket {

/// What `parse(file, text)` makes of a file of at most `mostBytes`; a StatusOr.
/// Errors name the file.
template <typename Parse>
auto parseFile(const std::string &file, uint64_t mostBytes, Parse parse)
    -> decltype(parse(file, std::string())) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(file, mostBytes));
  return parse(file, text);
}

/// Writes what an option asks for, `-` to standard output; an empty path asks
/// for nothing.
Status writeIfAsked(const std::string &path, const std::string &text);

/// On standard output, indented, with a line feed.
void printJson(const nlohmann::json &json);
/// The same with its keys in the order in which they were put in.
void printJson(const nlohmann::ordered_json &json);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_COMMANDFILES_H
