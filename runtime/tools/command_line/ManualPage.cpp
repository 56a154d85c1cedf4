//===- ManualPage.cpp - Help as pages of man ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/ManualPage.h"

#include "base/File.h"
#include "runtime/tools/command_line/CommandTree.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

using namespace hocket;

/// Text of one line as roff prints it. A dot or an apostrophe begins a request
/// only at the start of a line.
static std::string escaped(const std::string &text) {
  std::string result;
  if (!text.empty() && (text[0] == '.' || text[0] == '\''))
    result = "\\&";
  for (char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c == '\n' ? ' ' : c;
  }
  return result;
}

static std::string bold(const std::string &text) {
  return "\\fB" + escaped(text) + "\\fR";
}

static std::string italic(const std::string &text) {
  return "\\fI" + escaped(text) + "\\fR";
}

static std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

static std::string section(const std::string &title) {
  return ".SH \"" + escaped(upper(title)) + "\"\n";
}

/// "-o, --output FILE", and below it what it does.
static std::string entry(const CLI::Option &option) {
  std::string head;
  if (option.get_positional()) {
    head = italic(option.get_name());
  } else {
    for (const std::string &name : namesOf(option))
      head += (head.empty() ? "" : ", ") + bold(name);
    if (takesValue(option))
      head += " " + italic(option.get_type_name());
  }
  std::string text = option.get_description();
  std::string initial = option.get_default_str();
  if (!initial.empty() && initial != "\"\"" && initial != "[]")
    text += " (default: " + initial + ")";
  if (option.get_required() && !option.get_positional())
    text += " (required)";
  return ".TP\n" + head + "\n" + escaped(text) + "\n";
}

static std::string synopsis(const CLI::App &command) {
  std::string text = section("Synopsis") + bold(fullName(command));
  if (!optionsOf(command, false).empty())
    text += " [" + italic("OPTIONS") + "]";
  for (const CLI::Option *option : optionsOf(command, true)) {
    std::string name = italic(option->get_name());
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!commandsOf(command).empty())
    text += " " + italic("COMMAND");
  return text + "\n";
}

/// Groups of options in the order of their first.
static std::string optionSections(const CLI::App &command) {
  std::vector<std::string> groups;
  std::vector<const CLI::Option *> options = optionsOf(command, false);
  for (const CLI::Option *option : options)
    if (std::find(groups.begin(), groups.end(), option->get_group()) ==
        groups.end())
      groups.push_back(option->get_group());
  std::string text;
  for (const std::string &group : groups) {
    text += section(group);
    for (const CLI::Option *option : options)
      if (option->get_group() == group)
        text += entry(*option);
  }
  return text;
}

/// Details are paragraphs; an indented line, as of an example, stays one.
static std::string notes(const std::string &footer) {
  if (footer.empty())
    return "";
  std::string text = section("Notes");
  std::istringstream lines(footer);
  bool isExample = false;
  for (std::string line; std::getline(lines, line);) {
    bool isIndented = line.starts_with("  ");
    if (isIndented != isExample)
      text += isIndented ? ".nf\n" : ".fi\n";
    isExample = isIndented;
    text += line.empty() ? ".PP\n" : escaped(line) + "\n";
  }
  return text + (isExample ? ".fi\n" : "");
}

static std::string pageName(const CLI::App &command) {
  return fullName(command, "-");
}

/// The command that this one belongs to, and those that belong to it.
static std::string seeAlso(const CLI::App &command) {
  std::vector<std::string> names;
  if (command.get_parent())
    names.push_back(pageName(*command.get_parent()));
  for (const CLI::App *below : commandsOf(command))
    names.push_back(pageName(*below));
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? section("See also") : ",\n") + bold(name) + "(1)";
  return text.empty() ? text : text + "\n";
}

std::string hocket::manualPage(const CLI::App &command,
                               const std::string &version) {
  std::string name = pageName(command);
  std::string text = ".TH \"" + escaped(upper(name)) + "\" 1 \"\" \"" +
                     escaped(version) + "\" \"Hocket\"\n";
  text += section("Name") + escaped(name) + " \\- " +
          escaped(command.get_description()) + "\n" + synopsis(command);
  std::vector<const CLI::Option *> arguments = optionsOf(command, true);
  for (const CLI::Option *option : arguments)
    text += (option == arguments.front() ? section("Arguments") : "") +
            entry(*option);
  text += optionSections(command);
  for (const CLI::App *below : commandsOf(command))
    text += (below == commandsOf(command).front() ? section("Commands") : "") +
            ".TP\n" + bold(below->get_name()) + "\n" +
            escaped(below->get_description()) + "\n";
  text += notes(command.get_footer()) + section("Exit status");
  text += "0: done. 1: the work failed. 2: the command line or an input was "
          "wrong.\n";
  return text + seeAlso(command);
}

Status hocket::writeManualPages(const CLI::App &app, const std::string &version,
                                const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return invalidArgument(folder + ": cannot be made: " + error.message());
  for (const CLI::App *command : allCommands(app)) {
    std::string path = folder + "/" + pageName(*command) + ".1";
    HOCKET_RETURN_IF_ERROR(
        writeFileAtomically(path, manualPage(*command, version)));
  }
  return okStatus();
}
