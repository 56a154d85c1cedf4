//===- SentenceWords.h - Words that say where sentences end -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What splitting a text into sentences knows of languages: abbreviations of
/// English, German, French, Spanish, Portuguese, Italian, Dutch and Russian,
/// and words that often begin a sentence.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_SENTENCEWORDS_H
#define HOCKET_RUNTIME_DATA_TEXT_SENTENCEWORDS_H

#include <string_view>

namespace hocket::data {

/// What a full stop behind a word says.
enum class StopAfter {
  Word,         ///< No abbreviation: that the sentence ends.
  Title,        ///< Always goes on: "Mr.", "e.g.", "z.B.".
  BeforeNumber, ///< Goes on before a number: "No. 5", "Fig. 2".
  Either,       ///< Ends where a frequent first word follows: "etc.", "U.S.".
};

/// `word` is what stands before the stop, without it: "Mr", "e.g", "J". Letters
/// are compared in lower case.
StopAfter stopAfter(std::string_view word);

/// Whether `word` often begins a sentence, spelt as it does there: "The".
bool oftenBeginsSentence(std::string_view word);

/// Whether `word` follows a day or an ordinal with a stop in German: "Mai".
bool followsOrdinal(std::string_view word);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_SENTENCEWORDS_H
