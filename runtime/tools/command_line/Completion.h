//===- Completion.h - Commands and options for shells -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scripts that complete a program's commands, options, and the words that
/// options take. Where anything may stand, file names are completed.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMPLETION_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMPLETION_H

#include <CLI/CLI.hpp>

#include <string>

namespace hocket {

std::string bashCompletion(const CLI::App &app);

/// Descriptions of commands and options stand beside them.
std::string zshCompletion(const CLI::App &app);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMPLETION_H
