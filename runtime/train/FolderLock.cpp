//===- FolderLock.cpp - One run a folder ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/FolderLock.h"

#include "base/File.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace hocket;

/// "process 4711 on host vm"
static std::string ownName() {
  char host[256] = "";
  if (::gethostname(host, sizeof(host) - 1) != 0)
    host[0] = '\0';
  return "process " + std::to_string(::getpid()) + " on host " + host;
}

/// What the holder has written, if that can be shown.
static std::string holderOf(int descriptor) {
  char text[320];
  ssize_t got = ::pread(descriptor, text, sizeof(text), 0);
  std::string name(text, got > 0 ? size_t(got) : 0);
  name.resize(std::min(name.find('\n'), name.size()));
  bool readable =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return std::isprint(static_cast<unsigned char>(c));
      });
  return readable ? " (" + name + ")" : "";
}

/// Whether `path` still is the file that is open.
static bool isSameFile(int descriptor, const std::string &path) {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

StatusOr<FolderLock> FolderLock::take(const std::string &dir) {
  std::string path = dir + "/.hocket.lock";
  // Whoever held it may delete the file between opening and locking it.
  while (true) {
    int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0)
      return fileError(path, "create", errno);
    FolderLock lock(path, descriptor);
    int failed = 0;
    while ((failed = ::flock(descriptor, LOCK_EX | LOCK_NB)) && errno == EINTR)
      continue;
    if (failed) {
      int error = errno;
      std::string holder = holderOf(descriptor);
      ::close(std::exchange(lock.descriptor, -1));
      if (error != EWOULDBLOCK)
        return lock;
      return failedPrecondition(dir + ": another run saves here" + holder +
                                "; end it, or save in a folder of its own");
    }
    if (!isSameFile(descriptor, path)) {
      ::close(std::exchange(lock.descriptor, -1));
      continue;
    }
    // For people alone; the lock holds without it.
    std::string name = ownName() + "\n";
    if (::ftruncate(descriptor, 0) == 0)
      (void)!::pwrite(descriptor, name.data(), name.size(), 0);
    return lock;
  }
}

FolderLock::FolderLock(FolderLock &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor < 0)
    return;
  if (isSameFile(descriptor, path))
    ::unlink(path.c_str());
  ::close(descriptor);
}
