//===- CacheSize.cpp - How much a user keeps between runs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CacheSize.h"

#include "base/ByteCount.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

using namespace hocket;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The limit
//===----------------------------------------------------------------------===//

StatusOr<uint64_t> hocket::cacheLimit() {
  constexpr uint64_t usual = uint64_t(4) << 30;
  const char *set = std::getenv("HOCKET_CACHE_SIZE");
  std::string_view text = set ? set : "";
  if (text.empty())
    return usual;
  if (std::optional<uint64_t> limit = parseByteCount(text))
    return *limit;
  return invalidArgument("HOCKET_CACHE_SIZE is '" + std::string(text) +
                         "', expected a size such as 4GiB, 500MB or 100000 "
                         "(bytes); 0: no limit");
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

namespace {

/// A file that is kept.
struct Entry {
  std::string path;
  uint64_t bytes;
  timespec used;
};

bool isBefore(const timespec &a, const timespec &b) {
  return std::tie(a.tv_sec, a.tv_nsec) < std::tie(b.tv_sec, b.tv_nsec);
}

/// A descriptor that is closed, which gives its locks back.
class OpenFile {
public:
  explicit OpenFile(int descriptor) : descriptor(descriptor) {}
  ~OpenFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  bool tryLock() const {
    return descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  }
  /// Waits for others, who are quick, but not for one that stands still.
  bool lock() const {
    constexpr int patience = 500;
    for (int i = 0; i < patience; ++i) {
      if (tryLock())
        return true;
      if (descriptor < 0 || errno != EWOULDBLOCK)
        return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  const int descriptor;
};

} // namespace

static uint64_t inBlocks(uint64_t bytes) {
  constexpr uint64_t block = 4096;
  return (bytes + block - 1) / block * block;
}

/// Results (ResultCache.h), and tables (runtime/data/KeptFile.h) as
/// "data.0123456789ab.samples": what is made again where it is missing.
static bool isMadeAgain(const std::string &name) {
  constexpr size_t digits = 12;
  if (name.starts_with('.'))
    return false;
  if (name.ends_with(".kept"))
    return true;
  size_t last = name.rfind('.');
  if (last == name.npos || last <= digits || name[last - digits - 1] != '.')
    return false;
  std::string_view id(name.data() + last - digits, digits);
  return id.find_first_not_of("0123456789abcdef") == id.npos;
}

/// Visits the regular files of a folder: name and what stat() tells.
template <typename Visit>
static void forEachFile(const std::string &folder, Visit &&visit) {
  std::error_code error;
  for (fs::directory_iterator next(folder, error), end; !error && next != end;
       next.increment(error)) {
    struct stat info;
    if (::lstat(next->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      visit(next->path().filename().string(), info);
  }
}

CacheContents hocket::measureCache(const std::string &folder) {
  CacheContents contents;
  forEachFile(folder, [&](const std::string &, const struct stat &info) {
    ++contents.files;
    contents.bytes += inBlocks(uint64_t(info.st_size));
  });
  return contents;
}

//===----------------------------------------------------------------------===//
// Use and removal
//===----------------------------------------------------------------------===//

void hocket::useCached(int descriptor) {
  (void)::flock(descriptor, LOCK_SH | LOCK_NB);
  (void)::futimens(descriptor, nullptr);
}

/// Whether it is gone now. One that was used since it was looked at stays.
static bool removeUnused(const Entry &entry) {
  OpenFile file(
      ::open(entry.path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  return file.tryLock() && ::fstat(file.descriptor, &info) == 0 &&
         !isBefore(entry.used, info.st_mtim) &&
         ::unlink(entry.path.c_str()) == 0;
}

/// The bytes of a folder, once what is beyond its limit has been removed.
static uint64_t trim(const std::string &folder, uint64_t limit) {
  uint64_t bytes = 0;
  std::vector<Entry> entries;
  forEachFile(folder, [&](const std::string &name, const struct stat &info) {
    uint64_t own = inBlocks(uint64_t(info.st_size));
    bytes += own;
    if (isMadeAgain(name))
      entries.push_back({folder + "/" + name, own, info.st_mtim});
  });
  if (bytes <= limit)
    return bytes;
  std::ranges::sort(entries, [](const Entry &a, const Entry &b) {
    return isBefore(a.used, b.used);
  });
  for (const Entry &entry : entries) {
    if (bytes <= limit - limit / 8)
      break;
    if (removeUnused(entry))
      bytes -= entry.bytes;
  }
  return bytes;
}

void hocket::cacheHasGrown(const std::string &folder, uint64_t bytes) {
  StatusOr<uint64_t> limit = cacheLimit();
  if (!limit.ok() || *limit == 0)
    return;
  struct Known {
    bool isKnown = false;
    uint64_t bytes = 0, since = 0; ///< At the last look, and added since.
  };
  static std::mutex mutex;
  static std::map<std::string, Known> all;
  std::lock_guard lock(mutex);
  Known &known = all[folder];
  known.since += inBlocks(bytes);
  // Of a folder that cannot be made small enough, every look would be in vain.
  bool isBeyond = known.bytes <= *limit && known.bytes + known.since > *limit;
  if (known.isKnown && !isBeyond && known.since <= *limit / 16)
    return;
  // Of several processes one removes at a time.
  OpenFile turn(::open((folder + "/size.lock").c_str(),
                       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (turn.lock())
    known = {true, trim(folder, *limit), 0};
}
