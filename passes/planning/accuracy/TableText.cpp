//===- TableText.cpp - Comma-separated tables -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/ThroughputFile.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Cuts one line into cells; a quoted cell may hold commas, and "" is a quote.
Status cellsOf(std::string_view line, std::vector<std::string> &cells) {
  std::string cell;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char next = line[i];
    if (quoted && next == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cell += '"';
      ++i;
    } else if (next == '"') {
      quoted = !quoted;
    } else if (next == ',' && !quoted) {
      cells.push_back(std::move(cell));
      cell.clear();
    } else {
      cell += next;
    }
  }
  if (quoted)
    return invalidArgument("a quoted cell does not end on its line");
  cells.push_back(std::move(cell));
  return okStatus();
}

} // namespace

StatusOr<std::vector<TableRow>> planning::readTable(const std::string &file,
                                                    const std::string &text) {
  std::vector<std::string> names;
  std::vector<TableRow> rows;
  size_t start = 0;
  for (int64_t line = 1; start < text.size(); ++line) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string_view written(text.data() + start, end - start);
    start = end + 1;
    if (written.ends_with('\r'))
      written.remove_suffix(1);
    if (written.empty())
      continue;
    std::vector<std::string> cells;
    std::string place = file + ":" + std::to_string(line);
    HOCKET_RETURN_IF_ERROR(cellsOf(written, cells).withContext(place));
    if (names.empty()) {
      names = std::move(cells);
      continue;
    }
    if (cells.size() != names.size())
      return invalidArgument(place + ": " + std::to_string(cells.size()) +
                             " cells under " + std::to_string(names.size()) +
                             " columns");
    TableRow &row = rows.emplace_back();
    row["line"] = std::to_string(line);
    for (size_t i = 0; i < names.size(); ++i)
      row[names[i]] = cells[i];
  }
  if (names.empty())
    return invalidArgument(file + ": no line of column names");
  return rows;
}
