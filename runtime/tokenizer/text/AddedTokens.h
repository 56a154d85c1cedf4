//===- AddedTokens.h - Tokens that are found before words -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// tokenizer.json's added tokens: strings that are cut out of a text before
/// anything else is done with it. Of those that begin at one place the longest
/// is taken. Special ones are text in documents and tokens in prompts.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_ADDEDTOKENS_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_ADDEDTOKENS_H

#include "runtime/tokenizer/text/Trie.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tokenizer {

struct AddedToken {
  int32_t id = 0;
  std::string text;
  std::string pattern;     ///< What is searched for, if not `text`.
  bool singleWord = false; ///< Not within a word.
  bool stripLeft = false;  ///< With the white space before it.
  bool stripRight = false; ///< With the white space behind it.
  bool normalized = false; ///< Found in the text once that is normalized.
  bool special = false;
};

class AddedTokens {
public:
  /// False if they are too many or too long.
  bool build(std::vector<AddedToken> tokens);

  const std::vector<AddedToken> &all() const { return tokens; }
  const AddedToken *find(int32_t id) const;
  const AddedToken *find(std::string_view text) const;

  /// What a text is cut into.
  struct Handlers {
    std::function<void(std::string_view)> text; ///< Never empty.
    std::function<void(int32_t)> token;
  };

  /// Cuts `text` at the tokens that are found in normalized text, or at those
  /// that are not.
  void split(std::string_view text, bool normalized, bool withSpecial,
             const Handlers &handlers) const;

private:
  struct Group {
    Trie trie; ///< Of indices of `tokens`.
    std::array<bool, 256> begins = {};
  };

  std::vector<AddedToken> tokens;
  std::map<int32_t, size_t> byId;
  std::array<Group, 2> groups; ///< Found before and after normalizing.
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_ADDEDTOKENS_H
