//===- CommandLine.h - What every command shares ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A command is registered by a function `registerX(CLI::App &app, Status
/// &result, ...)`. It runs while the command line is parsed and leaves its
/// outcome in `result`, which outlives `app`. A program that has commands is
/// `registerX(...)` for each and `return runCommandLine(...)`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDLINE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDLINE_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

#include <string>

namespace hocket {

/// Adds a command to a program or to a command. As CLI::App::add_subcommand,
/// but compiled once: what makes an App drags all of CLI11 into its source.
CLI::App *addCommand(CLI::App &parent, const std::string &name,
                     const std::string &description);

/// Adds `--version` and the commands `help [COMMAND]`, which writes man pages
/// too, and `completion SHELL`. `libraries` are lines that --version prints
/// behind Hocket's own.
void addHelpAndVersion(CLI::App &app, Status &result,
                       const std::string &libraries = "");

/// Parses and runs; says on standard error what went wrong, with the source
/// line of a message that names one. Returns the exit status: 0 done, 1 the
/// work failed, 2 the command line or an input was wrong (whatever CLI11 would
/// have returned). A command line that names no command where there are some
/// is answered with their help, on standard error. What the command printed and
/// standard output did not take, as on a full disk, is a failure too.
int runCommandLine(CLI::App &app, int argc, char **argv, const Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDLINE_H
