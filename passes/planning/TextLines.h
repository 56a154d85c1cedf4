//===- TextLines.h - Problems and plans as text -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The syntax that the text forms of this folder share: lines of words with
/// blanks between them; '#' starts a comment; empty lines mean nothing. Every
/// error is `file:line:column: Q30: ...`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_TEXTLINES_H
#define HOCKET_PASSES_PLANNING_TEXTLINES_H

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::planning {

/// A word as messages quote it, without what a terminal would interpret.
std::string quoted(std::string_view text);

/// A word and its place, both counted from 1.
struct TextWord {
  std::string_view text;
  int64_t line = 1;
  int64_t column = 1;
};

using TextLine = std::vector<TextWord>;

/// A line `key NUMBER` with a whole number, and where that goes.
struct WholeLine {
  std::string_view key;
  int64_t least, most;
  int64_t *field;
};

/// A text cut into words; refers to the text, which must outlive it.
class TextLines {
public:
  /// `file` is what messages call the text.
  TextLines(std::string_view file, std::string_view text);

  /// The lines that have words.
  const std::vector<TextLine> &lines() const { return all; }

  Status errorAt(const TextWord &word, const std::string &message) const;
  /// At the end of the text, for what is missing.
  Status errorAtEnd(const std::string &message) const;

  /// An error of the whole text, which has a number of its own: its place is
  /// the end.
  Status located(const Status &error) const;

  /// The first line is `title`, and nothing else.
  Status expectTitle(std::string_view title) const;
  /// `line` has from `least` to `most` words, the first counted.
  Status expectWords(const TextLine &line, size_t least, size_t most) const;

  /// Calls `read` with each line after the title. Refuses a second one that
  /// begins with the same word, unless that is `repeats`.
  Status readOnce(std::string_view title,
                  const std::function<Status(const TextLine &)> &read,
                  std::string_view repeats = {}) const;
  /// Reads a line of two words if it is one of `known`; false if not.
  StatusOr<bool> takeWhole(const TextLine &line,
                           const std::vector<WholeLine> &known) const;

  /// A whole number from `least` to `most`.
  StatusOr<int64_t> whole(const TextWord &word, int64_t least,
                          int64_t most) const;
  /// A number from 0 to `most`.
  StatusOr<double> number(const TextWord &word, double most) const;

private:
  std::string file;
  std::vector<TextLine> all;
  TextWord end;
};

/// The shortest text that reads back as the same number.
std::string writtenNumber(double value);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_TEXTLINES_H
