//===- ExplainCommand.h - `hocket explain` ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_EXPLAINCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_EXPLAINCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `explain`: why a tensor is sharded as it is, and which two
/// ops made a collective necessary.
void registerExplain(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_EXPLAINCOMMAND_H
