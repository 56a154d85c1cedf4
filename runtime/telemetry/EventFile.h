//===- EventFile.h - What a run reports, for TensorBoard --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A file of events that TensorBoard draws curves of. Each event is a record:
/// its length (u64, little-endian), the masked CRC-32C of that, the message
/// (tensorboard.proto), the masked CRC-32C of the message (TensorFlow,
/// "TFRecord").
///
/// A folder has a file for each time that a run was started. Of a run that went
/// on from a checkpoint, TensorBoard forgets the steps that are computed again.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_EVENTFILE_H
#define HOCKET_RUNTIME_TELEMETRY_EVENTFILE_H

#include "base/AppendedFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hocket::tensorboard {
class Event;
} // namespace hocket::tensorboard

namespace hocket {

class EventFile {
public:
  /// Makes `folder` and, in it, a new file. `again`: of a run that goes on, of
  /// which the first step that will be reported is this one.
  static StatusOr<EventFile> create(const std::string &folder,
                                    std::optional<uint64_t> again);

  /// Numbers by their tags, all of one step. They are in the file on return.
  using Scalars = std::vector<std::pair<const char *, double>>;
  Status write(uint64_t step, const Scalars &scalars);

  const std::string &path() const { return file.path(); }

private:
  explicit EventFile(AppendedFile file) : file(std::move(file)) {}
  Status append(tensorboard::Event event);

  AppendedFile file;
};

/// The files of events in `folder`, sorted; none where it is no folder.
std::vector<std::string> eventFilesIn(const std::string &folder);
/// Deletes them.
Status removeEventFiles(const std::string &folder);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_EVENTFILE_H
