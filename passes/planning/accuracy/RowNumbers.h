//===- RowNumbers.h - The cells of a table's row ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_ROWNUMBERS_H
#define HOCKET_PASSES_PLANNING_ACCURACY_ROWNUMBERS_H

#include "passes/planning/accuracy/ThroughputFile.h"

namespace hocket::planning {

/// Reads the numbers of one row; remembers the first that is wrong. The row
/// outlives it.
class RowNumbers {
public:
  RowNumbers(const std::string &file, const TableRow &row)
      : row(row), place(file + ":" + row.at("line")) {}

  bool has(const std::string &column) const;
  std::string text(const std::string &column) const;
  /// Above 0.
  double real(const std::string &column);
  /// From 1 to 2^31; 1 where it is none.
  int64_t whole(const std::string &column);
  int64_t wholeOr(const std::string &column, int64_t otherwise) {
    return has(column) ? whole(column) : otherwise;
  }
  /// InvalidArgument: the first cell that is wrong, and its line.
  Status status() const { return failed; }

private:
  void fail(const std::string &column, const std::string &what);

  const TableRow &row;
  std::string place;
  Status failed;
};

/// A GPT of Megatron's: heads of hidden / heads, four times as wide inside, its
/// head tied to the embedding.
ModelShape megatronGpt(int64_t layers, int64_t hidden, int64_t heads,
                       int64_t sequence);

/// Letters and digits of a model's name in capitals, up to what is in brackets,
/// without folders: "QWEN330BA3B".
std::string modelLetters(const std::string &name);

/// Fills in what rows of Megatron-Bridge leave to the recipes of their models,
/// systems and releases.
void applyRecipe(const RowNumbers &cells, const std::string &release,
                 ThroughputRow &row);

/// Reads one line of the published layout into `rows`, after those that stand
/// above it: none, one, or one for each part of memory that it names.
Status readPublished(RowNumbers &cells, ThroughputRow row,
                     std::vector<ThroughputRow> &rows);

/// The same of figures of arXiv 2205.05198: parts of memory by name. False, and
/// nothing, where the line is of another set.
bool readMemoryRow(const RowNumbers &cells, ThroughputRow row,
                   std::vector<ThroughputRow> &rows);

/// Of each log of tuning, whose rows are states of one plan's software, leaves
/// the last row, and says of the others why they are not predicted.
void skipTuningSteps(const std::vector<TableRow> &table,
                     std::vector<ThroughputRow> &rows);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_ROWNUMBERS_H
