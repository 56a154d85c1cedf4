//===- StrategyCommand.h - hocket strategy ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_STRATEGYCOMMAND_H
#define HOCKET_COMPILER_TOOLS_PLANNING_STRATEGYCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `strategy` with `solve` and `check`, and returns it. They
/// run while the command line is parsed and leave their outcome in `result`,
/// which must outlive `app`.
CLI::App *registerStrategy(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_STRATEGYCOMMAND_H
