//===- AppendedFile.cpp - A file that grows by whole records --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/AppendedFile.h"

#include "base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace hocket;

Status AppendedFile::cannotWrite(int error) const {
  return fileError(filePath, "write " + what, error);
}

StatusOr<AppendedFile> AppendedFile::open(const std::string &path, Use use,
                                          const std::string &what) {
  int flags = O_CREAT | O_APPEND | O_CLOEXEC;
  if (use == Use::Truncate)
    flags |= O_TRUNC;
  if (use == Use::New)
    flags |= O_EXCL;
  int handle = ::open(path.c_str(), O_RDWR | flags, 0666);
  if (handle < 0) // What may only be written: a pipe.
    handle = ::open(path.c_str(), O_WRONLY | flags, 0666);
  int error = errno; // Before anything else changes it.
  AppendedFile file(path, what, handle);
  if (handle < 0)
    return file.cannotWrite(error);
  return file;
}

AppendedFile::AppendedFile(AppendedFile &&other) noexcept
    : filePath(std::move(other.filePath)), what(std::move(other.what)),
      handle(std::exchange(other.handle, -1)) {}

AppendedFile &AppendedFile::operator=(AppendedFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(what, other.what);
  std::swap(handle, other.handle);
  return *this;
}

AppendedFile::~AppendedFile() {
  if (handle >= 0)
    ::close(handle);
}

Status AppendedFile::append(std::string_view record) {
  struct stat before = {};
  bool isFile = ::fstat(handle, &before) == 0 && S_ISREG(before.st_mode);
  for (size_t done = 0; done < record.size();) {
    ssize_t put = ::write(handle, record.data() + done, record.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      int error = errno;
      // Half a record would make the file unreadable.
      if (isFile && done > 0 && ::ftruncate(handle, before.st_size) != 0)
        error = errno;
      return cannotWrite(error);
    }
    done += size_t(put);
  }
  return okStatus();
}
