//===- CacheFolder.cpp - What a user keeps between runs -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CacheFolder.h"

#include "base/File.h"
#include "base/Format.h"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;

static std::string valueOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

StatusOr<std::string> hocket::openCacheFolder() {
  if (std::string folder = valueOf("HOCKET_CACHE"); !folder.empty())
    return openCacheFolder(folder);
  if (std::string caches = valueOf("XDG_CACHE_HOME"); !caches.empty())
    return openCacheFolder(caches + "/hocket");
  if (std::string home = valueOf("HOME"); !home.empty())
    return openCacheFolder(home + "/.cache/hocket");
  return failedPrecondition("there is no folder for compiled kernels: set "
                            "HOCKET_CACHE");
}

StatusOr<std::string> hocket::openCacheFolder(const std::string &folder) {
  struct stat info;
  if (::lstat(folder.c_str(), &info) != 0) {
    size_t slash = folder.find_last_of('/');
    if (slash != std::string::npos && slash > 0)
      HOCKET_RETURN_IF_ERROR(makeDirectories(folder.substr(0, slash)));
    // Whoever else makes it at the same time makes the same.
    ::mkdir(folder.c_str(), 0700);
    if (::lstat(folder.c_str(), &info) != 0)
      return failedPrecondition(folder +
                                ": cannot be made for compiled "
                                "kernels: " +
                                errnoMessage(errno));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 077) != 0)
    return failedPrecondition(
        folder + ": compiled kernels are kept only in a folder that is the "
                 "user's own and private (chmod 700)");
  return folder;
}
