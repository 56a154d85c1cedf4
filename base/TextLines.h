//===- TextLines.h - Lines of texts and of tables ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_TEXTLINES_H
#define HOCKET_BASE_TEXTLINES_H

#include <algorithm>
#include <string_view>
#include <vector>

namespace hocket {

/// Cuts the first line off `rest`, with its end, which the result lacks.
inline std::string_view takeLine(std::string_view &rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

/// The cells of a line, between its tabs; at least one. A carriage return at
/// the end is no part of the last.
inline std::vector<std::string_view> cellsOfLine(std::string_view line) {
  std::vector<std::string_view> cells;
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  for (;;) {
    size_t tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == line.npos)
      return cells;
    line.remove_prefix(tab + 1);
  }
}

} // namespace hocket

#endif // HOCKET_BASE_TEXTLINES_H
