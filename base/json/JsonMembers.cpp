//===- JsonMembers.cpp - A JSON text, member by member --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonMembers.h"

#include <algorithm>

using namespace hocket;

JsonMembers::JsonMembers(std::string_view text) : text(text) {
  skipSpace();
  if (at < text.size() && (text[at] == '{' || text[at] == '['))
    opening = text[at++];
  else
    ended = true;
}

void JsonMembers::skipSpace() {
  at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

bool JsonMembers::take(char c) {
  if (at == text.size() || text[at] != c)
    return false;
  ++at;
  return true;
}

bool JsonMembers::skipString() {
  if (!take('"'))
    return false;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') {
      ++at;
      return true;
    }
    if (text[at] == '\\')
      ++at;
  }
  at = text.size();
  return false;
}

/// To the end of a string, of a number or word, or of what the bracket closes.
bool JsonMembers::skipValue() {
  size_t begin = at, depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '"') {
      if (!skipString())
        return false;
      if (depth == 0)
        return true;
      continue;
    }
    bool closes = c == '}' || c == ']';
    bool isBetween =
        closes || c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (depth == 0 && isBetween)
      return at > begin;
    ++at;
    depth += c == '{' || c == '[';
    if (closes && --depth == 0)
      return true;
  }
  return false;
}

std::optional<JsonMembers::Entry> JsonMembers::next() {
  if (ended)
    return std::nullopt;
  ended = true; // Unless another one is found.
  skipSpace();
  if (take(isObject() ? '}' : ']')) {
    skipSpace();
    whole = at == text.size();
    return std::nullopt;
  }
  if (!first && !take(','))
    return std::nullopt;
  first = false;
  Entry entry;
  skipSpace();
  size_t memberBegin = at, begin = at;
  if (isObject()) {
    if (!skipString())
      return std::nullopt;
    entry.key = text.substr(begin + 1, at - begin - 2);
    skipSpace();
    if (!take(':'))
      return std::nullopt;
    skipSpace();
    begin = at;
  }
  if (!skipValue())
    return std::nullopt;
  entry.value = text.substr(begin, at - begin);
  entry.member = text.substr(memberBegin, at - memberBegin);
  ended = false;
  return entry;
}
