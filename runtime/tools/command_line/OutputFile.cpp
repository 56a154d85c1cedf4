//===- OutputFile.cpp - A file, or standard output ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/OutputFile.h"

#include "base/File.h"

#include <iostream>
#include <unistd.h>

using namespace hocket;

bool hocket::isStandardOutput(const std::string &path) { return path == "-"; }

std::ostream &hocket::reportStream(const std::string &path) {
  return isStandardOutput(path) ? std::cerr : std::cout;
}

Status hocket::checkOutput(const std::string &path, OutputKind kind) {
  if (path.empty())
    return okStatus();
  if (!isStandardOutput(path))
    return AtomicFile::create(path).status(); // It is removed again.
  if (kind == OutputKind::Binary && ::isatty(STDOUT_FILENO) == 1)
    return invalidArgument("-: standard output is a terminal, and this is no "
                           "text; name a file, or redirect it");
  return okStatus();
}

Status hocket::writeOutput(const std::string &path, const std::string &bytes,
                           OutputKind kind) {
  if (!isStandardOutput(path))
    return writeFileAtomically(path, bytes);
  HOCKET_RETURN_IF_ERROR(checkOutput(path, kind));
  std::cout.write(bytes.data(), std::streamsize(bytes.size()));
  if (!std::cout.flush())
    return unavailable("standard output cannot be written");
  return okStatus();
}
