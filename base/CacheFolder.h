//===- CacheFolder.h - What a user keeps between runs -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The folder is HOCKET_CACHE, or hocket/ in XDG_CACHE_HOME or ~/.cache. What
/// is read from it is trusted as much as the user is, so it must be the user's
/// own and private (mode 0700).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_CACHEFOLDER_H
#define HOCKET_BASE_CACHEFOLDER_H

#include "base/Status.h"

#include <string>

namespace hocket {

/// Makes the folder if it is missing, and returns its path. FailedPrecondition
/// says why it cannot be used: there is no home, or others may write it.
StatusOr<std::string> openCacheFolder();
StatusOr<std::string> openCacheFolder(const std::string &folder);

} // namespace hocket

#endif // HOCKET_BASE_CACHEFOLDER_H
