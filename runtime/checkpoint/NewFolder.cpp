//===- NewFolder.cpp - A folder that appears all at once ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/NewFolder.h"

#include "base/File.h"
#include "base/TemporaryName.h"
#include "runtime/checkpoint/IterationFiles.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;

static Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return fileError(path, "open", errno);
  int error = ::fsync(descriptor) ? errno : 0;
  ::close(descriptor);
  return error ? fileError(path, "sync", error) : okStatus();
}

StatusOr<NewFolder> NewFolder::create(const std::string &path) {
  constexpr std::string_view ending = ".tmp";
  removeAbandoned(path, ending);
  NewFolder folder(path);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = temporaryName(path, ending);
    if (::mkdir(name.c_str(), 0777)) {
      if (errno == EEXIST)
        continue;
      return fileError(path, "create", errno);
    }
    folder.lock = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder.lock < 0 ? errno : 0;
    if (error == 0 && holdTemporary(folder.lock)) {
      folder.temporary = name;
      return folder;
    }
    folder.unlock();
    ::rmdir(name.c_str());
    if (error && error != ENOENT)
      return fileError(path, "create", error);
  }
  return fileError(path, "create", EEXIST);
}

NewFolder::NewFolder(NewFolder &&other) noexcept
    : path(std::move(other.path)),
      temporary(std::exchange(other.temporary, "")),
      lock(std::exchange(other.lock, -1)) {}

void NewFolder::unlock() {
  if (lock >= 0)
    ::close(std::exchange(lock, -1));
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary.empty())
    fs::remove_all(temporary, ignored);
  unlock();
}

Status NewFolder::commit() {
  HOCKET_RETURN_IF_ERROR(syncFolder(temporary));
  const char *from = temporary.c_str(), *to = path.c_str();
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    keepFilesOfOthers();
    return syncParent();
  }
  // There is nothing to exchange with, or the file system cannot.
  std::string old = temporary + ".old";
  bool moved = ::rename(to, old.c_str()) == 0;
  if (::rename(from, to)) {
    int error = errno;
    if (moved)
      ::rename(old.c_str(), to);
    return fileError(path, "create", error);
  }
  temporary = moved ? old : "";
  keepFilesOfOthers();
  return syncParent();
}

void NewFolder::keepFilesOfOthers() {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(temporary, error), end; !error && at != end;
       at.increment(error))
    if (!isIterationFile(at->path().filename().string()))
      paths.push_back(at->path());
  for (const fs::path &from : paths)
    if (fs::rename(from, fs::path(path) / from.filename(), error); error) {
      // Then all of it stays, under a name that nobody takes for abandoned.
      fs::rename(temporary, temporary + ".old", error);
      temporary.clear();
      return;
    }
}

Status NewFolder::syncParent() const {
  return syncFolder(fs::path(path).parent_path().string());
}
