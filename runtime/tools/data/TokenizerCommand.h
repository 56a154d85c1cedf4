//===- TokenizerCommand.h - `hocket tokenizer` ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Training a tokenizer, and looking at what one does. docs/tokenizers.md
/// shows each command.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds `tokenizer` with its commands to `app`.
void registerTokenizer(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERCOMMAND_H
