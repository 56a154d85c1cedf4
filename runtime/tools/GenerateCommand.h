//===- GenerateCommand.h - `hocket generate` --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_GENERATECOMMAND_H
#define HOCKET_RUNTIME_TOOLS_GENERATECOMMAND_H

#include "runtime/tools/ProgramInput.h"

namespace hocket {

/// Adds `generate` to `app`.
void registerGenerate(CLI::App &app, Status &result, ProgramResolver resolver);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_GENERATECOMMAND_H
