//===- File.cpp - Reading, mapping and replacing files --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"

#include "base/CacheSize.h"
#include "base/Format.h"
#include "base/TemporaryName.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace hocket;

std::string hocket::errnoMessage(int error) {
  return std::generic_category().message(error);
}

Status hocket::fileError(const std::string &path, std::string_view action,
                         int error) {
  std::string text =
      path + ": cannot " + std::string(action) + ": " + errnoMessage(error);
  switch (error) {
  case ENOENT:
    return notFound(text);
  case ENOSPC:
  case EDQUOT:
  case ENOMEM:
    return resourceExhausted(text);
  case EACCES:
  case EPERM:
  case EROFS:
  case EISDIR:
  case ENOTDIR:
  case ENAMETOOLONG:
  case ELOOP:
  case EINVAL:
    return invalidArgument(text);
  default:
    return unavailable(text);
  }
}

namespace {
/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};
} // namespace

/// Opens a regular file for reading; its size goes to `size`.
static Status openRegular(const std::string &path, Descriptor &file,
                          uint64_t &size) {
  file.value = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.value < 0)
    return fileError(path, "open", errno);
  struct stat info;
  if (::fstat(file.value, &info) != 0)
    return fileError(path, "inspect", errno);
  if (!S_ISREG(info.st_mode))
    return invalidArgument(path + ": is " +
                           (S_ISDIR(info.st_mode) ? "a folder" : "no file") +
                           ", expected a regular file");
  size = uint64_t(info.st_size);
  return okStatus();
}

StatusOr<std::string> hocket::readFile(const std::string &path,
                                       uint64_t limit) {
  Descriptor file(-1);
  uint64_t size = 0;
  HOCKET_RETURN_IF_ERROR(openRegular(path, file, size));
  if (size > limit)
    return invalidArgument(path + ": has " + formatBytes(size) + ", at most " +
                           formatBytes(limit) + " are expected of such a file");
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file.value, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fileError(path, "read", errno);
    if (got == 0)
      break;
    done += size_t(got);
  }
  bytes.resize(done);
  return bytes;
}

Status hocket::makeDirectories(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return fileError(path, "make the folder", error.value());
  if (!std::filesystem::is_directory(path, error))
    return invalidArgument(path + ": exists and is not a folder");
  return okStatus();
}

StatusOr<std::vector<std::string>>
hocket::filesBelow(const std::string &folder,
                   const std::vector<std::string> &extensions) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::recursive_directory_iterator next(folder, error), end;
       !error && next != end; next.increment(error))
    if (next->is_regular_file(error) &&
        std::ranges::count(extensions, next->path().extension().string()))
      files.push_back(next->path().string());
  if (error)
    return notFound(folder + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

Status hocket::writeFileAtomically(const std::string &path,
                                   std::string_view bytes) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  HOCKET_RETURN_IF_ERROR(file.append(bytes));
  return file.commit();
}

//===----------------------------------------------------------------------===//
// AtomicFile
//===----------------------------------------------------------------------===//

static constexpr std::string_view partialEnding = ".partial";

/// Opens a file under a new temporary name, which goes to `temporary`.
static Status openTemporary(const std::string &path, std::string &temporary,
                            Descriptor &file) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = temporaryName(path, partialEnding);
    file.value =
        ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file.value < 0 && errno == EEXIST)
      continue;
    if (file.value < 0)
      return fileError(path, "create", errno);
    if (holdTemporary(file.value))
      return okStatus();
    ::close(std::exchange(file.value, -1));
  }
  return unavailable(path + ": cannot create a temporary file beside it: " +
                     temporary + " and a hundred others were taken");
}

StatusOr<AtomicFile> AtomicFile::create(const std::string &path) {
  return create(path, Durability::Lasting);
}

StatusOr<AtomicFile> AtomicFile::create(const std::string &path,
                                        Durability durability) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return invalidArgument(path + ": exists and is not a regular file; "
                                  "it is not replaced");
  if (durability == Durability::Lasting)
    tidyBeside(path);
  std::string temporary;
  Descriptor file(-1);
  HOCKET_RETURN_IF_ERROR(openTemporary(path, temporary, file));
  return AtomicFile(path, std::move(temporary), std::exchange(file.value, -1),
                    durability);
}

void AtomicFile::tidyBeside(const std::string &path) {
  removeAbandoned(path, partialEnding);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)),
      durability(other.durability), end(other.end) {}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  if (this != &other) {
    discard();
    path = std::move(other.path);
    temporary = std::move(other.temporary);
    descriptor = std::exchange(other.descriptor, -1);
    durability = other.durability;
    end = other.end;
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporary.c_str());
  descriptor = -1;
}

Status AtomicFile::append(const void *data, size_t size) {
  HOCKET_RETURN_IF_ERROR(writeAt(end, data, size));
  end += size;
  return okStatus();
}

Status AtomicFile::writeAt(uint64_t offset, const void *data, size_t size) {
  if (descriptor < 0)
    return internalError(path + ": is written after its commit");
  const auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t put = ::pwrite(descriptor, bytes, size, off_t(offset));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return fileError(path, "write", errno);
    bytes += put, offset += uint64_t(put), size -= size_t(put);
  }
  return okStatus();
}

/// A rename is durable once the directory that holds it is.
static Status syncParent(const std::string &path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  Descriptor directory(::open(parent.empty() ? "." : parent.c_str(),
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems refuse to sync a directory; the data itself is safe.
  if (directory.value >= 0)
    (void)::fsync(directory.value);
  return okStatus();
}

Status AtomicFile::commit() {
  if (descriptor < 0)
    return internalError(path + ": is committed twice");
  bool lasts = durability == Durability::Lasting;
  if (lasts && ::fsync(descriptor) != 0)
    return fileError(path, "write", errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fileError(path, "replace", errno);
  ::close(std::exchange(descriptor, -1));
  return lasts ? syncParent(path) : okStatus();
}

//===----------------------------------------------------------------------===//
// RandomAccessFile
//===----------------------------------------------------------------------===//

StatusOr<RandomAccessFile> RandomAccessFile::open(const std::string &path) {
  Descriptor file(-1);
  RandomAccessFile result;
  HOCKET_RETURN_IF_ERROR(openRegular(path, file, result.length));
  result.filePath = path;
  result.descriptor = std::exchange(file.value, -1);
  return result;
}

RandomAccessFile::RandomAccessFile(RandomAccessFile &&other) noexcept
    : filePath(std::move(other.filePath)),
      descriptor(std::exchange(other.descriptor, -1)), length(other.length) {}

RandomAccessFile &
RandomAccessFile::operator=(RandomAccessFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(descriptor, other.descriptor);
  std::swap(length, other.length);
  return *this;
}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

void RandomAccessFile::useAsCached() const { useCached(descriptor); }

/// Why there is no byte at `offset`, where there was one.
Status RandomAccessFile::cutShort(uint64_t offset) const {
  struct stat now = {};
  (void)::fstat(descriptor, &now);
  return dataLoss(filePath + ": there is no byte " + std::to_string(offset) +
                  ": the file has " + std::to_string(now.st_size) +
                  " bytes now; it had " + std::to_string(length) +
                  " when it was opened, and was cut short since");
}

Status RandomAccessFile::read(uint64_t offset, void *out, size_t size) const {
  auto *bytes = static_cast<char *>(out);
  while (size > 0) {
    ssize_t got = ::pread(descriptor, bytes, size, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fileError(filePath, "read byte " + std::to_string(offset), errno);
    if (got == 0)
      return cutShort(offset);
    bytes += got, offset += uint64_t(got), size -= size_t(got);
  }
  return okStatus();
}
