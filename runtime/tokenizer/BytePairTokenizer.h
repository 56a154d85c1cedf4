//===- BytePairTokenizer.h - Byte-level BPE ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tokenizers of GPT-2, Llama-3 and Qwen: a text is normalized, cut into
/// words by a regular expression, and the bytes of each word are merged.
///
/// Nearly every word of a language is one token, and a look-up of the whole
/// word says so: the merges of each token's own bytes are done once, when the
/// vocabulary is read. What is left is remembered by each thread.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_BYTEPAIRTOKENIZER_H
#define HOCKET_RUNTIME_TOKENIZER_BYTEPAIRTOKENIZER_H

#include "runtime/tokenizer/BytePairMerges.h"
#include "runtime/tokenizer/BytePairSearch.h"
#include "runtime/tokenizer/PromptTemplate.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/AddedTokens.h"
#include "runtime/tokenizer/text/Unicode.h"
#include "runtime/tokenizer/text/Vocabulary.h"
#include "runtime/tokenizer/text/WordSplitter.h"

#include <array>

namespace hocket::tokenizer {

/// What a file says of a byte-level BPE.
struct BytePairModel {
  Vocabulary vocabulary; ///< Of bytes, not of the characters that files have.
  BytePairMerges merges;
  AddedTokens added;
  std::optional<NormalForm> normalForm;
  WordPattern pattern = WordPattern::Gpt2;
  bool singleDigits = false;   ///< Digits are words of their own beforehand.
  bool ignoreMerges = false;   ///< A word that is a token is that token.
  bool addPrefixSpace = false; ///< A text begins with a space.
  PromptTemplate prompt;
  std::optional<int32_t> endOfDocument;
};

class BytePairTokenizer : public Tokenizer {
public:
  /// InvalidArgument if a byte has no token.
  static StatusOr<std::unique_ptr<Tokenizer>> create(BytePairModel model);

  std::string name() const override { return "byte-level BPE"; }
  uint64_t vocabularySize() const override { return size; }
  std::optional<int32_t> endOfDocument() const override {
    return model.endOfDocument;
  }
  void encode(std::string_view text, std::vector<int32_t> &tokens,
              TextPart part) const override;
  bool findsSpecialTokens() const override { return true; }
  void encodeMarkup(std::string_view text,
                    std::vector<int32_t> &tokens) const override {
    encodeText(text, /*withSpecial=*/true, tokens);
  }
  void encodePrompt(std::string_view text,
                    std::vector<int32_t> &tokens) const override;
  std::string decode(std::span<const int32_t> tokens,
                     SpecialTokens special) const override;
  size_t splitPoint(std::string_view text) const override;
  std::optional<std::string> tokenText(int32_t token) const override;
  std::vector<std::pair<std::string, std::string>> describe() const override;

private:
  struct Memory;

  explicit BytePairTokenizer(BytePairModel given);
  Memory &memory() const;
  void findWholeWords();
  void encodeText(std::string_view text, bool withSpecial,
                  std::vector<int32_t> &tokens) const;
  void encodeWords(std::string_view text, Memory &memory,
                   std::vector<int32_t> &tokens) const;
  void encodeWord(std::string_view word, Memory &memory,
                  std::vector<int32_t> &tokens) const;
  void mergeWord(std::string_view word, Memory &memory,
                 std::vector<int32_t> &tokens) const;

  BytePairModel model;
  WordSplitter splitter;
  std::array<int32_t, 256> tokenOfByte;
  std::vector<bool> isWholeWord; ///< A word that is this token's text is it.
  BytePairSearch search;
  uint64_t size = 0;
  uint64_t serial; ///< No other tokenizer of this process has it.
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_BYTEPAIRTOKENIZER_H
