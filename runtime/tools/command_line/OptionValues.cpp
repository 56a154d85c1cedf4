//===- OptionValues.cpp - Numbers and choices as options ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/OptionValues.h"

#include "base/Format.h"
#include "base/json/JsonDefect.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

using namespace hocket;

/// A value as an error quotes it.
static std::string inQuotes(const std::string &value) {
  constexpr size_t most = 64;
  return "'" + value.substr(0, most) + (value.size() > most ? "..." : "") + "'";
}

/// A check that rewrites the value, without words of its own in the help.
template <typename Check>
static CLI::Option *want(CLI::Option *option, const Check &check) {
  return option->transform(CLI::Validator(check, ""));
}

/// The whole of `text` as a number.
template <typename T> static std::optional<T> parsed(const std::string &text) {
  T number{};
  const char *begin = text.data(), *end = begin + text.size();
  begin += text.size() > 1 && *begin == '+' ? 1 : 0;
  auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end ? std::optional<T>(number)
                                             : std::nullopt;
}

CLI::Option *hocket::wantWhole(CLI::Option *option, uint64_t least,
                               uint64_t most) {
  bool isOpen = most >= uint64_t(std::numeric_limits<int64_t>::max());
  std::string wanted =
      "wants a whole number " + (isOpen ? "of at least " + std::to_string(least)
                                        : "from " + std::to_string(least) +
                                              " to " + std::to_string(most));
  return want(option->type_name("N"), [=](std::string &value) {
    auto number = parsed<uint64_t>(value);
    if (!number || *number < least || *number > most)
      return wanted + ", not " + inQuotes(value);
    // Without the leading 0 that would make it octal.
    value = std::to_string(*number);
    return std::string();
  });
}

CLI::Option *hocket::wantNumber(CLI::Option *option, double least,
                                double most) {
  return want(option->type_name("NUMBER"), [=](std::string &value) {
    auto number = parsed<double>(value);
    if (number && *number >= least && *number <= most)
      return std::string();
    return formatText("wants a number from %.9g to %.9g, not ", least, most) +
           inQuotes(value);
  });
}

CLI::Option *hocket::wantPositive(CLI::Option *option, double most) {
  return want(option->type_name("NUMBER"), [=](std::string &value) {
    auto number = parsed<double>(value);
    if (number && *number > 0 && *number <= most)
      return std::string();
    return formatText("wants a number above 0, up to %.9g, not ", most) +
           inQuotes(value);
  });
}

CLI::Option *hocket::wantOneOf(CLI::Option *option,
                               const std::vector<std::string> &words) {
  std::string list;
  for (const std::string &word : words)
    list += (list.empty() ? "" : "|") + word;
  return want(option->type_name(list), [words](std::string &value) {
    if (std::find(words.begin(), words.end(), value) != words.end())
      return std::string();
    return "wants " + joinAlternatives(words) + ", not " + inQuotes(value);
  });
}

CLI::Option *hocket::wantPath(CLI::Option *option) {
  return want(option, [](std::string &value) -> std::string {
    if (value.empty())
      return "wants a path, not ''";
    return value == "-" ? "wants a path; it cannot be written to standard "
                          "output (-)"
                        : "";
  });
}

/// The name of wantText()'s check.
static constexpr const char *textCheck = "text";

CLI::Option *hocket::wantText(CLI::Option *option) {
  auto check = [](std::string &value) {
    size_t at = findInvalidUtf8(value);
    return at == value.size()
               ? std::string()
               : formatText("wants UTF-8; byte %zu of it is none", at + 1);
  };
  return option->transform(CLI::Validator(check, "", textCheck));
}

CLI::Option *hocket::wantSomeText(CLI::Option *option) {
  return want(wantText(option), [](std::string &value) -> std::string {
    return value.empty() ? "wants at least one character" : "";
  });
}

/// Whether wantText() was called on the option.
static bool takesText(CLI::Option *option) {
  try {
    return option->get_validator(textCheck);
  } catch (const CLI::OptionNotFound &) {
    return false;
  }
}

void hocket::refuseEmptyValues(CLI::App &app) {
  for (CLI::Option *option : app.get_options())
    if (option->get_items_expected_max() > 0 && !takesText(option))
      option->check(CLI::Validator(
          [](std::string &value) -> std::string {
            return value.empty() ? "wants a value, not ''" : "";
          },
          ""));
  for (CLI::App *command : app.get_subcommands({}))
    refuseEmptyValues(*command);
}
