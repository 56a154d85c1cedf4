//===- AccuracyCommand.h - hocket accuracy ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_ACCURACYCOMMAND_H
#define HOCKET_COMPILER_TOOLS_PLANNING_ACCURACYCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `accuracy`: predictions against measured step times. It
/// runs while the command line is parsed and leaves its outcome in `result`,
/// which must outlive `app`.
void registerAccuracy(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_ACCURACYCOMMAND_H
