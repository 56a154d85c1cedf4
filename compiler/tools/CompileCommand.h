//===- CompileCommand.h - hocket compile ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_COMPILECOMMAND_H
#define HOCKET_COMPILER_TOOLS_COMPILECOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `compile`. It runs while the command line is parsed and
/// leaves its outcome in `result`, which must outlive `app`.
void registerCompile(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_COMPILECOMMAND_H
