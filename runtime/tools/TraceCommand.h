//===- TraceCommand.h - `hocket trace` --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_TRACECOMMAND_H
#define HOCKET_RUNTIME_TOOLS_TRACECOMMAND_H

#include "base/Status.h"
#include "runtime/tools/DeviceOptions.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `trace`: the timeline that a program would have, for
/// Perfetto, in the layout of `train --trace`.
void registerTrace(CLI::App &app, Status &result, PlanPricer pricer = {});

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_TRACECOMMAND_H
