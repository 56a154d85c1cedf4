//===- VocabularyReader.cpp - Vocabularies and merges ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/VocabularyReader.h"

#include "base/TextLines.h"
#include "base/json/JsonDefect.h"
#include "base/json/JsonMembers.h"
#include "runtime/tokenizer/ByteLevel.h"

#include <algorithm>
#include <charconv>

using namespace hocket;
using namespace hocket::tokenizer;

Status tokenizer::wrongJson(const SourceText &file, std::string_view part) {
  auto defect = findJsonDefect(part);
  if (!defect)
    return file.wrongAt(part, "expected JSON");
  return file.wrongAt(part.substr(std::min(defect->offset, part.size())),
                      "expected " + defect->expected);
}

static std::string tooMany(const char *what) {
  return std::string("expected at most ") + std::to_string(mostTokens) + " " +
         what;
}

//===----------------------------------------------------------------------===//
// Vocabularies
//===----------------------------------------------------------------------===//

StatusOr<Vocabulary> tokenizer::readJsonVocabulary(const SourceText &file,
                                                   std::string_view object) {
  Vocabulary vocabulary;
  JsonMembers entries(object);
  if (!entries.isObject())
    return file.wrongAt(object, "expected an object of tokens, as "
                                "{\"hello\": 31373}");
  while (auto entry = entries.next()) {
    auto text = unescapeJson(entry->key);
    if (!text)
      return wrongJson(file, object);
    uint32_t id = 0;
    const char *begin = entry->value.data(), *end = begin + entry->value.size();
    auto [behind, error] = std::from_chars(begin, end, id);
    if (behind != end || error != std::errc() || id >= mostTokens)
      return file.wrongAt(entry->value,
                          "expected the number of " + inQuotes(*text) +
                              ", below " + std::to_string(mostTokens) +
                              ", found " + inQuotes(entry->value));
    if (vocabulary.has(int32_t(id)))
      return file.wrongAt(entry->value,
                          "the number " + std::to_string(id) + " is taken by " +
                              inQuotes(vocabulary.text(int32_t(id))));
    if (!vocabulary.insert(*text, int32_t(id)))
      return file.wrongAt(entry->member,
                          "the token " + inQuotes(*text) + " appears twice");
  }
  if (!entries.isWhole())
    return wrongJson(file, object);
  if (vocabulary.strings() == 0)
    return file.wrongAt(object, "expected at least one token");
  return vocabulary;
}

/// The next line without a carriage return at its end.
static std::string_view takePlainLine(std::string_view &rest) {
  std::string_view line = takeLine(rest);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

StatusOr<Vocabulary> tokenizer::readLineVocabulary(const SourceText &file) {
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  Vocabulary vocabulary;
  std::string_view rest = file.text;
  for (uint32_t id = 0; !rest.empty(); ++id) {
    std::string_view line = takePlainLine(rest);
    if (id == mostTokens)
      return file.wrongAt(line, tooMany("tokens"));
    if (line.empty())
      return file.wrongAt(line, "expected a token, found an empty line");
    if (!vocabulary.insert(line, int32_t(id)))
      return file.wrongAt(line, "the token " + inQuotes(line) +
                                    " appears twice, first in line " +
                                    std::to_string(vocabulary.find(line) + 1));
  }
  if (vocabulary.strings() == 0)
    return invalidArgument(file.path + ": is empty; expected a token a line");
  return vocabulary;
}

Vocabulary tokenizer::toBytes(const Vocabulary &characters) {
  Vocabulary bytes;
  for (int32_t id = 0; size_t(id) < characters.size(); ++id)
    if (characters.has(id))
      if (auto text = fromByteLevel(characters.text(id)))
        bytes.insert(*text, id);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

namespace {
/// The two sides of a merge, as the vocabulary writes them.
struct Sides {
  std::string_view left, right;
};
} // namespace

/// "left right", with one space.
static std::optional<Sides> sidesOf(std::string_view text) {
  size_t space = text.find(' ');
  if (space == text.npos || space == 0 || space + 1 == text.size() ||
      text.find(' ', space + 1) != text.npos)
    return std::nullopt;
  return Sides{text.substr(0, space), text.substr(space + 1)};
}

static Status addMerge(const SourceText &file, std::string_view at, Sides sides,
                       const Vocabulary &characters, BytePairMerges &merges) {
  if (merges.size() == mostTokens)
    return file.wrongAt(at, tooMany("merges"));
  std::string merged = std::string(sides.left) + std::string(sides.right);
  for (std::string_view text :
       {sides.left, sides.right, std::string_view(merged)})
    if (characters.find(text) == noToken)
      return file.wrongAt(at, inQuotes(text) +
                                  " is no token of the vocabulary, but this "
                                  "merge of " +
                                  inQuotes(sides.left) + " and " +
                                  inQuotes(sides.right) + " needs it");
  if (!merges.insert(characters.find(sides.left), characters.find(sides.right),
                     characters.find(merged)))
    return file.wrongAt(at, "the merge of " + inQuotes(sides.left) + " and " +
                                inQuotes(sides.right) + " appears twice");
  return okStatus();
}

static StatusOr<std::string> stringOf(const SourceText &file,
                                      std::string_view value) {
  std::optional<std::string> text;
  if (value.size() >= 2 && value.front() == '"')
    text = unescapeJson(value.substr(1, value.size() - 2));
  if (!text)
    return file.wrongAt(value, "expected a string, found " + inQuotes(value));
  return *std::move(text);
}

StatusOr<BytePairMerges>
tokenizer::readJsonMerges(const SourceText &file, std::string_view array,
                          const Vocabulary &characters) {
  constexpr const char *expected = "expected a merge, as \"t h\" or "
                                   "[\"t\", \"h\"]";
  BytePairMerges merges;
  JsonMembers entries(array);
  if (!entries.isArray())
    return file.wrongAt(array, "expected an array of merges");
  while (auto entry = entries.next()) {
    std::string_view value = entry->value;
    if (value[0] == '"') {
      HOCKET_ASSIGN_OR_RETURN(std::string text, stringOf(file, value));
      auto sides = sidesOf(text);
      if (!sides)
        return file.wrongAt(value, expected);
      HOCKET_RETURN_IF_ERROR(addMerge(file, value, *sides, characters, merges));
      continue;
    }
    JsonMembers pair(value);
    auto left = pair.isArray() ? pair.next() : std::nullopt;
    auto right = left ? pair.next() : std::nullopt;
    if (!right || pair.next() || !pair.isWhole())
      return file.wrongAt(value, expected);
    HOCKET_ASSIGN_OR_RETURN(std::string first, stringOf(file, left->value));
    HOCKET_ASSIGN_OR_RETURN(std::string second, stringOf(file, right->value));
    HOCKET_RETURN_IF_ERROR(
        addMerge(file, value, {first, second}, characters, merges));
  }
  if (!entries.isWhole())
    return wrongJson(file, array);
  return merges;
}

StatusOr<BytePairMerges>
tokenizer::readLineMerges(const SourceText &file,
                          const Vocabulary &characters) {
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  BytePairMerges merges;
  std::string_view rest = file.text;
  if (rest.starts_with("#version"))
    takePlainLine(rest);
  while (!rest.empty()) {
    std::string_view line = takePlainLine(rest);
    if (line.empty() && rest.empty())
      break;
    auto sides = sidesOf(line);
    if (!sides)
      return file.wrongAt(line, "expected two tokens with one space between "
                                "them, found " +
                                    inQuotes(line));
    HOCKET_RETURN_IF_ERROR(addMerge(file, line, *sides, characters, merges));
  }
  return merges;
}
