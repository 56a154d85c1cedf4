//===- ServeCommand.h - hocket serve ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_SERVECOMMAND_H
#define HOCKET_RUNTIME_TOOLS_SERVECOMMAND_H

#include "runtime/tools/ProgramInput.h"

namespace hocket {

/// Adds `serve` to `app`.
void registerServe(CLI::App &app, Status &result, ProgramResolver resolver);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_SERVECOMMAND_H
