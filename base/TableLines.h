//===- TableLines.h - Lines of tables with tabs -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_TABLELINES_H
#define HOCKET_BASE_TABLELINES_H

#include <string_view>
#include <vector>

namespace hocket {

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

#endif // HOCKET_BASE_TABLELINES_H
