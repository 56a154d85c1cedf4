//===- CodeCache.cpp - Machine code that was compiled before --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/CodeCache.h"

#include "runtime/base/CacheFolder.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/Sha256.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::nvrtc;

/// Before the digest of the code and the code.
static constexpr std::string_view magic = "HOCKETGPU1\n";
static constexpr size_t digestBytes = std::tuple_size<Sha256::Digest>();
/// Of a file; more is not what was written.
static constexpr uint64_t mostBytes = uint64_t(1) << 30;

StatusOr<CodeCache> CodeCache::open() {
  HOCKET_ASSIGN_OR_RETURN(std::string folder, openCacheFolder());
  return CodeCache(folder);
}

StatusOr<CodeCache> CodeCache::open(const std::string &folder) {
  HOCKET_ASSIGN_OR_RETURN(std::string path, openCacheFolder(folder));
  return CodeCache(path);
}

std::string CodeCache::keyOf(const std::vector<std::string> &parts) {
  Sha256 digest;
  for (const std::string &part : parts) {
    uint64_t bytes = part.size();
    digest.update(&bytes, sizeof(bytes));
    digest.update(part.data(), part.size());
  }
  return toHex(digest.finish());
}

std::string CodeCache::fileOf(const std::string &key) const {
  return path + "/" + key + ".gpu";
}

std::optional<std::string> CodeCache::find(const std::string &key) const {
  struct stat info;
  if (::lstat(fileOf(key).c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid())
    return std::nullopt;
  StatusOr<std::string> bytes = readFile(fileOf(key), mostBytes);
  if (!bytes.ok() || !bytes->starts_with(magic) ||
      bytes->size() < magic.size() + digestBytes)
    return std::nullopt;
  std::string code = bytes->substr(magic.size() + digestBytes);
  Sha256::Digest digest = Sha256::of(code);
  if (bytes->compare(magic.size(), digestBytes,
                     std::string(digest.begin(), digest.end())) != 0)
    return std::nullopt;
  return code;
}

Status CodeCache::store(const std::string &key, const std::string &code) const {
  Sha256::Digest digest = Sha256::of(code);
  std::string bytes(magic);
  bytes.append(digest.begin(), digest.end());
  return writeFileAtomically(fileOf(key), bytes + code);
}
