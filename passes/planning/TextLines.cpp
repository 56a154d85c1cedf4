//===- TextLines.cpp - Problems and plans as text -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/TextLines.h"

#include <charconv>
#include <cmath>
#include <set>

using namespace hocket;
using namespace hocket::planning;

namespace {

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

TextLine cutLine(std::string_view line, int64_t number) {
  TextLine words;
  line = line.substr(0, line.find('#'));
  for (size_t i = 0; i < line.size();) {
    size_t first = i;
    while (i < line.size() && !isBlank(line[i]))
      ++i;
    if (i > first)
      words.push_back({line.substr(first, i - first), number,
                       static_cast<int64_t>(first) + 1});
    else
      ++i;
  }
  return words;
}

} // namespace

std::string hocket::planning::quoted(std::string_view text) {
  constexpr size_t most = 40;
  std::string result = "'";
  for (char c : text.substr(0, most))
    result += c >= ' ' && c < 0x7f ? c : '?';
  return result + (text.size() > most ? "...'" : "'");
}

TextLines::TextLines(std::string_view file, std::string_view text)
    : file(file) {
  int64_t number = 1;
  for (size_t at = 0; at <= text.size(); ++number) {
    size_t next = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, next - at);
    if (TextLine words = cutLine(line, number); !words.empty())
      all.push_back(std::move(words));
    end = {{}, number, static_cast<int64_t>(line.size()) + 1};
    at = next + 1;
  }
}

Status TextLines::errorAt(const TextWord &word,
                          const std::string &message) const {
  return invalidArgument(
      file + ":" + std::to_string(word.line) + ":" +
      std::to_string(word.column) + ": Q30: " + message +
      (word.text.empty() ? std::string() : ", found " + quoted(word.text)));
}

Status TextLines::errorAtEnd(const std::string &message) const {
  return errorAt(end, message);
}

Status TextLines::located(const Status &error) const {
  return error.withContext(file + ":" + std::to_string(end.line) + ":" +
                           std::to_string(end.column));
}

Status TextLines::expectTitle(std::string_view title) const {
  std::string expected = "expected '" + std::string(title) + "' first";
  if (all.empty())
    return errorAtEnd(expected);
  if (all[0][0].text != title)
    return errorAt(all[0][0], expected);
  return expectWords(all[0], 1, 1);
}

Status TextLines::readOnce(std::string_view title,
                           const std::function<Status(const TextLine &)> &read,
                           std::string_view repeats) const {
  HOCKET_RETURN_IF_ERROR(expectTitle(title));
  std::set<std::string_view> seen;
  for (size_t i = 1; i < all.size(); ++i) {
    std::string_view key = all[i][0].text;
    if (!seen.insert(key).second && key != repeats)
      return errorAt(all[i][0], "expected each line once");
    HOCKET_RETURN_IF_ERROR(read(all[i]));
  }
  return okStatus();
}

StatusOr<bool> TextLines::takeWhole(const TextLine &line,
                                    const std::vector<WholeLine> &known) const {
  for (const WholeLine &one : known)
    if (line[0].text == one.key) {
      HOCKET_RETURN_IF_ERROR(expectWords(line, 2, 2));
      HOCKET_ASSIGN_OR_RETURN(*one.field, whole(line[1], one.least, one.most));
      return true;
    }
  return false;
}

Status TextLines::expectWords(const TextLine &line, size_t least,
                              size_t most) const {
  if (line.size() > most)
    return errorAt(line[most], "expected the end of the line");
  if (line.size() < least) {
    TextWord after = line.back();
    after.column += static_cast<int64_t>(after.text.size());
    after.text = {};
    return errorAt(after, "expected more after '" +
                              std::string(line.back().text) + "'");
  }
  return okStatus();
}

StatusOr<int64_t> TextLines::whole(const TextWord &word, int64_t least,
                                   int64_t most) const {
  int64_t value = 0;
  const char *first = word.text.data(), *last = first + word.text.size();
  auto [stop, error] = std::from_chars(first, last, value);
  if (error != std::errc() || stop != last || value < least || value > most)
    return errorAt(word, "expected a whole number from " +
                             std::to_string(least) + " to " +
                             std::to_string(most));
  return value;
}

StatusOr<double> TextLines::number(const TextWord &word, double most) const {
  double value = 0;
  const char *first = word.text.data(), *last = first + word.text.size();
  auto [stop, error] = std::from_chars(first, last, value);
  if (error != std::errc() || stop != last || !std::isfinite(value) ||
      value < 0 || value > most)
    return errorAt(word, "expected a number from 0 to " + writtenNumber(most));
  return value;
}

std::string hocket::planning::writtenNumber(double value) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end);
}
