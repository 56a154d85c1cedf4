//===- CheckpointCommand.h - hocket checkpoint -------------------*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CHECKPOINTCOMMAND_H
#define HOCKET_COMPILER_TOOLS_CHECKPOINTCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the commands `checkpoint import` and `checkpoint export`. They run
/// while the command line is parsed and leave their outcome in `result`, which
/// must outlive `app`.
void registerCheckpoint(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_CHECKPOINTCOMMAND_H
