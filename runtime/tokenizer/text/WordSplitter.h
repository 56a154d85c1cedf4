//===- WordSplitter.h - Text to the words of a BPE --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The regular expressions that published tokenizers cut a text with, each as
/// code that finds the end of a word in one pass. The expression is known by
/// its exact text.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_WORDSPLITTER_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_WORDSPLITTER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tokenizer {

enum class WordPattern {
  Gpt2,
  Llama3, ///< At most three digits a word.
  Qwen2,  ///< One digit a word.
};

/// "gpt2", "llama3" or "qwen2".
std::string nameOf(WordPattern pattern);
std::optional<WordPattern> parseWordPattern(std::string_view name);

/// The regular expression as tokenizer.json writes it.
const std::string &expressionOf(WordPattern pattern);
std::optional<WordPattern> patternOf(std::string_view expression);

class WordSplitter {
public:
  explicit WordSplitter(WordPattern pattern);

  /// The end of the word that begins at `at`, which is below `end`.
  const char *wordEnd(const char *at, const char *end) const {
    return pattern == WordPattern::Gpt2 ? wordEndOfGpt2(at, end)
                                        : wordEndOfLlama(at, end);
  }

private:
  const char *wordEndOfGpt2(const char *at, const char *end) const;
  const char *wordEndOfLlama(const char *at, const char *end) const;
  const char *skipAll(const char *at, const char *end, uint8_t of) const;
  const char *skipOthers(const char *at, const char *end) const;
  const char *skipSpaces(const char *at, const char *end) const;
  const char *numberEnd(const char *at, const char *end) const;

  WordPattern pattern;
  const uint8_t *kinds;
};

/// The last place, at most text.size(), at which every pattern ends a word and
/// begins another, whatever follows `text`; 0 if there is none.
size_t lastWordEnd(std::string_view text);

/// The same, of places before a space alone.
size_t lastSpace(std::string_view text);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_WORDSPLITTER_H
