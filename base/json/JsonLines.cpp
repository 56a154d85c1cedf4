//===- JsonLines.cpp - One JSON object a line -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonLines.h"

#include "base/File.h"

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

static Status cannotWrite(const std::string &path, int error) {
  return fileError(path, "write the log", error);
}

/// Ends the file with a whole line. What a killed process left of one is cut
/// off, so that the next does not become part of it.
static Status endLastLine(const std::string &path, int descriptor) {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return okStatus();
  constexpr off_t longestLine = 1 << 16;
  off_t begin = std::max<off_t>(0, info.st_size - longestLine);
  std::string tail(size_t(info.st_size - begin), '\0');
  ssize_t got = ::pread(descriptor, tail.data(), tail.size(), begin);
  if (got != ssize_t(tail.size()))
    return cannotWrite(path, got < 0 ? errno : EIO);
  size_t last = tail.rfind('\n');
  size_t line = last == std::string::npos ? 0 : last + 1;
  if (line == tail.size())
    return okStatus();
  bool isWhole = nlohmann::json::accept(tail.begin() + line, tail.end());
  bool isTorn = !isWhole && tail[line] == '{';
  if (isTorn ? ::ftruncate(descriptor, begin + off_t(line)) != 0
             : ::write(descriptor, "\n", 1) != 1)
    return cannotWrite(path, errno);
  return okStatus();
}

StatusOr<JsonLines> JsonLines::open(const std::string &path, bool append) {
  int flags = O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
  int descriptor = ::open(path.c_str(), O_RDWR | flags, 0666);
  bool isRead = descriptor >= 0;
  if (!isRead)
    descriptor = ::open(path.c_str(), O_WRONLY | flags, 0666);
  if (descriptor < 0)
    return cannotWrite(path, errno);
  JsonLines lines(path, descriptor);
  if (isRead)
    HOCKET_RETURN_IF_ERROR(endLastLine(path, descriptor));
  return lines;
}

JsonLines::JsonLines(JsonLines &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

JsonLines &JsonLines::operator=(JsonLines &&other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  return *this;
}

JsonLines::~JsonLines() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status JsonLines::write(const nlohmann::ordered_json &object) {
  std::string line = toJsonText(object) + "\n";
  struct stat before = {};
  bool isFile = ::fstat(descriptor, &before) == 0 && S_ISREG(before.st_mode);
  for (size_t done = 0; done < line.size();) {
    ssize_t put = ::write(descriptor, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      int error = errno;
      // Half a line would make the file unreadable.
      if (isFile && done > 0 && ::ftruncate(descriptor, before.st_size) != 0)
        error = errno;
      return cannotWrite(path, error);
    }
    done += size_t(put);
  }
  return okStatus();
}
