//===- RowNumbers.cpp - The cells of a table's row ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/RowNumbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

bool RowNumbers::has(const std::string &column) const {
  auto cell = row.find(column);
  return cell != row.end() && !cell->second.empty();
}

std::string RowNumbers::text(const std::string &column) const {
  auto cell = row.find(column);
  return cell == row.end() ? "" : cell->second;
}

double RowNumbers::real(const std::string &column) {
  const std::string &cell = row.at(column);
  double value = 0;
  auto [end, error] =
      std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() ||
      !(value > 0 && value < 1e12))
    fail(column, "is not a number above 0");
  return value;
}

int64_t RowNumbers::whole(const std::string &column) {
  double value = real(column);
  if (value != std::floor(value) || value > 2147483648.0)
    fail(column, "is not a whole number from 1 to 2^31");
  return failed.ok() ? int64_t(value) : 1;
}

void RowNumbers::fail(const std::string &column, const std::string &what) {
  if (failed.ok())
    failed = invalidArgument(place + ": " + column + " '" + text(column) +
                             "' " + what);
}

ModelShape planning::megatronGpt(int64_t layers, int64_t hidden, int64_t heads,
                                 int64_t sequence) {
  ModelShape model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kvHeads = heads;
  model.headDim = std::max<int64_t>(1, hidden / heads);
  model.ffn = 4 * hidden;
  model.vocab = 51200; // GPT-2's, padded for 8 ranks as Megatron does.
  model.positions = sequence;
  return model;
}
