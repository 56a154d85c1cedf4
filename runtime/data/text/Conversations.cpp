//===- Conversations.cpp - Conversations as packed sequences --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/Conversations.h"

#include <algorithm>
#include <span>

using namespace hocket;
using namespace hocket::data;

/// More open sequences than this pack hardly tighter.
static constexpr size_t mostOpen = 256;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {
/// Finds the token that a byte of the text belongs to.
class TokenPlaces {
public:
  TokenPlaces(const tokenizer::Tokenizer &tokenizer, const std::string &text,
              const std::vector<int32_t> &tokens)
      : tokenizer(tokenizer), text(text), tokens(tokens),
        isExact(bytesOf(tokens.size()) == text.size()) {}

  /// The first token that reaches beyond byte `at`: where what begins there
  /// begins.
  size_t firstAt(size_t at) const { return find(at, /*whole=*/false); }
  /// The first token that begins at byte `at` or later.
  size_t firstBehind(size_t at) const { return find(at, /*whole=*/true); }

private:
  size_t bytesOf(size_t count) const {
    return tokenizer
        .decode(std::span(tokens).first(count), tokenizer::SpecialTokens::Shown)
        .size();
  }

  size_t find(size_t at, bool whole) const {
    return isExact ? byBytes(at, whole) : byPrefix(at, whole);
  }

  /// Tokens stand for bytes of the text, one after the other.
  size_t byBytes(size_t at, bool whole) const {
    size_t low = 0, high = tokens.size();
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      bool isBefore = whole ? bytesOf(middle) < at : bytesOf(middle + 1) <= at;
      if (isBefore)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  /// The tokenizer changes texts: by what the text up to there encodes to.
  size_t byPrefix(size_t at, bool whole) const {
    std::vector<int32_t> before;
    tokenizer.encodeMarkup(std::string_view(text).substr(0, at), before);
    auto [differs, unused] = std::mismatch(before.begin(), before.end(),
                                           tokens.begin(), tokens.end());
    auto same = size_t(differs - before.begin());
    bool isCut = same < before.size();
    return std::min(same + (whole && isCut), tokens.size());
  }

  const tokenizer::Tokenizer &tokenizer;
  const std::string &text;
  const std::vector<int32_t> &tokens;
  bool isExact;
};
} // namespace

/// What the tokenizer puts before a prompt, whatever its text.
static std::vector<int32_t>
tokensBefore(const tokenizer::Tokenizer &tokenizer) {
  constexpr std::string_view text = "a";
  std::vector<int32_t> prompt, tokens;
  tokenizer.encodePrompt(text, prompt);
  tokenizer.encodeMarkup(text, tokens);
  auto own = std::ranges::search(prompt, tokens);
  if (own.empty())
    return {};
  return {prompt.begin(), own.begin()};
}

LearnedTokens data::encodeConversation(const tokenizer::Tokenizer &tokenizer,
                                       const chat::Conversation &conversation,
                                       bool isBegun) {
  LearnedTokens result;
  tokenizer.encodeMarkup(conversation.text, result.tokens);
  result.learned.assign(result.tokens.size(), 0);
  TokenPlaces places(tokenizer, conversation.text, result.tokens);
  for (auto [begin, end] : conversation.answers) {
    if (begin == end)
      continue;
    size_t first = places.firstAt(begin), last = places.firstBehind(end);
    for (size_t i = first; i < last; ++i)
      result.learned[i] = 1;
  }
  if (isBegun) {
    std::vector<int32_t> before = tokensBefore(tokenizer);
    result.tokens.insert(result.tokens.begin(), before.begin(), before.end());
    result.learned.insert(result.learned.begin(), before.size(), 0);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

Status ConversationPacker::close(size_t index) {
  LearnedTokens sequence = std::move(open[index]);
  open.erase(open.begin() + ptrdiff_t(index));
  sequence.tokens.resize(length, end);
  sequence.learned.resize(length, 0);
  return sink(sequence);
}

void ConversationPacker::cut(LearnedTokens &conversation) {
  if (conversation.tokens.size() <= length - 1)
    return;
  ++cutShort;
  conversation.tokens.resize(length - 1);
  auto left = uint64_t(std::ranges::count(conversation.tokens, images.token));
  if (!conversation.images.empty()) {
    conversation.tokens.resize(length - 1 - left % images.tokensPerImage);
    conversation.images.resize(left / images.tokensPerImage);
  }
  conversation.learned.resize(conversation.tokens.size());
}

Status ConversationPacker::add(LearnedTokens conversation) {
  ++added;
  cut(conversation);
  conversation.tokens.push_back(end);
  conversation.learned.push_back(0);
  size_t size = conversation.tokens.size(), best = open.size();
  uint64_t bestRoom = length + 1;
  for (size_t i = 0; i < open.size(); ++i) {
    uint64_t room = length - open[i].tokens.size();
    bool hasPlaces =
        conversation.images.empty() ||
        open[i].images.size() + conversation.images.size() <= images.most;
    if (room >= size && room < bestRoom && hasPlaces)
      best = i, bestRoom = room;
  }
  if (best == open.size()) {
    if (open.size() == mostOpen) {
      auto fullest =
          std::max_element(open.begin(), open.end(),
                           [](const LearnedTokens &a, const LearnedTokens &b) {
                             return a.tokens.size() < b.tokens.size();
                           });
      HOCKET_RETURN_IF_ERROR(close(size_t(fullest - open.begin())));
    }
    best = open.size();
    open.emplace_back();
  }
  LearnedTokens &into = open[best];
  into.tokens.insert(into.tokens.end(), conversation.tokens.begin(),
                     conversation.tokens.end());
  into.learned.insert(into.learned.end(), conversation.learned.begin(),
                      conversation.learned.end());
  into.images.insert(into.images.end(), conversation.images.begin(),
                     conversation.images.end());
  return into.tokens.size() == length ? close(best) : okStatus();
}

Status ConversationPacker::finish() {
  while (!open.empty())
    HOCKET_RETURN_IF_ERROR(close(0));
  return okStatus();
}
