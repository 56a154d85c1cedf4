//===- ResultCache.cpp - What was found out before ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/ResultCache.h"

#include "base/CacheFolder.h"
#include "base/CacheSize.h"
#include "base/File.h"
#include "base/Format.h"
#include "base/Sha256.h"

#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;

/// Before the digest of the result and the result.
static constexpr std::string_view magic = "HOCKETKEPT1\n";
static constexpr size_t digestBytes = std::tuple_size<Sha256::Digest>();
/// Of a file; more is not what was written.
static constexpr uint64_t mostCacheBytes = uint64_t(1) << 30;

StatusOr<ResultCache> ResultCache::open() {
  HOCKET_ASSIGN_OR_RETURN(std::string folder, openCacheFolder());
  return ResultCache(folder);
}

StatusOr<ResultCache> ResultCache::open(const std::string &folder) {
  HOCKET_ASSIGN_OR_RETURN(std::string path, openCacheFolder(folder));
  return ResultCache(path);
}

std::string ResultCache::keyOf(const std::vector<std::string> &parts) {
  Sha256 digest;
  for (const std::string &part : parts) {
    uint64_t bytes = part.size();
    digest.update(&bytes, sizeof(bytes));
    digest.update(part.data(), part.size());
  }
  return toHex(digest.finish());
}

std::string ResultCache::fileOf(const std::string &key) const {
  return path + "/" + key + ".kept";
}

/// The bytes of a file of the cache, which is in use until they are read.
static std::optional<std::string> readCached(const std::string &path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid())
    return std::nullopt;
  StatusOr<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file.ok() || file->size() > mostCacheBytes)
    return std::nullopt;
  file->useAsCached();
  std::string bytes(file->size(), '\0');
  return file->read(0, bytes.data(), bytes.size()).ok()
             ? std::optional(std::move(bytes))
             : std::nullopt;
}

std::optional<std::string> ResultCache::find(const std::string &key) const {
  std::optional<std::string> bytes = readCached(fileOf(key));
  if (!bytes || !bytes->starts_with(magic) ||
      bytes->size() < magic.size() + digestBytes)
    return std::nullopt;
  std::string result = bytes->substr(magic.size() + digestBytes);
  Sha256::Digest digest = Sha256::of(result);
  if (bytes->compare(magic.size(), digestBytes,
                     std::string(digest.begin(), digest.end())) != 0)
    return std::nullopt;
  return result;
}

/// Removes what processes that died have left in a folder; once is enough.
static void tidyOnce(const std::string &folder) {
  static std::mutex mutex;
  static std::set<std::string> tidied;
  std::lock_guard lock(mutex);
  if (tidied.insert(folder).second)
    AtomicFile::tidyBeside(folder + "/any");
}

Status ResultCache::store(const std::string &key,
                          const std::string &result) const {
  tidyOnce(path);
  Sha256::Digest digest = Sha256::of(result);
  std::string head(magic);
  head.append(digest.begin(), digest.end());
  HOCKET_ASSIGN_OR_RETURN(
      AtomicFile file,
      AtomicFile::create(fileOf(key), Durability::Replaceable));
  HOCKET_RETURN_IF_ERROR(file.append(head));
  HOCKET_RETURN_IF_ERROR(file.append(result));
  HOCKET_RETURN_IF_ERROR(file.commit());
  cacheHasGrown(path, head.size() + result.size());
  return okStatus();
}
