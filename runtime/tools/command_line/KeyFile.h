//===- KeyFile.h - The key of a server ------------------------ -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_KEYFILE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_KEYFILE_H

#include "base/Status.h"

#include <string>

namespace hocket {

/// The first line of a file that its owner alone may read or write.
/// InvalidArgument if others may, or if it is no key: too short to be one, or
/// not of ASCII.
StatusOr<std::string> readKey(const std::string &path);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_KEYFILE_H
