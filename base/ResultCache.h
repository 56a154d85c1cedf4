//===- ResultCache.h - What was found out before ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What takes long to find out and depends on its inputs alone, kept on disk
/// under the digest of all of them: machine code that NVRTC made
/// (CompileOnce.h), the fastest algorithm of a GEMM (AlgorithmChoice.h), the
/// extremes of a file's tokens (TokenCheck.h). A file appears whole or not at
/// all, and says what its bytes must be. Its folder is that of CacheFolder.h,
/// and what is read from it must be the user's own: machine code runs with all
/// that the user may do. What was not used for longest goes where the folder
/// grows beyond its limit (CacheSize.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_RESULTCACHE_H
#define HOCKET_BASE_RESULTCACHE_H

#include "base/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket {

class ResultCache {
public:
  /// Makes the folder if it is missing. FailedPrecondition says why it cannot
  /// be used: there is no home, or others may write it.
  static StatusOr<ResultCache> open();
  static StatusOr<ResultCache> open(const std::string &folder);

  /// The name of what depends on `parts`, in this order.
  static std::string keyOf(const std::vector<std::string> &parts);

  /// The bytes stored under `key`; nothing if there are none, or if they are
  /// damaged or not the user's own.
  std::optional<std::string> find(const std::string &key) const;
  Status store(const std::string &key, const std::string &result) const;

  const std::string &folder() const { return path; }

private:
  explicit ResultCache(std::string path) : path(std::move(path)) {}
  std::string fileOf(const std::string &key) const;

  std::string path;
};

} // namespace hocket

#endif // HOCKET_BASE_RESULTCACHE_H
