//===- Version.h - Which Hocket this is -------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_VERSION_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_VERSION_H

#include <string>

namespace hocket {

/// "PROGRAM 0.1.0", and the commit for which the build was configured where
/// CMake knew it: two builds of one commit are the same bytes.
std::string versionText(const std::string &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_VERSION_H
