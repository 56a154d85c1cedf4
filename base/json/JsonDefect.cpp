//===- JsonDefect.cpp - Where a JSON text goes wrong ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonDefect.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

using namespace hocket;

//===----------------------------------------------------------------------===//
// UTF-8
//===----------------------------------------------------------------------===//

/// Bytes of the character that starts at text[at] (Unicode 15, table 3-7), or
/// 0 if it is not well formed.
static size_t characterBytes(std::string_view text, size_t at) {
  auto byte = [&](size_t i) {
    return at + i < text.size() ? uint8_t(text[at + i]) : uint8_t(0);
  };
  auto within = [&](size_t i, uint8_t low, uint8_t high) {
    return byte(i) >= low && byte(i) <= high;
  };
  uint8_t first = byte(0);
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first <= 0xdf)
    return within(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return within(1, low, high) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    bool good =
        within(1, low, high) && within(2, 0x80, 0xbf) && within(3, 0x80, 0xbf);
    return good ? 4 : 0;
  }
  return 0;
}

size_t hocket::findInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t bytes = characterBytes(text, at);
    if (bytes == 0)
      return at;
    at += bytes;
  }
  return at;
}

std::string hocket::toValidUtf8(std::string_view text) {
  std::string result;
  while (true) {
    size_t valid = findInvalidUtf8(text);
    result += text.substr(0, valid);
    if (valid == text.size())
      return result;
    result += "\xef\xbf\xbd";
    text.remove_prefix(valid + 1);
  }
}

//===----------------------------------------------------------------------===//
// Scanning
//===----------------------------------------------------------------------===//

namespace {

class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  std::optional<JsonDefect> run();

  /// If set, called for each member of the outermost object with its key,
  /// raw, and the offset of its value.
  std::function<void(std::string_view, size_t)> onMember;

private:
  static constexpr size_t depthLimit = 1024;

  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool fail(std::string expected) {
    defect = JsonDefect{at, std::move(expected)};
    return false;
  }
  void skipSpace() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]) && text[at])
      ++at;
  }
  bool take(char c) {
    if (peek() != c || at >= text.size())
      return false;
    ++at;
    return true;
  }
  bool hexDigits(unsigned &value);
  bool escape();
  bool string();
  bool digits();
  bool number();
  bool word(std::string_view expected);
  bool scalar();
  bool memberKey();
  bool open(char bracket);
  bool afterValue();
  bool value();

  std::string_view text;
  size_t at = 0;
  std::vector<char> nesting;
  /// Set between a key of the outermost object and its value.
  std::optional<std::string_view> outermostKey;
  std::optional<JsonDefect> defect;
};

} // namespace

bool Scanner::hexDigits(unsigned &value) {
  value = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    char c = peek();
    if (c >= '0' && c <= '9')
      value = value * 16 + unsigned(c - '0');
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      value = value * 16 + unsigned((c | 32) - 'a' + 10);
    else
      return fail("four hexadecimal digits after \\u");
  }
  return true;
}

bool Scanner::escape() {
  size_t start = at;
  ++at;
  if (at < text.size() && text[at] && std::strchr("\"\\/bfnrt", text[at])) {
    ++at;
    return true;
  }
  if (!take('u')) {
    at = start;
    return fail("one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
  }
  unsigned code, low;
  if (!hexDigits(code))
    return false;
  if (code < 0xd800 || code > 0xdfff)
    return true;
  bool paired = code < 0xdc00 && take('\\') && take('u') && hexDigits(low) &&
                low >= 0xdc00 && low <= 0xdfff;
  if (paired)
    return true;
  at = start;
  return fail("both halves of a surrogate pair");
}

bool Scanner::string() {
  if (!take('"'))
    return fail("a string");
  while (at < text.size()) {
    if (take('"'))
      return true;
    if (peek() == '\\') {
      if (!escape())
        return false;
      continue;
    }
    if (uint8_t(text[at]) < 0x20)
      return fail("no control character inside a string");
    size_t bytes = characterBytes(text, at);
    if (bytes == 0)
      return fail("valid UTF-8");
    at += bytes;
  }
  return fail("'\"' at the end of a string");
}

bool Scanner::digits() {
  if (peek() < '0' || peek() > '9')
    return fail("a digit");
  while (peek() >= '0' && peek() <= '9')
    ++at;
  return true;
}

bool Scanner::number() {
  take('-');
  if (!take('0') && !digits())
    return false;
  if (take('.') && !digits())
    return false;
  if (peek() == 'e' || peek() == 'E') {
    ++at;
    if (!take('+'))
      take('-');
    return digits();
  }
  return true;
}

bool Scanner::word(std::string_view expected) {
  if (!text.substr(at).starts_with(expected))
    return fail("a value");
  at += expected.size();
  return true;
}

bool Scanner::scalar() {
  switch (peek()) {
  case '"':
    return string();
  case 't':
    return word("true");
  case 'f':
    return word("false");
  case 'n':
    return word("null");
  default:
    if (peek() == '-' || (peek() >= '0' && peek() <= '9'))
      return number();
    return fail("a value");
  }
}

bool Scanner::memberKey() {
  skipSpace();
  size_t begin = at;
  if (!string())
    return false;
  if (nesting.size() == 1 && nesting.front() == '{')
    outermostKey = text.substr(begin + 1, at - begin - 2);
  skipSpace();
  return take(':') || fail("':'");
}

bool Scanner::open(char bracket) {
  if (nesting.size() == depthLimit)
    return fail("at most 1024 levels");
  ++at;
  nesting.push_back(bracket);
  return true;
}

/// After a value: closes what ends here; true if another value follows.
bool Scanner::afterValue() {
  while (!nesting.empty()) {
    skipSpace();
    char bracket = nesting.back();
    if (take(','))
      return bracket == '[' || memberKey();
    if (!take(bracket == '{' ? '}' : ']'))
      return fail(bracket == '{' ? "',' or '}'" : "',' or ']'");
    nesting.pop_back();
  }
  skipSpace();
  if (at != text.size())
    fail("the end of the text");
  return false;
}

/// One value, or the opening of one that has values inside: false at the end
/// of the text or at a defect.
bool Scanner::value() {
  skipSpace();
  if (outermostKey && onMember)
    onMember(*outermostKey, at);
  outermostKey.reset();
  char bracket = peek();
  if (bracket != '{' && bracket != '[')
    return scalar() && afterValue();
  if (!open(bracket))
    return false;
  skipSpace();
  if (take(bracket == '{' ? '}' : ']')) {
    nesting.pop_back();
    return afterValue();
  }
  return bracket == '[' || memberKey();
}

std::optional<JsonDefect> Scanner::run() {
  while (value())
    ;
  return defect;
}

std::optional<JsonDefect> hocket::findJsonDefect(std::string_view text) {
  return Scanner(text).run();
}

std::optional<size_t> hocket::findJsonMember(std::string_view text,
                                             std::string_view key,
                                             unsigned occurrence) {
  std::optional<size_t> found;
  Scanner scanner(text);
  scanner.onMember = [&](std::string_view name, size_t offset) {
    if (name == key && occurrence-- == 0)
      found = offset;
  };
  scanner.run();
  return found;
}

std::string hocket::placeInFile(const std::string &path, std::string_view text,
                                size_t offset, uint64_t line) {
  std::string_view before = text.substr(0, offset);
  auto lines = uint64_t(std::count(before.begin(), before.end(), '\n'));
  size_t column = before.size() - (before.rfind('\n') + 1);
  return path + ":" + std::to_string(line + lines) + ":" +
         std::to_string(column + 1);
}
