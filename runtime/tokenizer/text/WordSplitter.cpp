//===- WordSplitter.cpp - Text to the words of a BPE ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/WordSplitter.h"

#include "runtime/tokenizer/text/Unicode.h"

#include <array>

using namespace hocket::tokenizer;

namespace {
struct PatternRow {
  WordPattern pattern;
  std::string name, expression;
};
} // namespace

static std::string caselessExpression(const std::string &digits) {
  return "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" +
         digits +
         "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
}

static const std::array<PatternRow, 3> &patternRows() {
  static const std::array<PatternRow, 3> rows = {{
      {WordPattern::Gpt2, "gpt2",
       "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
       "\\s+(?!\\S)|\\s+"},
      {WordPattern::Llama3, "llama3", caselessExpression("\\p{N}{1,3}")},
      {WordPattern::Qwen2, "qwen2", caselessExpression("\\p{N}")},
  }};
  return rows;
}

std::string hocket::tokenizer::nameOf(WordPattern pattern) {
  return patternRows()[size_t(pattern)].name;
}

const std::string &hocket::tokenizer::expressionOf(WordPattern pattern) {
  return patternRows()[size_t(pattern)].expression;
}

std::optional<WordPattern>
hocket::tokenizer::parseWordPattern(std::string_view name) {
  for (const PatternRow &row : patternRows())
    if (row.name == name)
      return row.pattern;
  return std::nullopt;
}

std::optional<WordPattern>
hocket::tokenizer::patternOf(std::string_view expression) {
  for (const PatternRow &row : patternRows())
    if (row.expression == expression)
      return row.pattern;
  return std::nullopt;
}

WordSplitter::WordSplitter(WordPattern pattern)
    : pattern(pattern), kinds(characterKinds()) {}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Behind the characters from `at` on that have one of the kinds `of`.
const char *WordSplitter::skipAll(const char *at, const char *end,
                                  uint8_t of) const {
  while (at < end) {
    Character character = characterAt(at, end);
    if (!(kinds[character.code] & of))
      break;
    at += character.bytes;
  }
  return at;
}

/// Behind the characters that are neither letter nor number nor space.
const char *WordSplitter::skipOthers(const char *at, const char *end) const {
  while (at < end) {
    Character character = characterAt(at, end);
    if (kinds[character.code] & (Letter | Number | Space))
      break;
    at += character.bytes;
  }
  return at;
}

/// `\s+(?!\S)|\s+`: a run of spaces without its last one, which belongs to the
/// word behind it, or may.
const char *WordSplitter::skipSpaces(const char *at, const char *end) const {
  const char *last = at, *next = at;
  while (next < end) {
    Character character = characterAt(next, end);
    if (!(kinds[character.code] & Space))
      return last > at ? last : next;
    last = next;
    next += character.bytes;
  }
  return next;
}

//===----------------------------------------------------------------------===//
// GPT-2
//===----------------------------------------------------------------------===//

/// The length of `'s`, `'re` and so on at `at`, or 0.
static size_t contraction(const char *at, const char *end) {
  if (end - at < 2 || at[0] != '\'')
    return 0;
  switch (at[1]) {
  case 's':
  case 't':
  case 'm':
  case 'd':
    return 2;
  case 'r':
  case 'v':
    return end - at >= 3 && at[2] == 'e' ? 3 : 0;
  case 'l':
    return end - at >= 3 && at[2] == 'l' ? 3 : 0;
  default:
    return 0;
  }
}

const char *WordSplitter::wordEndOfGpt2(const char *at, const char *end) const {
  if (size_t bytes = contraction(at, end))
    return at + bytes;
  const char *begin = *at == ' ' && end - at > 1 ? at + 1 : at;
  Character first = characterAt(begin, end);
  uint8_t kind = kinds[first.code];
  if (kind & Letter)
    return skipAll(begin + first.bytes, end, Letter);
  if (kind & Number)
    return skipAll(begin + first.bytes, end, Number);
  if (!(kind & Space))
    return skipOthers(begin + first.bytes, end);
  return skipSpaces(at, end);
}

//===----------------------------------------------------------------------===//
// Llama-3, Qwen2
//===----------------------------------------------------------------------===//

/// As contraction(), in either case. The long s is an s in upper case too.
static size_t caselessContraction(const char *at, const char *end) {
  if (end - at < 2 || at[0] != '\'')
    return 0;
  if (end - at >= 3 && at[1] == '\xc5' && at[2] == '\xbf')
    return 3;
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  char folded[3] = {'\'', lower(at[1]), end - at >= 3 ? lower(at[2]) : '\0'};
  return contraction(folded, folded + (end - at >= 3 ? 3 : 2));
}

const char *WordSplitter::numberEnd(const char *at, const char *end) const {
  int most = pattern == WordPattern::Llama3 ? 3 : 1;
  for (int digits = 0; digits < most && at < end; ++digits) {
    Character character = characterAt(at, end);
    if (!(kinds[character.code] & Number))
      break;
    at += character.bytes;
  }
  return at;
}

static bool isLineBreak(char c) { return c == '\r' || c == '\n'; }

/// Behind the last line break of the spaces from `at` on, or `at`.
static const char *lineBreakEnd(const char *at, const char *end,
                                const uint8_t *kinds) {
  const char *found = at;
  while (at < end) {
    Character character = characterAt(at, end);
    if (!(kinds[character.code] & Space))
      break;
    at += character.bytes;
    if (isLineBreak(at[-1]))
      found = at;
  }
  return found;
}

const char *WordSplitter::wordEndOfLlama(const char *at,
                                         const char *end) const {
  if (size_t bytes = caselessContraction(at, end))
    return at + bytes;
  Character first = characterAt(at, end);
  const char *next = at + first.bytes;
  uint8_t kind = kinds[first.code];
  if (kind & Letter)
    return skipAll(next, end, Letter);
  if (kind & Number)
    return numberEnd(at, end);
  uint8_t nextKind =
      next < end ? kinds[characterAt(next, end).code] : uint8_t(Space);
  if ((nextKind & Letter) && !isLineBreak(*at))
    return skipAll(next, end, Letter);
  bool isOther = !(kind & Space);
  if (isOther ||
      (first.code == ' ' && !(nextKind & (Letter | Number | Space)))) {
    const char *last = skipOthers(next, end);
    while (last < end && isLineBreak(*last))
      ++last;
    return last;
  }
  if (const char *last = lineBreakEnd(at, end, kinds); last > at)
    return last;
  return skipSpaces(at, end);
}

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

static bool isAsciiAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

/// Whether a line ends before `at` with one line feed behind something other
/// than a space, and the next begins with a letter.
static bool isBetweenLines(std::string_view text, size_t at,
                           const uint8_t *kinds) {
  if (at < 2 || text[at - 1] != '\n')
    return false;
  const char *begin = text.data(), *end = begin + text.size();
  const char *feed = begin + at - 1;
  Character before = characterAt(feed - bytesBefore(begin, feed), end);
  Character after = characterAt(begin + at, end);
  return (kinds[before.code] & (Letter | Number | Punctuation)) &&
         (kinds[after.code] & Letter);
}

/// A word ends before a space that follows a letter or digit, and neither
/// normalizing nor looking ahead changes that.
static bool isBeforeSpace(std::string_view text, size_t at) {
  return text[at] == ' ' && isAsciiAlphanumeric(text[at - 1]);
}

size_t hocket::tokenizer::lastWordEnd(std::string_view text) {
  const uint8_t *kinds = characterKinds();
  for (size_t at = text.size(); at-- > 1;)
    if (isBeforeSpace(text, at) || isBetweenLines(text, at, kinds))
      return at;
  return 0;
}

size_t hocket::tokenizer::lastSpace(std::string_view text) {
  for (size_t at = text.size(); at-- > 1;)
    if (isBeforeSpace(text, at))
      return at;
  return 0;
}
