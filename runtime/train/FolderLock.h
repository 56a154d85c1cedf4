//===- FolderLock.h - One run a folder --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_FOLDERLOCK_H
#define HOCKET_RUNTIME_TRAIN_FOLDERLOCK_H

#include "base/Status.h"

#include <string>

namespace hocket {

/// Keeps other runs from writing to a folder. The system gives the lock up
/// when the process ends, however it ends; until then, on network file systems
/// too, nobody else gets it. The file DIR/.hocket.lock says who holds it, and
/// is deleted with this object.
class FolderLock {
public:
  /// FailedPrecondition, with process and host, while another run has it.
  /// Where the file system cannot lock, the object holds nothing (isHeld()).
  static StatusOr<FolderLock> take(const std::string &dir);

  FolderLock(FolderLock &&other) noexcept;
  FolderLock &operator=(FolderLock &&) = delete;
  ~FolderLock();

  bool isHeld() const { return descriptor >= 0; }

private:
  FolderLock(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor = -1;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_FOLDERLOCK_H
