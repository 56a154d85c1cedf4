//===- Completion.cpp - Commands and options for shells -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/Completion.h"

#include "runtime/tools/command_line/CommandTree.h"

using namespace hocket;

static std::string joined(const std::vector<std::string> &words,
                          const char *between) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : between) + word;
  return text;
}

/// A program's name as part of a shell function's.
static std::string identifier(const CLI::App &command) {
  std::string name = "_" + fullName(command, "_");
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name;
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

/// "/data/prepare"; the program itself is "".
static std::string pathOf(const CLI::App &command) {
  return command.get_parent()
             ? pathOf(*command.get_parent()) + "/" + command.get_name()
             : "";
}

/// Case labels for the options of a command whose value must be one of a few
/// words, and for the others that take one: files are completed there.
static std::string bashValues(const CLI::App &command) {
  std::string text;
  std::vector<std::string> anything;
  for (const CLI::Option *option : optionsOf(command, false)) {
    std::vector<std::string> labels;
    for (const std::string &name : namesOf(*option))
      labels.push_back("'" + pathOf(command) + " " + name + "'");
    std::vector<std::string> choices = choicesOf(*option);
    if (!choices.empty())
      text += "    " + joined(labels, "|") + ")\n      COMPREPLY=($(compgen " +
              "-W '" + joined(choices, " ") + "' -- \"$current\"))\n" +
              "      return ;;\n";
    else if (takesValue(*option))
      anything.insert(anything.end(), labels.begin(), labels.end());
  }
  if (!anything.empty())
    text += "    " + joined(anything, "|\\\n    ") + ")\n      return ;;\n";
  return text;
}

std::string hocket::bashCompletion(const CLI::App &app) {
  const std::string &name = app.get_name();
  std::string function = identifier(app);
  std::string paths, values, words;
  for (const CLI::App *command : allCommands(app)) {
    std::string path = pathOf(*command);
    if (command != &app)
      paths += (paths.empty() ? "      " : "|\\\n      ") + path;
    values += bashValues(*command);
    std::vector<std::string> commands, options;
    for (const CLI::App *below : commandsOf(*command))
      commands.push_back(below->get_name());
    for (const CLI::Option *option : optionsOf(*command, false))
      for (const std::string &option : namesOf(*option))
        options.push_back(option);
    words += "    '" + path + "')\n      commands='" + joined(commands, " ") +
             "'\n      options='" + joined(options, " ") + "' ;;\n";
  }
  return "# Completion of " + name + " for bash, written by `" + name +
         " completion bash`.\n" + function +
         "() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  local previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
         "  local path='' word commands='' options=''\n"
         "  COMPREPLY=()\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n"
         "    case \"$path/$word\" in\n" +
         paths +
         ")\n      path=\"$path/$word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path $previous\" in\n" +
         values +
         "  esac\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    commands=$options\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F " +
         function + " " + name + "\n";
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

/// The first sentence of a description, as a part of a word in single quotes
/// that _arguments reads.
static std::string zshText(const std::string &description) {
  std::string text;
  for (char c : description.substr(0, description.find(". "))) {
    if (c == '\'')
      text += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      text += std::string("\\") + c;
    else
      text += c == '\n' ? ' ' : c;
  }
  return text;
}

static std::string zshOption(const CLI::Option &option,
                             const std::string &name) {
  std::string text =
      "    '" + name + "[" + zshText(option.get_description()) + "]";
  if (takesValue(option)) {
    std::vector<std::string> choices = choicesOf(option);
    text += ":" + zshText(option.get_type_name()) + ":" +
            (choices.empty() ? "_files" : "(" + joined(choices, " ") + ")");
  }
  return text + "' \\\n";
}

static std::string zshFunction(const CLI::App &command) {
  std::string function = identifier(command);
  std::string text = function + "() {\n";
  std::vector<const CLI::App *> commands = commandsOf(command);
  text += "  _arguments -C \\\n";
  for (const CLI::Option *option : optionsOf(command, false))
    for (const std::string &name : namesOf(*option))
      text += zshOption(*option, name);
  if (commands.empty())
    return text + "    '*:file:_files'\n}\n\n";
  text += "    '1:command:(("
          "\n";
  for (const CLI::App *below : commands)
    text += "      " + below->get_name() + "\\:\"" +
            zshText(below->get_description()) + "\"\n";
  text += "    ))' \\\n    '*::argument:->arguments'\n"
          "  [[ $state == arguments ]] || return\n"
          "  case $words[1] in\n";
  for (const CLI::App *below : commands)
    text += "    " + below->get_name() + ") " + identifier(*below) + " ;;\n";
  return text + "  esac\n}\n\n";
}

std::string hocket::zshCompletion(const CLI::App &app) {
  const std::string &name = app.get_name();
  std::string text = "#compdef " + name + "\n# Completion of " + name +
                     " for zsh, written by `" + name + " completion zsh`.\n\n";
  for (const CLI::App *command : allCommands(app))
    text += zshFunction(*command);
  return text + identifier(app) + " \"$@\"\n";
}
