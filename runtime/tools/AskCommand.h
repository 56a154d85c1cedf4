//===- AskCommand.h - hocket ask ------------------------------ -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_ASKCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_ASKCOMMAND_H

#include "runtime/tools/command_line/CommandLine.h"

namespace hocket {

/// Adds `ask` to `app`.
void registerAsk(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_ASKCOMMAND_H
