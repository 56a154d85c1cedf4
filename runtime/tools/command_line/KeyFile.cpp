//===- KeyFile.cpp - The key of a server ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/KeyFile.h"

#include "base/File.h"

#include <filesystem>

using namespace hocket;

StatusOr<std::string> hocket::readKey(const std::string &path) {
  using std::filesystem::perms;
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (!error && (status.permissions() &
                 (perms::group_all | perms::others_all)) != perms::none)
    return invalidArgument(path + ": others may read or write this key: "
                                  "chmod 600 it");
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, 1 << 16));
  std::string key = text.substr(0, text.find_first_of("\r\n"));
  constexpr size_t leastBytes = 16, mostBytes = 4096;
  if (key.size() < leastBytes || key.size() > mostBytes)
    return invalidArgument(
        path + ": its first line is the key, of at least 16 characters: "
               "`openssl rand -hex 32` makes one");
  for (char c : key)
    if (c <= ' ' || c > '~')
      return invalidArgument(path + ": a key has no spaces, and no characters "
                                    "but those of ASCII");
  return key;
}
