//===- OptionValues.h - Numbers and choices as options ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an option's value may be, so that a wrong one is answered with what
/// the option wants: "--steps wants a whole number of at least 0, not '-5'".
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OPTIONVALUES_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OPTIONVALUES_H

#include "base/NearestNames.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// The longest that a search may be given.
inline constexpr double kMostSearchSeconds = 1e6;

/// Help lists the fields of a plan below this title.
inline constexpr const char *planOptions = "Plan options";

/// The option takes a whole number, in decimal, from `least` to `most`.
CLI::Option *wantWhole(CLI::Option *option, uint64_t least = 0,
                       uint64_t most = std::numeric_limits<int64_t>::max());

/// The option takes a finite number from `least` to `most`.
CLI::Option *wantNumber(CLI::Option *option, double least, double most);

/// The option takes a number above 0, up to `most`.
CLI::Option *wantPositive(CLI::Option *option, double most);

/// The option takes one of these words, which its help lists.
CLI::Option *wantOneOf(CLI::Option *option,
                       const std::vector<std::string> &words);

/// The option names a file or folder, not `-` for standard output.
CLI::Option *wantPath(CLI::Option *option);

/// The option takes text, which is UTF-8 and may be empty.
CLI::Option *wantText(CLI::Option *option);

/// The option takes text of at least one character.
CLI::Option *wantSomeText(CLI::Option *option);

/// Has every option and argument of every command refuse an empty value, which
/// a shell makes of a variable that is not set, and which commands mostly
/// could not tell from no option. Those of wantText() take it.
void refuseEmptyValues(CLI::App &app);

/// An option that sets `to` to what one of a few words stands for.
template <typename T>
CLI::Option *addChoice(CLI::App &command, const std::string &name, T &to,
                       const std::vector<std::pair<std::string, T>> &choices,
                       const std::string &help) {
  std::vector<std::string> words;
  std::string initial;
  for (const auto &[word, value] : choices) {
    words.push_back(word);
    if (value == to)
      initial = word;
  }
  CLI::Option *option = command.add_option_function<std::string>(
      name,
      [&to, choices](const std::string &given) {
        for (const auto &[word, value] : choices)
          if (word == given)
            to = value;
      },
      help);
  return wantOneOf(option, words)->default_str(initial);
}

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_OPTIONVALUES_H
