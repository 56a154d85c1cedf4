//===- Sentences.cpp - A text as sentences --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/Sentences.h"

#include "runtime/data/text/SentenceWords.h"
#include "runtime/tokenizer/text/Unicode.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::data;
using tokenizer::Character;

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

static constexpr std::u32string_view wideStops = U"。！？．｡";
static constexpr std::u32string_view spacedStops = U".!?…‽।॥؟۔։።";
static constexpr std::u32string_view closers = U"\"')]}”’»›«“」』）】》〉］";
static constexpr std::u32string_view wideBrackets = U"」』）】";
static constexpr std::u32string_view openers =
    U"\"'([{“‘«‹„‚”»›¿¡「『（【《〈［*•";
static constexpr std::u32string_view dashes = U"-–—";

static bool isOneOf(std::u32string_view set, uint32_t code) {
  return set.find(char32_t(code)) != set.npos;
}

static bool is(uint32_t code, uint8_t kinds) {
  return tokenizer::characterKinds()[code] & kinds;
}

static bool isSpace(uint32_t code) { return is(code, tokenizer::Space); }

/// By the first byte of a character, whether a sentence may end with it.
static const std::array<bool, 256> &firstBytes() {
  static const std::array<bool, 256> table = [] {
    std::array<bool, 256> bytes{};
    bytes['\n'] = true;
    for (std::u32string_view set : {wideStops, spacedStops})
      for (char32_t code : set) {
        std::string text;
        tokenizer::appendCharacter(uint32_t(code), text);
        bytes[uint8_t(text[0])] = true;
      }
    return bytes;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// The scanner
//===----------------------------------------------------------------------===//

namespace {

/// What is known about a place where a sentence may end.
enum class Verdict { Ends, GoesOn, Undecided };

class Scanner {
public:
  Scanner(std::string_view text, bool goesOn) : text(text), goesOn(goesOn) {}

  std::optional<Sentence> first();

private:
  /// Longer words are looked at so far only; none in the tables is.
  static constexpr size_t longestWord = 64;
  static constexpr size_t longestNote = 8;
  static constexpr size_t lookAhead = 16;

  Character at(size_t place) const {
    return tokenizer::characterAt(text.data() + place,
                                  text.data() + text.size());
  }
  template <typename Accepts> size_t skip(size_t place, Accepts accepts) const {
    while (place < text.size() && accepts(at(place).code))
      place += at(place).bytes;
    return place;
  }
  size_t skipSpace(size_t place) const { return skip(place, isSpace); }
  size_t skipSpaceOfLine(size_t place) const {
    return skip(place,
                [](uint32_t code) { return code != '\n' && isSpace(code); });
  }
  /// Whether what stands from `place` on may not be all that belongs to it.
  bool isNearEnd(size_t place) const {
    return goesOn ? text.size() - place < lookAhead : place >= text.size();
  }
  size_t skipClosers(size_t place) const;
  size_t noteEnd(size_t place) const;
  size_t skipOpeners(size_t place) const;
  std::string_view wordBefore(size_t stop) const;
  std::string_view wordAt(size_t place) const;

  Verdict judge(size_t stop);
  Verdict judgeWide(size_t stop);
  Verdict judgeSpaced(size_t stop);
  Verdict judgeNext(size_t stop, size_t close, size_t next) const;
  Verdict judgeAbbreviation(std::string_view word, size_t next) const;
  size_t trimmed(size_t until) const;
  bool isEmptyLine(size_t lineFeed) const;

  std::string_view text;
  bool goesOn;
  size_t begin = 0; ///< Of the sentence.
  size_t end = 0;   ///< Of what judge() has looked at: stop and closers.
};

} // namespace

/// Behind the quotes and brackets, notes like [3], and French » at `place`.
size_t Scanner::skipClosers(size_t place) const {
  while (true) {
    place = skip(place, [](uint32_t code) { return isOneOf(closers, code); });
    size_t note = noteEnd(place);
    if (note == place)
      break;
    place = note;
  }
  size_t quote = skipSpaceOfLine(place);
  if (quote == place || quote >= text.size() || !isOneOf(U"»›", at(quote).code))
    return place;
  size_t behind = quote + at(quote).bytes;
  return behind < text.size() && isSpace(at(behind).code) ? behind : place;
}

/// Behind "[3]" at `place`, or `place`.
size_t Scanner::noteEnd(size_t place) const {
  if (place >= text.size() || text[place] != '[')
    return place;
  size_t digits =
      skip(place + 1, [](uint32_t code) { return code >= '0' && code <= '9'; });
  bool isNote = digits > place + 1 && digits - place < longestNote &&
                digits < text.size() && text[digits] == ']';
  return isNote ? digits + 1 : place;
}

/// Also dashes with the white space of the line behind them.
size_t Scanner::skipOpeners(size_t place) const {
  while (place < text.size()) {
    Character c = at(place);
    if (isOneOf(dashes, c.code))
      place = skipSpaceOfLine(place + c.bytes);
    else if (isOneOf(openers, c.code))
      place += c.bytes;
    else
      break;
  }
  return place;
}

/// What stands before `stop`, from white space or something that opens on.
std::string_view Scanner::wordBefore(size_t stop) const {
  size_t from = stop;
  while (from > begin && stop - from < longestWord) {
    size_t bytes =
        tokenizer::bytesBefore(text.data() + begin, text.data() + from);
    uint32_t code = at(from - bytes).code;
    if (isSpace(code) || isOneOf(openers, code) || isOneOf(dashes, code) ||
        code == '/')
      break;
    from -= bytes;
  }
  return text.substr(from, stop - from);
}

/// The word at `place`, with stops in it but without what else follows: "A." of
/// "A., and", "It" of "It's".
std::string_view Scanner::wordAt(size_t place) const {
  size_t last = skip(place, [](uint32_t code) {
    return code == '.' || is(code, tokenizer::WordCharacter);
  });
  return text.substr(place, std::min(last - place, longestWord));
}

/// Whether nothing but white space is in the line behind `lineFeed`.
bool Scanner::isEmptyLine(size_t lineFeed) const {
  size_t place = lineFeed + 1;
  while (place < text.size() && text[place] != '\n' && isSpace(at(place).code))
    place += at(place).bytes;
  return place < text.size() && text[place] == '\n';
}

/// Of a full stop of Chinese or Japanese.
Verdict Scanner::judgeWide(size_t stop) {
  size_t close = skip(stop, [](uint32_t code) {
    return isOneOf(wideStops, code) || isOneOf(spacedStops, code);
  });
  end = skipClosers(close);
  if (isNearEnd(end))
    return Verdict::Undecided;
  uint32_t next = at(end).code;
  bool isInNumber = at(stop).code == U'．' && is(next, tokenizer::Number);
  bool isInBrackets = end > close && isOneOf(wideBrackets, at(close).code);
  if (isInNumber || (isInBrackets && !isSpace(next) && !isOneOf(openers, next)))
    return Verdict::GoesOn;
  return Verdict::Ends;
}

/// Rules d and e: of `word` and ".", with the next word at `next`.
Verdict Scanner::judgeAbbreviation(std::string_view word, size_t next) const {
  std::string_view follows = wordAt(next);
  uint32_t first = at(next).code;
  bool isNumber =
      !word.empty() && word.find_first_not_of("0123456789.,") == word.npos;
  if (isNumber)
    return word.size() <= 2 && followsOrdinal(follows) ? Verdict::GoesOn
                                                       : Verdict::Ends;
  switch (stopAfter(word)) {
  case StopAfter::Word:
    return Verdict::Ends;
  case StopAfter::Title:
    return Verdict::GoesOn;
  case StopAfter::BeforeNumber:
    return is(first, tokenizer::Number) ? Verdict::GoesOn : Verdict::Ends;
  case StopAfter::Either:
    return oftenBeginsSentence(follows) ? Verdict::Ends : Verdict::GoesOn;
  }
  return Verdict::Ends;
}

/// Rules a to e: of the stops from `stop` to `close`, with the next word at
/// `next`.
Verdict Scanner::judgeNext(size_t stop, size_t close, size_t next) const {
  uint32_t first = at(next).code;
  // A symbol like $ or an emoji begins a sentence.
  if (tokenizer::isLowerCase(first) || is(first, tokenizer::Punctuation))
    return Verdict::GoesOn;
  if (close != stop + 1 || text[stop] != '.')
    return Verdict::Ends;
  std::string_view word = wordBefore(stop);
  bool isOfList =
      word.size() == 1 || word.find_first_not_of("0123456789.") == word.npos;
  if (!word.empty() && isOfList && skipOpeners(begin) + word.size() == stop)
    return Verdict::GoesOn;
  return judgeAbbreviation(word, next);
}

/// Of a stop that wants white space behind it.
Verdict Scanner::judgeSpaced(size_t stop) {
  size_t close =
      skip(stop, [](uint32_t code) { return isOneOf(spacedStops, code); });
  end = skipClosers(close);
  size_t next = skipSpace(end);
  if (isNearEnd(next))
    return Verdict::Undecided;
  if (next == end)
    return Verdict::GoesOn;
  next = skipOpeners(next);
  std::string_view follows = wordAt(next);
  bool isCut =
      follows.size() < longestWord && next + follows.size() >= text.size();
  if (goesOn && isCut)
    return Verdict::Undecided;
  return next < text.size() ? judgeNext(stop, close, next) : Verdict::Ends;
}

/// Of the character at `stop`, which may end a sentence by its first byte.
Verdict Scanner::judge(size_t stop) {
  Character c = at(stop);
  end = stop + c.bytes;
  if (c.code == '\n') {
    end = stop;
    return isEmptyLine(stop) ? Verdict::Ends : Verdict::GoesOn;
  }
  if (isOneOf(wideStops, c.code))
    return judgeWide(stop);
  if (isOneOf(spacedStops, c.code))
    return judgeSpaced(stop);
  return Verdict::GoesOn;
}

/// `until`, without the white space of the sentence before it.
size_t Scanner::trimmed(size_t until) const {
  while (until > begin) {
    size_t bytes =
        tokenizer::bytesBefore(text.data() + begin, text.data() + until);
    if (!isSpace(at(until - bytes).code))
      break;
    until -= bytes;
  }
  return until;
}

std::optional<Sentence> Scanner::first() {
  const std::array<bool, 256> &mayEnd = firstBytes();
  begin = skipSpace(0);
  size_t place = begin;
  while (place < text.size()) {
    if (!mayEnd[uint8_t(text[place])]) {
      ++place;
      continue;
    }
    Verdict verdict = judge(place);
    if (verdict == Verdict::Undecided)
      break;
    if (verdict == Verdict::Ends) {
      size_t next = skipSpace(end);
      if (isNearEnd(next))
        break;
      return Sentence{begin, trimmed(end), next};
    }
    place = std::max(end, place + 1);
  }
  if (goesOn || begin == text.size())
    return std::nullopt;
  return Sentence{begin, trimmed(text.size()), text.size()};
}

//===----------------------------------------------------------------------===//
// Whole texts
//===----------------------------------------------------------------------===//

std::optional<Sentence> data::firstSentence(std::string_view text,
                                            bool goesOn) {
  return Scanner(text, goesOn).first();
}

std::vector<std::string_view> data::splitSentences(std::string_view text,
                                                   bool keepsSpace) {
  std::vector<std::string_view> sentences;
  while (std::optional<Sentence> sentence = firstSentence(text)) {
    size_t from = keepsSpace && sentences.empty() ? 0 : sentence->begin;
    size_t until = keepsSpace ? sentence->next : sentence->end;
    sentences.push_back(text.substr(from, until - from));
    text.remove_prefix(sentence->next);
  }
  return sentences;
}

/// Without the bytes of a last character that is not whole.
static std::string_view wholeCharacters(std::string_view text) {
  size_t last = text.size();
  while (last > 0 && text.size() - last < 4 &&
         (uint8_t(text[last - 1]) & 0xc0) == 0x80)
    --last;
  return last > 0 && uint8_t(text[last - 1]) >= 0xc0 ? text.substr(0, last - 1)
                                                     : text;
}

/// Behind the last empty line that has something before it and behind it, or 0.
/// To find that needs nothing of the sentences before it.
static size_t lastParagraph(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\v\f";
  std::optional<Sentence> any = firstSentence(text);
  size_t begin = any ? any->begin : text.size();
  size_t next = 0, lineFeeds = 0;
  for (size_t at = text.size(); at > begin; --at) {
    char c = text[at - 1];
    if (spaces.find(c) == spaces.npos) {
      // What is not ASCII may be white space.
      next = uint8_t(c) < 0x80 ? at - 1 : 0;
      lineFeeds = 0;
    } else if (c == '\n' && ++lineFeeds == 2 && next > 0) {
      return next;
    }
  }
  return 0;
}

size_t data::lastSentenceEnd(std::string_view text) {
  text = wholeCharacters(text);
  if (size_t at = lastParagraph(text))
    return at;
  size_t at = 0;
  while (auto sentence = firstSentence(text.substr(at), /*goesOn=*/true))
    at += sentence->next;
  return at;
}
