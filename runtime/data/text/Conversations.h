//===- Conversations.h - Conversations as packed sequences ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A conversation becomes the tokens of what the model's chat template makes of
/// it, and a mark for each that is part of an answer. A token that begins
/// before an answer and reaches into it belongs to it, as transformers has it.
///
/// Conversations are packed: a sequence of S tokens holds as many whole ones as
/// fit, each ended by the token that ends a document, and behind them as many
/// of that as it takes. So no conversation is cut, and a sequence is a sample.
/// Of images a sequence has at most so many.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_CONVERSATIONS_H
#define HOCKET_RUNTIME_DATA_TEXT_CONVERSATIONS_H

#include "base/Status.h"
#include "runtime/chat/ChatTemplate.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace hocket::data {

/// Tokens, and whether each is learned (1) or not (0).
struct LearnedTokens {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> learned;
  std::vector<uint32_t> images = {}; ///< Their numbers, in order.
};

/// The tokens of a conversation, without what ends it; with `isBegun` behind
/// those that the tokenizer puts before a prompt.
LearnedTokens encodeConversation(const tokenizer::Tokenizer &tokenizer,
                                 const chat::Conversation &conversation,
                                 bool isBegun = false);

/// What a sequence has of images: their tokens, and how many of them.
struct PackedImages {
  int32_t token = -1;
  uint64_t tokensPerImage = 1;
  uint64_t most = 0;
};

/// Packs conversations into sequences of one length, best fit first; they leave
/// in an order that depends on the conversations and theirs alone.
class ConversationPacker {
public:
  using Sink = std::function<Status(const LearnedTokens &sequence)>;

  /// `length` is at least 2.
  ConversationPacker(uint64_t length, int32_t end, Sink sink,
                     const PackedImages &images = {})
      : length(length), end(end), sink(std::move(sink)), images(images) {}

  /// Cuts a longer conversation to `length` tokens, its end included; an image
  /// that does not fit is cut off whole.
  void cut(LearnedTokens &conversation);
  /// A longer conversation is cut. It has at most as many images as a sequence.
  Status add(LearnedTokens conversation);
  Status finish();

  uint64_t conversations() const { return added; }
  uint64_t conversationsCut() const { return cutShort; }

private:
  Status close(size_t index);

  uint64_t length;
  int32_t end;
  Sink sink;
  PackedImages images;
  std::vector<LearnedTokens> open; ///< Sequences with room left, oldest first.
  uint64_t added = 0, cutShort = 0;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_CONVERSATIONS_H
