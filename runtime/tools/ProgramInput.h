//===- ProgramInput.h - The program that a command runs ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Commands that run a program take an executable or, where there is a
/// compiler, what it is to be made of.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_PROGRAMINPUT_H
#define HOCKET_RUNTIME_TOOLS_PROGRAMINPUT_H

#include "base/Status.h"
#include "runtime/comm/process/Launch.h"
#include "runtime/program/program.pb.h"
#include "runtime/telemetry/StatusLine.h"
#include "runtime/train/values/ImportedWeights.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hocket {

/// How a command comes to its program. The driver that has a compiler accepts
/// specifications too and adds their options.
struct ProgramResolver {
  /// What INPUT is, for the help text.
  std::string inputDescription = "An executable (.hkx)";
  /// Whether INPUT may be the folder of a run.
  bool takesRuns = false;
  /// Adds options to the command; may be empty.
  std::function<void(CLI::App &)> addOptions;
  /// A sound program for INPUT. Default: readProgram().
  std::function<StatusOr<program::Program>(const std::string &input)> resolve;
  /// The weights of a Hugging Face folder for a program; empty where nothing
  /// knows their names.
  std::function<StatusOr<std::shared_ptr<const ImportedWeights>>(
      const std::string &dir, const program::Program &program)>
      importWeights;
};

/// What the command line says of it.
struct ProgramInput {
  explicit ProgramInput(ProgramResolver resolver);

  std::string input;
  ProgramResolver resolver;
  bool noForeignCode = false;
};

/// Adds `--no-native`, and what the compiler takes.
void addProgramOptions(CLI::App &command, ProgramInput &input);

/// A program, and what a person should know before it runs; or empty.
struct OpenedProgram {
  std::shared_ptr<const program::Program> program;
  std::string nativeNote;
};

/// Loads or compiles the program; if that takes its time, the first process
/// says so. InvalidArgument where `--no-native` refuses it.
StatusOr<OpenedProgram> openProgram(const ProgramInput &input, RunOutput output,
                                    const std::optional<comm::Launch> &launch);

/// The width of the terminal that `descriptor` is, where this process may show
/// there what it does; else null. Of several processes the first alone speaks.
TerminalWidth terminalOf(const std::optional<comm::Launch> &launch,
                         int descriptor);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_PROGRAMINPUT_H
