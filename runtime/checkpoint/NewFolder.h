//===- NewFolder.h - A folder that appears all at once ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_NEWFOLDER_H
#define HOCKET_RUNTIME_CHECKPOINT_NEWFOLDER_H

#include "base/Status.h"

#include <string>

namespace hocket::checkpoint {

/// A folder beside its final place (TemporaryName.h), removed unless it takes
/// that place.
class NewFolder {
public:
  /// Removes first what killed processes have left beside `path`.
  static StatusOr<NewFolder> create(const std::string &path);
  NewFolder(NewFolder &&other) noexcept;
  NewFolder &operator=(NewFolder &&) = delete;
  ~NewFolder();

  std::string operator/(const std::string &name) const {
    return temporary + "/" + name;
  }
  const std::string &where() const { return temporary; }

  /// Makes the content durable and takes the final name. What had that name
  /// is exchanged with this folder, in one step where the file system can, and
  /// removed by the destructor; files that are no checkpoint's move over.
  Status commit();

private:
  Status syncParent() const;
  void keepFilesOfOthers();
  void unlock();
  explicit NewFolder(std::string path) : path(std::move(path)) {}
  std::string path, temporary;
  int lock = -1; ///< On the folder, until it has its final name.
};

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_NEWFOLDER_H
