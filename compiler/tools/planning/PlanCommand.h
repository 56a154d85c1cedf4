//===- PlanCommand.h - hocket plan ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_PLANCOMMAND_H
#define HOCKET_COMPILER_TOOLS_PLANNING_PLANCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `plan` with `plan diff`, and `simulate`. They run while the
/// command line is parsed and leave their outcome in `result`, which must
/// outlive `app`.
void registerPlan(CLI::App &app, Status &result);
void registerSimulate(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_PLANCOMMAND_H
