//===- DataCommand.h - Commands for token files -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of `hocket data` that needs no model: turning text into token
/// files, putting such files together, and saying what they hold. Progress goes
/// to standard error, the result to standard output.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DATA_DATACOMMAND_H
#define HOCKET_RUNTIME_TOOLS_DATA_DATACOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `prepare` to `data`. It runs while the command line is
/// parsed and leaves its outcome in `result`, which must outlive `data`.
void registerDataPrepare(CLI::App &data, Status &result);

/// The same of `merge` and `inspect`.
void registerDataMerge(CLI::App &data, Status &result);
void registerDataInspect(CLI::App &data, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DATA_DATACOMMAND_H
