//===- WikiText.cpp - Text as it was before it was tokenized --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/WikiText.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace hocket;
using namespace hocket::evaluate;

/// Bytes of the white space (Unicode's, and the four separators of ASCII) that
/// `text` begins with; 0: it begins with something else.
static size_t leadingSpace(std::string_view text) {
  auto at = [&](size_t i) -> unsigned {
    return i < text.size() ? uint8_t(text[i]) : 0;
  };
  unsigned c = at(0);
  if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f))
    return 1;
  if (c == 0xc2 && (at(1) == 0x85 || at(1) == 0xa0))
    return 2; // U+0085, U+00A0
  unsigned tail = at(1) << 8 | at(2);
  if (c == 0xe1 && tail == 0x9a80)
    return 3;                                            // U+1680
  bool isGeneral = (tail >= 0x8080 && tail <= 0x808a) || // U+2000 to U+200A
                   tail == 0x80a8 || tail == 0x80a9 || tail == 0x80af ||
                   tail == 0x819f; // U+2028, U+2029, U+202F, U+205F
  if (c == 0xe2 && isGeneral)
    return 3;
  return c == 0xe3 && tail == 0x8080 ? 3 : 0; // U+3000
}

static std::string_view trim(std::string_view text) {
  while (size_t space = leadingSpace(text))
    text.remove_prefix(space);
  for (bool more = true; more;) {
    more = false;
    for (size_t bytes = 1; bytes <= 3 && bytes <= text.size(); ++bytes)
      if (leadingSpace(text.substr(text.size() - bytes)) == bytes) {
        text.remove_suffix(bytes);
        more = true;
        break;
      }
  }
  return text;
}

static std::string replaceAll(std::string_view text, std::string_view from,
                              std::string_view to) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0;;) {
    size_t next = text.find(from, at);
    result += text.substr(at, next - at);
    if (next == text.npos)
      return result;
    result += to;
    at = next + from.size();
  }
}

/// Removes white space inside of each pair of `open` and the next `close`.
static std::string trimInside(std::string_view text, char open, char close) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0;;) {
    size_t begin = text.find(open, at);
    size_t end = begin == text.npos ? begin : text.find(close, begin + 1);
    if (end == text.npos) {
      result += text.substr(at);
      return result;
    }
    result += text.substr(at, begin + 1 - at);
    result += trim(text.substr(begin + 1, end - begin - 1));
    result += close;
    at = end + 1;
  }
}

std::string evaluate::joinWikiText(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> before[] = {
      {"s '", "s'"}, {" @-@ ", "-"}, {" @,@ ", ","}, {" @.@ ", "."},
      {" : ", ": "}, {" ; ", "; "},  {" . ", ". "},  {" ! ", "! "},
      {" ? ", "? "}, {" , ", ", "}};
  static constexpr std::pair<std::string_view, std::string_view> behind[] = {
      {"= = = =", "===="},    {"= = =", "==="}, {"= =", "=="},
      {" \u00b0 ", "\u00b0"}, {" \n", "\n"},    {"\n ", "\n"},
      {" N ", " 1 "},         {" 's", "'s"}};
  std::string result(text);
  for (auto [from, to] : before)
    result = replaceAll(result, from, to);
  for (auto [open, close] :
       {std::pair('(', ')'), std::pair('[', ']'), std::pair('{', '}'),
        std::pair('"', '"'), std::pair('\'', '\'')})
    result = trimInside(result, open, close);
  for (auto [from, to] : behind)
    result = replaceAll(result, from, to);
  return result;
}

uint64_t evaluate::countSpacedWords(std::string_view text) {
  text = trim(text);
  return text.empty() ? 0
                      : uint64_t(std::count(text.begin(), text.end(), ' ')) + 1;
}
