//===- JsonLines.cpp - One JSON object a line -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonLines.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace hocket;

std::string hocket::toJsonText(const nlohmann::ordered_json &value,
                               int indent) {
  return value.dump(indent, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

/// Ends the file with a whole line. What a killed process left of one is cut
/// off, so that the next does not become part of it.
static Status endLastLine(const AppendedFile &file) {
  int descriptor = file.descriptor();
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return okStatus();
  constexpr off_t longestLine = 1 << 16;
  off_t begin = std::max<off_t>(0, info.st_size - longestLine);
  std::string tail(size_t(info.st_size - begin), '\0');
  ssize_t got = ::pread(descriptor, tail.data(), tail.size(), begin);
  if (got != ssize_t(tail.size()))
    return file.cannotWrite(got < 0 ? errno : EIO);
  size_t last = tail.rfind('\n');
  size_t line = last == std::string::npos ? 0 : last + 1;
  if (line == tail.size())
    return okStatus();
  bool isWhole = nlohmann::json::accept(tail.begin() + line, tail.end());
  bool isTorn = !isWhole && tail[line] == '{';
  if (isTorn ? ::ftruncate(descriptor, begin + off_t(line)) != 0
             : ::write(descriptor, "\n", 1) != 1)
    return file.cannotWrite(errno);
  return okStatus();
}

StatusOr<JsonLines> JsonLines::open(const std::string &path, bool append) {
  using Use = AppendedFile::Use;
  HOCKET_ASSIGN_OR_RETURN(
      AppendedFile file,
      AppendedFile::open(path, append ? Use::Continue : Use::Truncate,
                         "the log"));
  int flags = ::fcntl(file.descriptor(), F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDWR)
    HOCKET_RETURN_IF_ERROR(endLastLine(file));
  return JsonLines(std::move(file));
}

Status JsonLines::write(const nlohmann::ordered_json &object) {
  return file.append(toJsonText(object) + "\n");
}
