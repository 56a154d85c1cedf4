//===- NewFolder.cpp - A folder that appears all at once ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/NewFolder.h"

#include "runtime/base/File.h"
#include "runtime/checkpoint/IterationFiles.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;

static Status folderError(const std::string &path, const char *action,
                          int error) {
  std::string text = path + ": cannot " + action + ": " + errnoMessage(error);
  return error == ENOSPC || error == EDQUOT ? resourceExhausted(text)
                                            : invalidArgument(text);
}

static Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return folderError(path, "open", errno);
  int error = ::fsync(descriptor) ? errno : 0;
  ::close(descriptor);
  return error ? folderError(path, "sync", error) : okStatus();
}

StatusOr<NewFolder> NewFolder::create(const std::string &path) {
  fs::path final(path);
  NewFolder folder(
      path, (final.parent_path() / ("." + final.filename().string() + ".tmp-" +
                                    std::to_string(::getpid())))
                .string());
  std::error_code ignored;
  fs::remove_all(folder.temporary, ignored);
  if (::mkdir(folder.temporary.c_str(), 0777)) {
    int error = errno;
    folder.temporary.clear();
    return folderError(path, "create", error);
  }
  return folder;
}

NewFolder::NewFolder(std::string path, std::string temporary)
    : path(std::move(path)), temporary(std::move(temporary)) {}

NewFolder::NewFolder(NewFolder &&other) noexcept
    : path(std::move(other.path)),
      temporary(std::exchange(other.temporary, "")) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary.empty())
    fs::remove_all(temporary, ignored);
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
    return folderError(path, "create", error);
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
    if (fs::rename(from, fs::path(path) / from.filename(), error); error)
      temporary.clear(); // Then all of it stays where it is.
}

Status NewFolder::syncParent() const {
  return syncFolder(fs::path(path).parent_path().string());
}
