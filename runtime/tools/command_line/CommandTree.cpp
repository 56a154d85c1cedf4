//===- CommandTree.cpp - A program's commands and their options -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/CommandTree.h"

#include <sstream>

using namespace hocket;

std::vector<const CLI::App *> hocket::commandsOf(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

std::vector<const CLI::App *> hocket::allCommands(const CLI::App &app) {
  std::vector<const CLI::App *> all = {&app};
  for (const CLI::App *command : commandsOf(app))
    for (const CLI::App *below : allCommands(*command))
      all.push_back(below);
  return all;
}

const CLI::App *hocket::commandOf(const CLI::App &app,
                                  const std::string &name) {
  for (const CLI::App *command : commandsOf(app))
    if (command->get_name() == name)
      return command;
  return nullptr;
}

std::string hocket::fullName(const CLI::App &app, const std::string &between) {
  const CLI::App *parent = app.get_parent();
  return (parent ? fullName(*parent, between) + between : "") + app.get_name();
}

std::vector<const CLI::Option *> hocket::optionsOf(const CLI::App &app,
                                                   bool arePositional) {
  std::vector<const CLI::Option *> options;
  for (const CLI::Option *option : app.get_options())
    if (option->get_positional() == arePositional &&
        (arePositional || !option->get_group().empty()))
      options.push_back(option);
  return options;
}

std::vector<std::string> hocket::namesOf(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  return names;
}

bool hocket::takesValue(const CLI::Option &option) {
  return option.get_type_size() != 0;
}

std::vector<std::string> hocket::choicesOf(const CLI::Option &option) {
  std::vector<std::string> words;
  std::string list = option.get_type_name();
  if (list.find('|') == std::string::npos)
    return words;
  std::istringstream parts(list);
  for (std::string word; std::getline(parts, word, '|');)
    words.push_back(word);
  return words;
}
