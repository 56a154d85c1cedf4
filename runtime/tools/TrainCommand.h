//===- TrainCommand.h - `hocket train` --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H

#include "runtime/tools/ProgramInput.h"

namespace hocket {

/// Adds the command `train`. It runs while the command line is parsed and
/// leaves its outcome in `result`, which must outlive `app`.
void registerTrain(CLI::App &app, Status &result,
                   ProgramResolver resolver = {});

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H
