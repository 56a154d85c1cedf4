//===- Tokenizer.h - Text to tokens and back --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What data preparation and text generation need of a tokenizer. docs/
/// tokenizers.md says which files are read and what is done with them.
///
/// The tokenizer "byte": tokens 0 to 255 are the bytes of the UTF-8 text, and
/// token 256 ends a document; the vocabulary has 257 entries. Every text is
/// encoded without loss, one token a byte.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TOKENIZER_H
#define HOCKET_RUNTIME_TOKENIZER_TOKENIZER_H

#include "base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::tokenizer {

/// Where a part of a document stands, which some tokenizers begin with a space.
enum class TextPart { First, Later };

/// What decode() makes of tokens that stand for no text.
enum class SpecialTokens { Skipped, Shown };

/// Immutable once made: any number of threads may use one.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// "byte", "byte-level BPE", "WordPiece", "SentencePiece BPE" or
  /// "SentencePiece unigram".
  virtual std::string name() const = 0;

  /// Tokens are in [0, vocabularySize()).
  virtual uint64_t vocabularySize() const = 0;

  /// The token that ends a document, if the vocabulary has one.
  virtual std::optional<int32_t> endOfDocument() const = 0;

  /// Appends the tokens of a part of a document, which is valid UTF-8. What
  /// looks like a special token in it is text.
  virtual void encode(std::string_view text, std::vector<int32_t> &tokens,
                      TextPart part = TextPart::First) const = 0;

  /// Whether encodeMarkup() finds special tokens in a text.
  virtual bool findsSpecialTokens() const { return false; }

  /// Appends the tokens of a text whose special tokens are found in it, and
  /// puts nothing around it: of what a chat template makes.
  virtual void encodeMarkup(std::string_view text,
                            std::vector<int32_t> &tokens) const {
    encode(text, tokens);
  }

  /// Appends the tokens of a prompt: special tokens are found in it, and it is
  /// put between those that the tokenizer's template asks for.
  virtual void encodePrompt(std::string_view text,
                            std::vector<int32_t> &tokens) const {
    encode(text, tokens);
  }

  /// The bytes that `tokens` stand for; a token that does not exist gives
  /// U+FFFD. They are UTF-8 if the tokens are those of a text.
  virtual std::string
  decode(std::span<const int32_t> tokens,
         SpecialTokens special = SpecialTokens::Skipped) const = 0;

  /// The greatest length, at most text.size(), at which `text` can be cut so
  /// that its parts encode to the tokens of the whole, whatever follows; never
  /// inside a UTF-8 character. 0 if more text must be seen first.
  virtual size_t splitPoint(std::string_view text) const = 0;

  /// A token as its vocabulary writes it, or nullopt if there is none.
  virtual std::optional<std::string> tokenText(int32_t token) const = 0;

  /// Of each token of the vocabulary, whether it continues the word of the one
  /// before it; nullopt where tokens do not say that of themselves.
  virtual std::optional<std::vector<bool>> wordContinuations() const {
    return std::nullopt;
  }

  /// What a person wants to know of it beside the above, as names and values.
  virtual std::vector<std::pair<std::string, std::string>> describe() const {
    return {};
  }

  /// SHA-256, in hexadecimal, of the files that it was made of; "byte" for
  /// bytes. Equal digests give equal tokens.
  const std::string &digest() const { return fileDigest; }

  /// Called once, by who has read the files.
  void setDigest(std::string digest) { fileDigest = std::move(digest); }

private:
  std::string fileDigest;
};

/// The tokenizer "byte", or that of a file or folder: tokenizer.json,
/// tokenizer.model, vocab.json with merges.txt, or vocab.txt, which a folder is
/// searched for in this order. InvalidArgument, with file, line and column
/// where there is one, for files that hold anything else.
StatusOr<std::unique_ptr<Tokenizer>> openTokenizer(const std::string &path);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TOKENIZER_H
