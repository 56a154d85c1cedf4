//===- TextStream.cpp - Text as it is written -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/TextStream.h"

#include "base/json/JsonDefect.h"
#include <algorithm>

using namespace hocket;
using namespace hocket::inference;

/// Where `text`, as far as `end`, may go on to be one of the stop strings.
static size_t beforeBegunStop(std::string_view text, size_t end,
                              const std::vector<std::string> &stops) {
  size_t least = end;
  for (const std::string &stop : stops)
    for (size_t part = std::min(stop.size() - 1, end); part > 0; --part)
      if (text.substr(0, end).ends_with(
              std::string_view(stop).substr(0, part))) {
        least = std::min(least, end - part);
        break;
      }
  return least;
}

std::string TextStream::sayUpTo(const std::string &text, size_t end) {
  if (end <= said)
    return "";
  std::string result =
      toValidUtf8(std::string_view(text).substr(said, end - said));
  said = end;
  return result;
}

std::string TextStream::add(int32_t token) {
  // It ends the text: nothing comes behind it.
  if (std::ranges::find(stops.tokens, token) != stops.tokens.end())
    return "";
  tokens.push_back(token);
  std::string text = textBehind(tokenizer, before, tokens);
  size_t end = std::min(text.size(), findStop(text, stops.texts));
  end = beforeBegunStop(text, end, stops.texts);
  // Half a character is shown as U+FFFD, or as its first bytes.
  if (end == text.size() && text.ends_with("\xef\xbf\xbd"))
    end -= 3;
  size_t begin = end;
  while (begin > said && (uint8_t(text[begin - 1]) & 0xc0) == 0x80)
    --begin;
  if (begin > said && uint8_t(text[begin - 1]) >= 0xc0) {
    uint8_t lead = uint8_t(text[begin - 1]);
    size_t needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (end - (begin - 1) < needs)
      end = begin - 1;
  }
  return sayUpTo(text, end);
}

std::string TextStream::finish() {
  std::string text = textBehind(tokenizer, before, tokens);
  return sayUpTo(text, std::min(text.size(), findStop(text, stops.texts)));
}
