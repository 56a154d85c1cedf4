//===- WordPieceTokenizer.h - BERT's tokenizer ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A text is cleaned, cut at white space and punctuation, and each word is the
/// longest piece of the vocabulary that it begins with, then the longest that
/// what is left begins with, marked as a continuation. A word that cannot be
/// had this way is the unknown token.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_WORDPIECETOKENIZER_H
#define HOCKET_RUNTIME_TOKENIZER_WORDPIECETOKENIZER_H

#include "runtime/tokenizer/PromptTemplate.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/AddedTokens.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tokenizer/text/Trie.h"
#include "runtime/tokenizer/text/Vocabulary.h"

namespace hocket::tokenizer {

/// What BERT does to a text before it is cut.
struct BertOptions {
  bool cleanText = true;       ///< Without control characters.
  bool spaceIdeographs = true; ///< Each Chinese character is a word.
  bool lowerCase = true;
  bool stripAccents = true;
};

struct WordPieceModel {
  Vocabulary vocabulary;
  AddedTokens added;
  std::optional<BertOptions> bert;
  std::string continuation = "##"; ///< Before pieces that begin no word.
  std::string unknownText = "[UNK]";
  size_t mostCharacters = 100; ///< A longer word is unknown.
  PromptTemplate prompt;
  std::optional<int32_t> endOfDocument;
};

class WordPieceTokenizer : public Tokenizer {
public:
  /// InvalidArgument if the vocabulary lacks the unknown token, or is too large
  /// to be searched.
  static StatusOr<std::unique_ptr<Tokenizer>> create(WordPieceModel model);

  std::string name() const override { return "WordPiece"; }
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
  std::optional<std::vector<bool>> wordContinuations() const override;
  std::vector<std::pair<std::string, std::string>> describe() const override;

private:
  explicit WordPieceTokenizer(WordPieceModel given);
  bool buildTries();
  std::string clean(std::string_view text) const;
  void encodeText(std::string_view text, bool withSpecial,
                  std::vector<int32_t> &tokens) const;
  void encodeWords(std::string_view text, std::vector<int32_t> &tokens) const;
  void encodeWord(std::string_view word, std::vector<int32_t> &tokens) const;

  WordPieceModel model;
  Trie beginnings, continuations;
  int32_t unknown = noToken;
  uint64_t size = 0;
};

/// vocab.txt: a token a line. `lowerCase` is what tokenizer_config.json says;
/// without it, a vocabulary without upper-case letters is of lower-cased text.
StatusOr<std::unique_ptr<Tokenizer>>
readWordPieceFile(const SourceText &file, std::optional<bool> lowerCase);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_WORDPIECETOKENIZER_H
