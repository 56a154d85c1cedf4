//===- ModuleText.cpp - A .mlir file before it is parsed ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/mlir/ModuleText.h"

#include <algorithm>

using namespace hocket;

/// Deepest nesting of brackets.
static constexpr int maxNesting = 256;
/// Most results of one op.
static constexpr uint64_t maxResults = uint64_t(1) << 16;

namespace {

/// Walks the text outside of strings and comments.
class TextWalker {
public:
  TextWalker(std::string_view text, const std::string &path)
      : text(text), path(path) {}

  Status walk() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '"')
        skipString();
      else if (c == '/' && next() == '/')
        at = std::min(text.find('\n', at), text.size());
      else if (c == '#' && isDigit(next()))
        HOCKET_RETURN_IF_ERROR(walkResultNumber());
      else
        HOCKET_RETURN_IF_ERROR(walkBracket(c));
    }
    return okStatus();
  }

private:
  char next() const { return at + 1 < text.size() ? text[at + 1] : 0; }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      if (text[at] == '\\')
        ++at;
    ++at;
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  /// Behind a value, with or without space between.
  Status walkResultNumber() {
    size_t hash = at;
    uint64_t value = 0;
    for (++at; at < text.size() && isDigit(text[at]); ++at)
      value = std::min(value * 10 + uint64_t(text[at] - '0'), maxResults);
    return value < maxResults
               ? okStatus()
               : fault(hash,
                       "names result " +
                           std::string(text.substr(hash + 1, at - hash - 1)) +
                           " of an op; expected less than " +
                           std::to_string(maxResults));
  }

  Status walkBracket(char c) {
    bool arrow =
        c == '>' && at > 0 && (text[at - 1] == '-' || text[at - 1] == '=');
    size_t here = at++;
    if (std::string_view("([{<").find(c) != std::string_view::npos) {
      if (++depth > maxNesting)
        return fault(here, "brackets nest deeper than " +
                               std::to_string(maxNesting) + " levels");
    } else if (std::string_view(")]}>").find(c) != std::string_view::npos &&
               !arrow) {
      --depth;
    }
    return okStatus();
  }

  Status fault(size_t place, const std::string &what) const {
    std::string_view before = text.substr(0, place);
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    size_t start = before.rfind('\n');
    size_t column =
        place - (start == std::string_view::npos ? 0 : start + 1) + 1;
    return invalidArgument(path + ":" + std::to_string(line) + ":" +
                           std::to_string(column) + ": " + what);
  }

  std::string_view text;
  const std::string &path;
  size_t at = 0;
  int depth = 0;
};

} // namespace

Status hocket::checkModuleText(std::string_view text, const std::string &path) {
  return TextWalker(text, path).walk();
}
