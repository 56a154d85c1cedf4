//===- CommandTree.h - A program's commands and their options ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What help, man pages and completion walk over.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDTREE_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDTREE_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hocket {

/// The commands directly below `app`, in the order of its help.
std::vector<const CLI::App *> commandsOf(const CLI::App &app);

/// `app` and all commands below it, each before those below it.
std::vector<const CLI::App *> allCommands(const CLI::App &app);

/// The command of `app` that is called `name`, or null.
const CLI::App *commandOf(const CLI::App &app, const std::string &name);

/// The names from the program on: "hocket data prepare" with a space between.
std::string fullName(const CLI::App &app, const std::string &between = " ");

/// The options that help shows, positional ones or the others.
std::vector<const CLI::Option *> optionsOf(const CLI::App &app,
                                           bool arePositional);

/// "--output" and "-o".
std::vector<std::string> namesOf(const CLI::Option &option);

/// Whether a value follows the option's name.
bool takesValue(const CLI::Option &option);

/// The words that the option may take, if there are no others (wantOneOf).
std::vector<std::string> choicesOf(const CLI::Option &option);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_COMMANDTREE_H
