//===- CheckpointTools.h - `hocket checkpoint inspect` etc. -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What can be done with a checkpoint by itself: without its executable, a
/// device, or other ranks.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_CHECKPOINTTOOLS_H
#define HOCKET_RUNTIME_TOOLS_CHECKPOINTTOOLS_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds inspect, verify, diff, merge and reshard to `checkpoint`.
void registerCheckpointTools(CLI::App &checkpoint, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_CHECKPOINTTOOLS_H
