//===- Sentences.h - A text as sentences ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Splits text by rules, of any language, which guess right where a reader
/// would mostly agree. A sentence ends
///
///   1. before an empty line, whatever stands there, and with the text;
///   2. behind a full stop of Chinese or Japanese (。 ！ ？ ．) and what closes
///      behind it. Before 」 』 ） or 】 it goes on unless white space or
///      something that opens follows, as in 「何？」と言った;
///   3. behind . ! ? … or a full stop of another script (। ॥ ؟ ۔ ։ ።), more of
///      them, and what closes behind them (quotes, brackets, a note like [3]),
///      where white space follows.
///
/// A sentence does not end by rule 3
///
///   a. before a word in lower case: "Why?" he asked;
///   b. before a mark that begins no sentence: J. K., Esq.; and
///   c. where nothing but a number or a letter stands before the stop, as in
///      a list: 1. First
///   d. behind an abbreviation (SentenceWords.h). Some always go on (Mr. Dr.
///      e.g. z.B.), some go on before a number (No. 5), and others, single
///      letters and dotted ones (etc. Inc. J. U.S. p.m.), unless a word follows
///      that often begins a sentence: in the U.S. The
///   e. behind a number before a German month or century: am 3. Oktober
///
/// A stop without white space behind it (3.14, example.com) is none. The
/// sentence depends on nothing before it, so that a text may be cut between
/// sentences.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_SENTENCES_H
#define HOCKET_RUNTIME_DATA_TEXT_SENTENCES_H

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace hocket::data {

/// Whether a sentence is a sequence by itself of its document.
enum class SentenceSplit {
  None,      ///< A document is one sequence.
  Trimmed,   ///< Without the white space between sentences.
  WithSpace, ///< A sentence has the white space behind it.
};

/// Bytes of a text: white space, a sentence [begin, end), and the white space
/// up to the next one, which begins at `next`.
struct Sentence {
  size_t begin = 0, end = 0, next = 0;
};

/// The first sentence of `text`, which is UTF-8. Nothing if it is white space
/// alone. Of a text that `goesOn` behind its last byte also nothing where what
/// follows might make the sentence longer.
std::optional<Sentence> firstSentence(std::string_view text,
                                      bool goesOn = false);

/// All sentences of `text`, each without the white space around it; or with
/// `keepsSpace` with that behind it, and the first with that before it, so that
/// together they are the text.
std::vector<std::string_view> splitSentences(std::string_view text,
                                             bool keepsSpace = false);

/// Where a text that goes on behind `text` can be cut between sentences: as
/// far behind as that is certain, or 0.
size_t lastSentenceEnd(std::string_view text);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_SENTENCES_H
