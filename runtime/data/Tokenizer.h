//===- Tokenizer.h - Text to tokens and back --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What data preparation and text generation need of a tokenizer.
///
/// The tokenizer "byte": tokens 0 to 255 are the bytes of the UTF-8 text, and
/// token 256 ends a document; the vocabulary has 257 entries. Every text is
/// encoded without loss, one token a byte.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TOKENIZER_H
#define HOCKET_RUNTIME_DATA_TOKENIZER_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// Immutable once made: any number of threads may use one.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;

  /// Tokens are in [0, vocabularySize()).
  virtual uint64_t vocabularySize() const = 0;

  /// The token that ends a document.
  virtual int32_t endOfDocument() const = 0;

  /// Appends the tokens of `text`, which is valid UTF-8.
  virtual void encode(std::string_view text,
                      std::vector<int32_t> &tokens) const = 0;

  /// The text of `tokens`; a token that stands for no text gives none, one
  /// that does not exist gives U+FFFD.
  virtual std::string decode(std::span<const int32_t> tokens) const = 0;

  /// The greatest length, at most text.size(), at which `text` can be cut so
  /// that its parts encode to the tokens of the whole, whatever follows; never
  /// inside a UTF-8 character. 0 if more text must be seen first.
  virtual size_t splitPoint(std::string_view text) const = 0;
};

/// The tokenizer called `name`: "byte".
StatusOr<std::unique_ptr<Tokenizer>> createTokenizer(const std::string &name);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TOKENIZER_H
