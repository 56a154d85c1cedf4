//===- LogFile.h - The log of an earlier run --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_LOGFILE_H
#define HOCKET_RUNTIME_TRAIN_LOGFILE_H

#include "base/Status.h"

#include <string>

namespace hocket {

/// What a run does with a log that is already there.
enum class LogUse {
  New,       ///< It must not be there.
  Continue,  ///< It is appended to.
  Overwrite, ///< It is emptied.
};

/// InvalidArgument if `path` holds the log of another run and is to be New, or
/// holds something that is no log at all, which nothing may change. A file that
/// is missing or empty, and whatever is no regular file, will do.
Status checkLogFile(const std::string &path, LogUse use);

/// The same of a folder of events (EventFile.h).
Status checkEventsFolder(const std::string &folder, LogUse use);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_LOGFILE_H
