//===- CacheSize.h - How much a user keeps between runs ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The folder of caches (CacheFolder.h) has a limit. Where a file that is
/// stored goes beyond it, those go that were not used for longest, until an
/// eighth of the limit is free. Any number of processes may store, use and
/// remove at a time.
///
/// A file's last use is its time of modification, since few file systems keep
/// the time of the last access. Whoever reads a file holds a shared lock
/// (flock) on it; what is locked is not removed, nor what cannot be locked.
/// Notes of native code (runtime/program/NativeOrigin.h) stay: they are a few
/// bytes each, and nothing makes them again.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_CACHESIZE_H
#define HOCKET_BASE_CACHESIZE_H

#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hocket {

/// HOCKET_CACHE_SIZE in bytes, 4 GiB unless it is set; 0: no limit.
/// InvalidArgument if it is no size, such as 4GiB, 500MB or 100000
/// (ByteCount.h).
StatusOr<uint64_t> cacheLimit();

/// What the files of a folder take, each in whole blocks of 4 KiB.
struct CacheContents {
  uint64_t files = 0, bytes = 0;
};
CacheContents measureCache(const std::string &folder);

/// Says that a file of the cache, open as `descriptor`, is used now, and that
/// it is in use for as long as it is open. Its file system may not know either.
void useCached(int descriptor);

/// Has the folder keep its limit, behind the storing of `bytes` bytes. Reads
/// the folder only where this process may have brought it beyond the limit, or
/// has stored a sixteenth of that since it looked last. Any thread. What cannot
/// be removed stays.
void cacheHasGrown(const std::string &folder, uint64_t bytes);

} // namespace hocket

#endif // HOCKET_BASE_CACHESIZE_H
