//===- SourceExcerpt.cpp - The line that an error speaks of ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/SourceExcerpt.h"

#include "base/Format.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <sys/stat.h>

using namespace hocket;

/// Bytes of a file in which the line is looked for, and of a line shown.
static constexpr size_t mostSourceBytes = size_t(64) << 20;
static constexpr size_t mostShown = 72;
static constexpr int mostExcerpts = 8;

namespace {
/// `file:line:column`; both count from 1.
struct Place {
  std::string file;
  size_t line = 0, column = 0;
};
} // namespace

/// Reads ":NUMBER" at `at` and moves there.
static std::optional<size_t> numberAt(std::string_view text, size_t &at) {
  size_t number = 0;
  if (at >= text.size() || text[at] != ':')
    return std::nullopt;
  const char *begin = text.data() + at + 1, *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || number == 0)
    return std::nullopt;
  at = size_t(stop - text.data());
  return number;
}

/// The place with which a line of a message begins.
static std::optional<Place> placeOf(std::string_view line) {
  size_t start = std::min(line.find_first_not_of(' '), line.size());
  for (size_t colon = line.find(':', start); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    size_t at = colon;
    auto row = numberAt(line, at);
    auto column = row ? numberAt(line, at) : std::nullopt;
    if (column && line.substr(at).starts_with(": "))
      return Place{std::string(line.substr(start, colon - start)), *row,
                   *column};
  }
  return std::nullopt;
}

/// A line of a regular file, without its end.
static std::optional<std::string> lineOf(const Place &place) {
  struct stat about;
  if (::stat(place.file.c_str(), &about) != 0 || !S_ISREG(about.st_mode))
    return std::nullopt;
  std::ifstream file(place.file, std::ios::binary);
  std::string line;
  size_t read = 0;
  for (size_t number = 1; read < mostSourceBytes && std::getline(file, line);
       ++number) {
    read += line.size() + 1;
    if (number < place.line)
      continue;
    if (line.ends_with('\r'))
      line.pop_back();
    return line;
  }
  return std::nullopt;
}

static bool continuesCharacter(char c) { return (c & 0xC0) == 0x80; }

/// The line's number, its text and the caret.
static std::string excerptOf(const Place &place, const std::string &line) {
  size_t caret = std::min(place.column - 1, line.size());
  size_t first = caret > mostShown / 2 ? caret - mostShown / 2 : 0;
  if (line.size() <= mostShown)
    first = 0;
  size_t last = std::min(first + mostShown, line.size());
  while (first < caret && first > 0 && continuesCharacter(line[first]))
    ++first;
  while (last < line.size() && continuesCharacter(line[last]))
    ++last;
  std::string shown = first > 0 ? "..." : "", below(shown.size(), ' ');
  for (size_t i = first; i < last; ++i) {
    char c = line[i];
    bool isControl = (c >= 0 && c < ' ' && c != '\t') || c == 0x7F;
    shown += isControl ? '?' : c;
    if (i < caret && !continuesCharacter(c))
      below += c == '\t' ? '\t' : ' ';
  }
  if (last < line.size())
    shown += "...";
  return formatText("\n%5zu | %s\n      | %s^", place.line, shown.c_str(),
                    below.c_str());
}

std::string hocket::withExcerpts(const std::string &message) {
  std::string text;
  int shown = 0;
  for (size_t at = 0; at <= message.size();) {
    size_t end = std::min(message.find('\n', at), message.size());
    std::string line = message.substr(at, end - at);
    text += (at > 0 ? "\n" : "") + line;
    at = end + 1;
    if (shown == mostExcerpts)
      continue;
    if (auto place = placeOf(line))
      if (auto source = lineOf(*place)) {
        text += excerptOf(*place, *source);
        ++shown;
      }
  }
  return text;
}
