//===- CodeCache.h - Machine code that was compiled before ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What NVRTC made of a source, kept on disk under the digest of all that it
/// depends on. A file appears whole or not at all, and says what its bytes
/// must be. What else was found out once is kept in the same way
/// (AlgorithmChoice.h). As machine code runs with all that the user may do, the
/// folder must be the user's own and private (mode 0700), and so is what is
/// read from it.
///
/// The folder is HOCKET_CACHE, or hocket/ in XDG_CACHE_HOME or ~/.cache.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_NVRTC_CODECACHE_H
#define HOCKET_RUNTIME_NVRTC_CODECACHE_H

#include "runtime/base/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket::nvrtc {

class CodeCache {
public:
  /// Makes the folder if it is missing. FailedPrecondition says why it cannot
  /// be used: there is no home, or others may write it.
  static StatusOr<CodeCache> open();
  static StatusOr<CodeCache> open(const std::string &folder);

  /// The name of what depends on `parts`, in this order.
  static std::string keyOf(const std::vector<std::string> &parts);

  /// The code stored under `key`; nothing if there is none, or if it is
  /// damaged or not the user's own.
  std::optional<std::string> find(const std::string &key) const;
  Status store(const std::string &key, const std::string &code) const;

  const std::string &folder() const { return path; }

private:
  explicit CodeCache(std::string path) : path(std::move(path)) {}
  std::string fileOf(const std::string &key) const;

  std::string path;
};

} // namespace hocket::nvrtc

#endif // HOCKET_RUNTIME_NVRTC_CODECACHE_H
