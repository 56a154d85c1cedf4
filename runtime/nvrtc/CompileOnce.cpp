//===- CompileOnce.cpp - Machine code, compiled if it is not kept ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/CompileOnce.h"

#include "base/ResultCache.h"

#include <map>
#include <memory>
#include <mutex>

using namespace hocket;
using namespace hocket::nvrtc;

/// All that the code depends on: the library is named too, as another of the
/// same version need not be the same.
static StatusOr<std::string> keyOf(const Source &source,
                                   const std::string &architecture) {
  HOCKET_ASSIGN_OR_RETURN(std::string library, findLibrary());
  HOCKET_ASSIGN_OR_RETURN(std::string number, version());
  std::vector<std::string> parts{library, number, architecture, source.name,
                                 source.text};
  for (const Header &header : source.headers) {
    parts.push_back(header.name);
    parts.push_back(header.text);
  }
  return ResultCache::keyOf(parts);
}

/// The mutex of those that want the code of `key`.
static std::shared_ptr<std::mutex> mutexOf(const std::string &key) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<std::mutex>> all;
  std::lock_guard lock(mutex);
  std::shared_ptr<std::mutex> &own = all[key];
  if (!own)
    own = std::make_shared<std::mutex>();
  return own;
}

StatusOr<std::string> nvrtc::compileOnce(const Source &source,
                                         const std::string &architecture) {
  HOCKET_ASSIGN_OR_RETURN(std::string key, keyOf(source, architecture));
  std::shared_ptr<std::mutex> mutex = mutexOf(key);
  std::lock_guard lock(*mutex);
  StatusOr<ResultCache> cache = ResultCache::open();
  if (cache.ok())
    if (std::optional<std::string> code = cache->find(key))
      return *std::move(code);
  HOCKET_ASSIGN_OR_RETURN(std::string code, compile(source, architecture));
  // Code that cannot be kept is as good; the next time takes longer.
  if (cache.ok())
    (void)cache->store(key, code);
  return code;
}
