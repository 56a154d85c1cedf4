//===- InspectCommand.h - `hocket inspect` ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_INSPECTCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_INSPECTCOMMAND_H

#include "runtime/tools/DeviceOptions.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `inspect`: what an executable holds, for people or as
/// JSON.
void registerInspect(CLI::App &app, Status &result, PlanPricer pricer = {});

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_INSPECTCOMMAND_H
