//===- DataShowCommand.h - hocket data show ----------------------*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_DATASHOWCOMMAND_H
#define HOCKET_COMPILER_TOOLS_DATASHOWCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `show` to `data`. It runs while the command line is parsed
/// and leaves its outcome in `result`, which must outlive `data`.
void registerDataShow(CLI::App &data, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_DATASHOWCOMMAND_H
