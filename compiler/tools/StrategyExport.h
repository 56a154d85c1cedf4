//===- StrategyExport.h - hocket strategy export ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_STRATEGYEXPORT_H
#define HOCKET_COMPILER_TOOLS_STRATEGYEXPORT_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds `export` to the command `strategy`. It runs while the command line is
/// parsed and leaves its outcome in `result`, which must outlive `strategy`.
void registerStrategyExport(CLI::App &strategy, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_STRATEGYEXPORT_H
