//===- TrainCommand.h - `hocket train` --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H

#include "runtime/base/Status.h"
#include "runtime/program/program.pb.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace hocket {

/// How `train` comes to its program. The driver that has a compiler accepts
/// specifications too and adds their options.
struct ProgramResolver {
  /// What INPUT is, for the help text.
  std::string inputDescription = "An executable (.hkx)";
  /// Adds options to the command; may be empty.
  std::function<void(CLI::App &)> addOptions;
  /// A sound program for INPUT. Default: readProgram().
  std::function<StatusOr<program::Program>(const std::string &input)> resolve;
};

/// Adds the command `train`. It runs while the command line is parsed and
/// leaves its outcome in `result`, which must outlive `app`.
void registerTrain(CLI::App &app, Status &result,
                   ProgramResolver resolver = {});

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_TRAINCOMMAND_H
