//===- ManualPage.h - Help as pages of man ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_MANUALPAGE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_MANUALPAGE_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

#include <string>

namespace hocket {

/// The page of a command in section 1, in the macros of man(7): what --help
/// says of it, with its own commands under "see also".
std::string manualPage(const CLI::App &command, const std::string &version);

/// Writes `hocket.1`, `hocket-compile.1`, ... into a folder, which is made.
Status writeManualPages(const CLI::App &app, const std::string &version,
                        const std::string &folder);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_MANUALPAGE_H
