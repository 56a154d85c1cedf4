//===- AddedTokens.cpp - Tokens that are found before words ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/AddedTokens.h"

#include "runtime/tokenizer/text/Unicode.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::tokenizer;

bool AddedTokens::build(std::vector<AddedToken> added) {
  tokens = std::move(added);
  byId.clear();
  for (size_t i = 0; i < tokens.size(); ++i)
    byId.emplace(tokens[i].id, i);
  for (bool normalized : {false, true}) {
    Group &group = groups[normalized];
    std::vector<std::pair<std::string_view, int32_t>> strings;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string &pattern =
          tokens[i].pattern.empty() ? tokens[i].text : tokens[i].pattern;
      if (tokens[i].normalized != normalized || pattern.empty())
        continue;
      strings.emplace_back(pattern, int32_t(i));
      group.begins[uint8_t(pattern[0])] = true;
    }
    if (!group.trie.build(std::move(strings)))
      return false;
  }
  return true;
}

const AddedToken *AddedTokens::find(int32_t id) const {
  auto at = byId.find(id);
  return at == byId.end() ? nullptr : &tokens[at->second];
}

const AddedToken *AddedTokens::find(std::string_view text) const {
  auto at = std::find_if(tokens.begin(), tokens.end(),
                         [&](const AddedToken &t) { return t.text == text; });
  return at == tokens.end() ? nullptr : &*at;
}

static bool isKindAt(std::string_view text, size_t at, uint8_t kind) {
  const char *end = text.data() + text.size();
  return at < text.size() &&
         (characterKinds()[characterAt(text.data() + at, end).code] & kind);
}

static size_t sizeBefore(std::string_view text, size_t at) {
  const char *begin = text.data();
  return tokenizer::bytesBefore(begin, begin + at);
}

static bool isKindBefore(std::string_view text, size_t at, uint8_t kind) {
  return at > 0 && isKindAt(text, at - sizeBefore(text, at), kind);
}

void AddedTokens::split(std::string_view text, bool normalized,
                        bool withSpecial, const Handlers &handlers) const {
  const Group &group = groups[normalized];
  size_t done = 0, at = 0;
  auto hand = [&](size_t end) {
    if (end > done)
      handlers.text(text.substr(done, end - done));
  };
  while (!group.trie.empty() && at < text.size()) {
    if (!group.begins[uint8_t(text[at])]) {
      ++at;
      continue;
    }
    Trie::Match match = group.trie.longest(text.substr(at));
    if (match.size == 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens[size_t(match.value)];
    size_t begin = at, end = at + match.size;
    at = end;
    bool isWithin =
        token.singleWord && (isKindBefore(text, begin, WordCharacter) ||
                             isKindAt(text, end, WordCharacter));
    if (isWithin || (token.special && !withSpecial))
      continue;
    while (token.stripLeft && begin > done && isKindBefore(text, begin, Space))
      begin -= sizeBefore(text, begin);
    const char *last = text.data() + text.size();
    while (token.stripRight && isKindAt(text, end, Space))
      end += characterAt(text.data() + end, last).bytes;
    begin = std::max(begin, done);
    hand(begin);
    handlers.token(token.id);
    done = std::max(done, end);
    at = std::max(at, end);
  }
  hand(text.size());
}
