//===- JsonLines.cpp - One JSON object a line -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/JsonLines.h"

#include "runtime/base/File.h"

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
  std::string text = path + ": cannot write the log: " + errnoMessage(error);
  return error == ENOSPC || error == EDQUOT ? resourceExhausted(text)
                                            : invalidArgument(text);
}

StatusOr<JsonLines> JsonLines::open(const std::string &path, bool append) {
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), append ? flags : flags | O_TRUNC, 0666);
  if (descriptor < 0)
    return cannotWrite(path, errno);
  return JsonLines(path, descriptor);
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
