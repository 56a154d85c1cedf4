//===- HelpText.cpp - What --help prints ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/HelpText.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

using namespace hocket;

/// Columns of a line, of the left part of a list, and before it.
static constexpr size_t lineWidth = 80, leftWidth = 28, indent = 2;

/// Words in lines of at most `width` columns.
static std::vector<std::string> filled(const std::string &text, size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  return lines;
}

/// A name at the left and what it means at its right, or below a long name.
static std::string entryText(const std::string &name, const std::string &text) {
  std::string line = std::string(indent, ' ') + name;
  std::vector<std::string> lines = filled(text, lineWidth - leftWidth);
  if (lines.empty())
    return line + "\n";
  std::string result;
  if (line.size() + 2 > leftWidth) {
    result = line + "\n";
    line.clear();
  }
  for (const std::string &part : lines) {
    line.resize(leftWidth, ' ');
    result += line + part + "\n";
    line.clear();
  }
  return result;
}

HelpText::HelpText() {
  label("Positionals", "Arguments");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpText::make_help(const CLI::App *app, std::string name,
                                CLI::AppFormatMode mode) const {
  std::string text = app->get_description() + "\n\n" + make_usage(app, name) +
                     make_positionals(app);
  std::string groups = make_groups(app, mode);
  // One empty line between groups.
  for (size_t at = 0; (at = groups.find("\n\n\n", at)) != std::string::npos;)
    groups.erase(at, 1);
  text += groups + make_subcommands(app, mode);
  if (!app->get_footer().empty())
    text += "\n" + make_footer(app);
  return text;
}

std::string HelpText::make_usage(const CLI::App *app, std::string name) const {
  std::string text = "Usage: " + name;
  bool hasOptions = false;
  for (const CLI::Option *option : app->get_options())
    if (option->nonpositional() && !option->get_group().empty()) {
      hasOptions = true;
      if (option->get_required())
        text += " " + option->get_name(false, false) + make_option_opts(option);
    }
  if (hasOptions)
    text += " [OPTIONS]";
  for (const CLI::Option *option : app->get_options())
    if (option->get_positional())
      text += " " + make_option_usage(option);
  if (!app->get_subcommands([](const CLI::App *) { return true; }).empty())
    text += app->get_require_subcommand_min() == 0 ? " [COMMAND]" : " COMMAND";
  return text + "\n";
}

std::string HelpText::make_option_opts(const CLI::Option *option) const {
  if (option->get_type_size() == 0 || option->get_positional())
    return "";
  std::string text = " " + option->get_type_name();
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size &&
      option->get_allow_extra_args())
    text += " ...";
  return text;
}

std::string HelpText::make_option(const CLI::Option *option,
                                  bool isPositional) const {
  std::string name = make_option_name(option, isPositional);
  // "-o, --output".
  if (size_t comma = name.find(','); comma != std::string::npos)
    name.insert(comma + 1, " ");
  std::string text = make_option_desc(option);
  // An empty value of a text or a list of none says nothing.
  std::string initial = option->get_default_str();
  if (!initial.empty() && initial != "\"\"" && initial != "[]")
    text += " (default: " + initial + ")";
  if (option->get_required() && !isPositional)
    text += " (required)";
  return entryText(name + make_option_opts(option), text);
}

std::string HelpText::make_subcommand(const CLI::App *command) const {
  return entryText(command->get_display_name(true), command->get_description());
}

void hocket::useHelpText(CLI::App &app) {
  app.formatter(std::make_shared<HelpText>());
  if (CLI::Option *help = app.get_help_ptr())
    help->description("Print this help");
  for (CLI::App *command :
       app.get_subcommands([](CLI::App *) { return true; })) {
    if (command->get_group() == "Subcommands") // What CLI11 calls them.
      command->group("Commands");
    useHelpText(*command);
  }
}
