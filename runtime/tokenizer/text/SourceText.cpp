//===- SourceText.cpp - A file that errors point into ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/SourceText.h"

#include "base/File.h"
#include "base/json/JsonDefect.h"
#include "runtime/tokenizer/text/Unicode.h"

#include <algorithm>
#include <charconv>

using namespace hocket;
using namespace hocket::tokenizer;

static constexpr uint64_t mostBytes = uint64_t(256) << 20;

StatusOr<SourceText> SourceText::read(const std::string &path) {
  SourceText source;
  source.path = path;
  HOCKET_ASSIGN_OR_RETURN(source.text, readFile(path, mostBytes));
  return source;
}

Status SourceText::wrongAt(std::string_view part,
                           const std::string &message) const {
  auto offset = std::min(size_t(part.data() - text.data()), text.size());
  std::string_view before = std::string_view(text).substr(0, offset);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t column = offset - (before.rfind('\n') + 1) + 1;
  return invalidArgument(path + ":" + std::to_string(line) + ":" +
                         std::to_string(column) + ": " + message);
}

Status SourceText::checkUtf8() const {
  size_t at = findInvalidUtf8(text);
  if (at == text.size())
    return okStatus();
  return wrongAt(std::string_view(text).substr(at), "expected valid UTF-8");
}

static std::optional<uint32_t> fourDigits(std::string_view raw, size_t at) {
  uint32_t code = 0;
  if (at + 4 > raw.size())
    return std::nullopt;
  auto [end, error] =
      std::from_chars(raw.data() + at, raw.data() + at + 4, code, 16);
  if (error != std::errc() || end != raw.data() + at + 4)
    return std::nullopt;
  return code;
}

/// Reads what follows `\u`, from `at` on, which it leaves behind it.
static std::optional<uint32_t> codePoint(std::string_view raw, size_t &at) {
  auto code = fourDigits(raw, at);
  at += 4;
  if (!code || (*code & 0xf800) != 0xd800)
    return code;
  if (*code >= 0xdc00 || raw.substr(std::min(at, raw.size()), 2) != "\\u")
    return std::nullopt;
  auto low = fourDigits(raw, at + 2);
  at += 6;
  if (!low || (*low & 0xfc00) != 0xdc00)
    return std::nullopt;
  return 0x10000 + ((*code & 0x3ff) << 10 | (*low & 0x3ff));
}

std::optional<std::string> tokenizer::unescapeJson(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  constexpr std::string_view escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  for (size_t at = 0; at < raw.size();) {
    char c = raw[at++];
    if (uint8_t(c) < 0x20)
      return std::nullopt;
    if (c != '\\') {
      text += c;
      continue;
    }
    char kind = at < raw.size() ? raw[at++] : '\0';
    if (size_t known = escapes.find(kind);
        kind != '\0' && known != escapes.npos) {
      text += meant[known];
      continue;
    }
    std::optional<uint32_t> code;
    if (kind == 'u')
      code = codePoint(raw, at);
    if (!code)
      return std::nullopt;
    appendCharacter(*code, text);
  }
  return text;
}

std::string tokenizer::inQuotes(std::string_view text) {
  constexpr size_t most = 60;
  std::string out = "'";
  for (char c : text.substr(0, most))
    out += uint8_t(c) < 0x20 || c == 0x7f ? '?' : c;
  if (text.size() > most) {
    while (out.size() > 1 && (uint8_t(out.back()) & 0xc0) == 0x80)
      out.pop_back();
    if (uint8_t(out.back()) >= 0xc0)
      out.pop_back();
    out += "...";
  }
  return out + "'";
}
