//===- HelpText.h - What --help prints --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The form of all help: what the command does, its usage, what it takes, its
/// options in groups, its own commands, and at the end details and examples.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_HELPTEXT_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_HELPTEXT_H

#include <CLI/CLI.hpp>

#include <string>

namespace hocket {

/// Lines of at most 80 columns; descriptions are filled, so that a line feed
/// in one is a space.
class HelpText : public CLI::Formatter {
public:
  HelpText();

  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string make_option(const CLI::Option *option,
                          bool isPositional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_subcommand(const CLI::App *command) const override;
};

/// Gives `app` and all its commands this form.
void useHelpText(CLI::App &app);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_HELPTEXT_H
