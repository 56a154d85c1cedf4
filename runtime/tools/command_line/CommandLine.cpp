//===- CommandLine.cpp - What every command shares ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/CommandLine.h"

#include "base/CacheSize.h"
#include "base/File.h"
#include "base/NearestNames.h"
#include "base/SourceExcerpt.h"
#include "runtime/tools/command_line/CommandTree.h"
#include "runtime/tools/command_line/Completion.h"
#include "runtime/tools/command_line/HelpText.h"
#include "runtime/tools/command_line/ManualPage.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/Version.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>

using namespace hocket;

//===----------------------------------------------------------------------===//
// What was wrong with a command line
//===----------------------------------------------------------------------===//

/// The innermost command that was named.
static const CLI::App &namedCommand(const CLI::App &app) {
  std::vector<CLI::App *> named = app.get_subcommands();
  return named.empty() ? app : namedCommand(*named.front());
}

static std::vector<std::string> commandNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : commandsOf(app))
    names.push_back(command->get_name());
  return names;
}

static std::vector<std::string> optionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : namesOf(*option))
      names.push_back(name);
  return names;
}

static std::string unknownCommand(const CLI::App &app,
                                  const std::string &word) {
  return "there is no command '" + word + "'" +
         didYouMean(word, commandNames(app));
}

/// A word that no option or command of `app` takes.
static std::string unknownWord(const CLI::App &app, const std::string &word) {
  if (word.size() > 1 && word[0] == '-') {
    std::string option = word.substr(0, word.find('='));
    return "there is no option " + option +
           didYouMean(option, optionNames(app));
  }
  if (app.get_require_subcommand_min() > 0)
    return unknownCommand(app, word);
  return "there is nothing that '" + word + "' could be";
}

/// The first unknown word, wherever it stands: what else is wrong mostly
/// follows from it. An option is told of before the value behind it.
static std::string unknownIn(const CLI::App &app) {
  std::vector<std::string> left = app.remaining();
  for (const std::string &word : left)
    if (word.size() > 1 && word[0] == '-')
      return unknownWord(app, word);
  if (!left.empty())
    return unknownWord(app, left.front());
  for (const CLI::App *command : app.get_subcommands())
    if (std::string found = unknownIn(*command); !found.empty())
      return found;
  return "";
}

/// CLI11's words where they say it, ours where they do not.
static std::string messageOf(const CLI::App &app,
                             const CLI::ParseError &error) {
  if (std::string unknown = unknownIn(app); !unknown.empty())
    return unknown;
  std::string text = error.what();
  // "--steps: wants a whole number" and "--steps: 1 required N missing".
  for (const char *part : {": wants ", ": cannot "})
    if (size_t at = text.find(part); at != std::string::npos)
      return text.erase(at, 1);
  if (size_t at = text.find(": 1 required "); at != std::string::npos)
    if (text.ends_with(" missing")) {
      std::string value = text.substr(at + 13);
      value.erase(value.size() - 8);
      return text.substr(0, at) + " wants a value: " + value;
    }
  if (size_t at = text.find(" excludes "); at != std::string::npos)
    text.replace(at, 10, " does not go with ");
  return text;
}

/// Says what is wrong, or what could have been said.
static int refuse(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = namedCommand(app);
  bool isBare = command.get_require_subcommand_min() > 0 &&
                command.get_subcommands().empty() && unknownIn(app).empty();
  if (isBare) {
    std::cerr << app.help();
    return 2;
  }
  std::cerr << app.get_name() + ": " + messageOf(app, error) + "\nRun '" +
                   fullName(command) + " --help' for what there is.\n";
  return 2;
}

//===----------------------------------------------------------------------===//
// help, --version
//===----------------------------------------------------------------------===//

/// Prints the help of the command that `words` name.
static Status printHelp(const CLI::App &app,
                        const std::vector<std::string> &words) {
  const CLI::App *command = &app;
  std::string name = app.get_name();
  for (const std::string &word : words) {
    const CLI::App *next = commandOf(*command, word);
    if (!next)
      return invalidArgument(unknownCommand(*command, word));
    command = next;
    name += " " + word;
  }
  std::cout << command->get_formatter()->make_help(command, name,
                                                   CLI::AppFormatMode::Normal);
  return okStatus();
}

CLI::App *hocket::addCommand(CLI::App &parent, const std::string &name,
                             const std::string &description) {
  CLI::App *command = parent.add_subcommand(name, description);
  command->footer(""); // Not the parent's examples.
  return command;
}

static void addHelp(CLI::App &app, Status &result) {
  struct Arguments {
    std::vector<std::string> words;
    std::string folder;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App *help = addCommand(app, "help", "Print the help of a command");
  help->add_option("COMMAND", arguments->words,
                   "The command, e.g. data prepare");
  wantPath(help->add_option("--man", arguments->folder,
                            "Write a man page of every command into this "
                            "folder instead")
               ->type_name("DIR"));
  help->footer("Example:\n  " + app.get_name() + " help train\n  " +
               app.get_name() + " help --man ~/.local/share/man/man1");
  help->callback([&app, &result, arguments] {
    std::string version = versionText(app.get_name());
    result = arguments->folder.empty()
                 ? printHelp(app, arguments->words)
                 : writeManualPages(app, version.substr(0, version.find('\n')),
                                    arguments->folder);
    *arguments = {};
  });
}

static void addCompletion(CLI::App &app) {
  auto shell = std::make_shared<std::string>();
  CLI::App *command =
      addCommand(app, "completion", "Print a script for shell completion");
  wantOneOf(command->add_option("SHELL", *shell, "bash or zsh")->required(),
            {"bash", "zsh"});
  std::string name = app.get_name();
  command->footer("For this shell, or in ~/.bashrc for all:\n  source <(" +
                  name +
                  " completion bash)\n\nIn a folder of zsh's $fpath:\n"
                  "  " +
                  name + " completion zsh > ~/.zfunc/_" + name);
  command->callback([&app, shell] {
    std::cout << (*shell == "zsh" ? zshCompletion(app) : bashCompletion(app));
  });
}

void hocket::addHelpAndVersion(CLI::App &app, Status &result,
                               const std::string &libraries) {
  app.set_version_flag("--version", versionText(app.get_name()) + libraries,
                       "Print the version");
  addHelp(app, result);
  addCompletion(app);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Whether everything that was printed has reached standard output, which may
/// be a file on a disk that is full.
static Status finishOutput() {
  errno = 0;
  std::cout.flush();
  bool isFlushed = std::fflush(stdout) == 0;
  int error = errno;
  if (std::cout.good() && isFlushed && !std::ferror(stdout))
    return okStatus();
  std::string reason = error ? ": " + errnoMessage(error) : "";
  return resourceExhausted("standard output could not be written" + reason);
}

static int parseAndRun(CLI::App &app, int argc, char **argv,
                       const Status &result) {
  std::string name = app.get_name();
  useHelpText(app);
  refuseEmptyValues(app);
  // Said once, where those who store something would go on without it.
  if (Status limit = cacheLimit().status(); !limit.ok()) {
    std::cerr << name + ": " + limit.message() + "\n";
    return exitStatusOf(limit);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    return refuse(app, error);
  } catch (const std::bad_alloc &) {
    std::cerr << name << ": out of memory\n";
    return 1;
  }
  // In one write: other ranks may be writing to the same terminal.
  if (!result.ok())
    std::cerr << name + ": " + withExcerpts(result.message()) + "\n";
  return exitStatusOf(result);
}

int hocket::runCommandLine(CLI::App &app, int argc, char **argv,
                           const Status &result) {
  int status = parseAndRun(app, argc, argv, result);
  Status written = finishOutput();
  if (written.ok() || status != 0)
    return status;
  std::cerr << app.get_name() + ": " + written.message() + "\n";
  return exitStatusOf(written);
}
