//===- VerifyCommand.h - `hocket verify` ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_VERIFYCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_VERIFYCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `verify`: is this file sound? Its outcome is ok (exit
/// status 0), or an error for exit status 1 after the reasons were printed; a
/// file that does not exist is NotFound (2).
void registerVerify(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_VERIFYCOMMAND_H
