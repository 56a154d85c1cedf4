//===- MemoryCsv.cpp - Buffers as rows ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryCsv.h"

#include "passes/planning/TextLines.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A cell and its place, counted from 1.
struct Cell {
  std::string_view text;
  int64_t line = 0, column = 0;
};

using Row = std::vector<Cell>;

enum Column {
  Id,
  Lower,
  Upper,
  End,
  Size,
  Alignment,
  Offset,
  Gaps,
  Host,
  Within,
  Arena,
  Hint,
  ColumnCount
};

struct ColumnName {
  std::string_view name;
  Column column;
};

constexpr ColumnName kColumns[] = {
    {"id", Id},         {"buffer_id", Id}, {"buffer", Id},
    {"lower", Lower},   {"start", Lower},  {"upper", Upper},
    {"end", End},       {"size", Size},    {"alignment", Alignment},
    {"offset", Offset}, {"gaps", Gaps},    {"host", Host},
    {"within", Within}, {"arena", Arena},  {"hint", Hint},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Row cellsOf(std::string_view line, int64_t number) {
  Row cells;
  for (size_t at = 0; at <= line.size();) {
    size_t end = std::min(line.find(',', at), line.size());
    std::string_view text = trimmed(line.substr(at, end - at));
    int64_t column =
        text.empty() ? static_cast<int64_t>(at) : text.data() - line.data();
    cells.push_back({text, number, column + 1});
    at = end + 1;
  }
  return cells;
}

class Reader {
public:
  Reader(std::string_view file, std::string_view text)
      : file(file), lines(linesOf(text)) {}

  StatusOr<MemoryTable> read();

private:
  Status errorAt(const Cell &cell, const std::string &message) const {
    return invalidArgument(
        file + ":" + std::to_string(cell.line) + ":" +
        std::to_string(cell.column) + ": Q60: " + message +
        (cell.text.empty() ? std::string() : ", found " + quoted(cell.text)));
  }

  Status readHead(const Row &row);
  Status readRow(const Row &row);
  Status readGaps(const Cell &cell, MemoryBuffer &buffer) const;
  Status readHost(size_t index);
  StatusOr<int64_t> whole(const Cell &cell, int64_t least, int64_t most) const;
  /// Leaves `value` as it is where the table has no such cell.
  Status readWhole(const Row &row, Column column, int64_t &value) const;
  const Cell *cellOf(const Row &row, Column column) const {
    return at[column] < 0 || row[at[column]].text.empty() ? nullptr
                                                          : &row[at[column]];
  }

  std::string file;
  std::vector<std::string_view> lines;
  std::vector<int> at = std::vector<int>(ColumnCount, -1);
  size_t width = 0;
  MemoryTable table;
  std::vector<Row> rows;
  std::unordered_map<std::string_view, int64_t> byName;
};

Status Reader::readHead(const Row &row) {
  for (size_t i = 0; i < row.size(); ++i) {
    auto named = [&](const ColumnName &c) { return c.name == row[i].text; };
    auto found = std::find_if(std::begin(kColumns), std::end(kColumns), named);
    if (found == std::end(kColumns))
      return errorAt(row[i], "expected id, lower, upper, size, alignment, "
                             "offset, gaps, host, within, arena or hint");
    if (at[found->column] >= 0)
      return errorAt(row[i], "expected each column once");
    at[found->column] = static_cast<int>(i);
  }
  width = row.size();
  if (at[Upper] >= 0 && at[End] >= 0)
    return errorAt(row[at[End]], "expected one of upper and end");
  Cell after = row.back();
  after.column += static_cast<int64_t>(after.text.size());
  after.text = {};
  for (Column column : {Id, Lower, Size})
    if (at[column] < 0)
      return errorAt(after, "expected a column " +
                                std::string(column == Id      ? "id"
                                            : column == Lower ? "lower"
                                                              : "size"));
  if (at[Upper] < 0 && at[End] < 0)
    return errorAt(after, "expected a column upper");
  return okStatus();
}

StatusOr<int64_t> Reader::whole(const Cell &cell, int64_t least,
                                int64_t most) const {
  int64_t value = 0;
  const char *first = cell.text.data(), *last = first + cell.text.size();
  auto [stop, error] = std::from_chars(first, last, value);
  if (error != std::errc() || stop != last || value < least || value > most)
    return errorAt(cell, "expected a whole number from " +
                             std::to_string(least) + " to " +
                             std::to_string(most));
  return value;
}

Status Reader::readWhole(const Row &row, Column column, int64_t &value) const {
  if (const Cell *cell = cellOf(row, column)) {
    HOCKET_ASSIGN_OR_RETURN(value, whole(*cell, 0, kMostUnits));
  }
  return okStatus();
}

/// `2-5`, `2-5@0:512`, with blanks between several.
Status Reader::readGaps(const Cell &cell, MemoryBuffer &buffer) const {
  std::string_view rest = cell.text;
  while (!(rest = trimmed(rest)).empty()) {
    size_t length = std::min(rest.find_first_of(" \t"), rest.size());
    Cell word{rest.substr(0, length), cell.line,
              cell.column + (rest.data() - cell.text.data())};
    rest.remove_prefix(length);
    size_t window = std::min(word.text.find('@'), word.text.size());
    std::string_view time = word.text.substr(0, window);
    size_t dash = time.find('-'), colon = word.text.find(':', window);
    bool hasWindow = window < word.text.size();
    if (dash == std::string_view::npos ||
        (hasWindow && colon == std::string_view::npos))
      return errorAt(word, "expected a gap like 2-5 or 2-5@0:512");
    auto number = [&](size_t first, size_t last) {
      Cell part{word.text.substr(first, last - first), word.line,
                word.column + static_cast<int64_t>(first)};
      return whole(part, 0, kMostUnits);
    };
    MemoryGap gap;
    HOCKET_ASSIGN_OR_RETURN(gap.lower, number(0, dash));
    HOCKET_ASSIGN_OR_RETURN(gap.upper, number(dash + 1, window));
    if (hasWindow) {
      HOCKET_ASSIGN_OR_RETURN(gap.first, number(window + 1, colon));
      HOCKET_ASSIGN_OR_RETURN(gap.last, number(colon + 1, word.text.size()));
    }
    buffer.gaps.push_back(gap);
  }
  return okStatus();
}

Status Reader::readRow(const Row &row) {
  if (row.size() != width)
    return errorAt(row.back(), "expected " + std::to_string(width) +
                                   " cells, as in the first line, not " +
                                   std::to_string(row.size()));
  for (Column column : {Id, Lower, at[Upper] >= 0 ? Upper : End, Size})
    if (row[at[column]].text.empty())
      return errorAt(row[at[column]], "expected a value");
  if (static_cast<int64_t>(rows.size()) == kMostBuffers)
    return errorAt(row[0], "expected at most " + std::to_string(kMostBuffers) +
                               " buffers");
  const Cell &id = row[at[Id]];
  if (!byName.insert({id.text, static_cast<int64_t>(rows.size())}).second)
    return errorAt(id, "expected each id once");
  MemoryBuffer buffer;
  HOCKET_RETURN_IF_ERROR(readWhole(row, Lower, buffer.lower));
  HOCKET_RETURN_IF_ERROR(readWhole(row, Upper, buffer.upper));
  HOCKET_RETURN_IF_ERROR(readWhole(row, End, buffer.upper));
  if (at[End] >= 0)
    ++buffer.upper;
  HOCKET_RETURN_IF_ERROR(readWhole(row, Size, buffer.size));
  HOCKET_RETURN_IF_ERROR(readWhole(row, Within, buffer.within));
  HOCKET_RETURN_IF_ERROR(readWhole(row, Alignment, buffer.alignment));
  if (const Cell *cell = cellOf(row, Offset)) {
    HOCKET_ASSIGN_OR_RETURN(buffer.offset, whole(*cell, 0, kMostUnits));
  }
  if (const Cell *cell = cellOf(row, Gaps))
    HOCKET_RETURN_IF_ERROR(readGaps(*cell, buffer));
  if (const Cell *cell = cellOf(row, Arena))
    buffer.arena = cell->text;
  const Cell *within = cellOf(row, Within);
  if (within && !cellOf(row, Host))
    return errorAt(*within, "expected a host beside it");
  table.problem.buffers.push_back(std::move(buffer));
  table.names.emplace_back(id.text);
  rows.push_back(row);
  return okStatus();
}

Status Reader::readHost(size_t index) {
  const Cell *cell = cellOf(rows[index], Host);
  if (!cell)
    return okStatus();
  auto host = byName.find(cell->text);
  if (host == byName.end())
    return errorAt(*cell, "expected the id of a buffer");
  table.problem.buffers[index].host = host->second;
  return okStatus();
}

StatusOr<MemoryTable> Reader::read() {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty())
      continue;
    Row row = cellsOf(lines[i], static_cast<int64_t>(i) + 1);
    HOCKET_RETURN_IF_ERROR(width == 0 ? readHead(row) : readRow(row));
  }
  if (width == 0)
    return errorAt({{}, 1, 1}, "expected a first line like "
                               "id,lower,upper,size");
  for (size_t i = 0; i < rows.size(); ++i)
    HOCKET_RETURN_IF_ERROR(readHost(i));
  int64_t sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto place = [&](const Cell &cell) {
      return file + ":" + std::to_string(cell.line) + ":" +
             std::to_string(cell.column);
    };
    if (Status checked = checkMemoryBuffer(table.problem, i); !checked.ok())
      return checked.withContext(place(rows[i][0]));
    sum += table.problem.buffers[i].size;
    if (sum > kMostUnits)
      return errorAt(rows[i][at[Size]],
                     "expected sizes whose sum is within 2^60");
  }
  return std::move(table);
}

} // namespace

StatusOr<MemoryTable> hocket::planning::readMemoryCsv(std::string_view file,
                                                      std::string_view text) {
  return Reader(file, text).read();
}

std::string hocket::planning::writeMemoryCsv(std::string_view text,
                                             const MemoryOffsets &offsets) {
  std::string written;
  size_t column = std::string_view::npos, next = 0;
  bool isHead = true, isNew = false;
  for (std::string_view line : linesOf(text)) {
    if (trimmed(line).empty())
      continue;
    Row row = cellsOf(line, 0);
    if (isHead) {
      auto at = std::find_if(row.begin(), row.end(), [](const Cell &cell) {
        return cell.text == "offset";
      });
      column = at - row.begin();
      isNew = at == row.end();
    }
    std::string value = isHead ? "offset" : std::to_string(offsets[next++]);
    for (size_t i = 0; i < row.size(); ++i)
      written += (i == 0 ? "" : ",") +
                 (i == column ? value : std::string(row[i].text));
    written += (isNew ? "," + value : std::string()) + "\n";
    isHead = false;
  }
  return written;
}
