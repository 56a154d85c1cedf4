//===- MemoryRows.cpp - Published parts of memory -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/RowNumbers.h"

#include <algorithm>
#include <charconv>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A model of arXiv 2205.05198, table 3, which its figures call by name alone.
struct FigureModel {
  std::string_view name;
  int64_t layers, hidden, heads, batch, pp, chunks, microBatch;
};
constexpr FigureModel figureModels[] = {
    {"megatron-22B", 48, 6144, 64, 4, 1, 1, 4},
    {"gpt3-175B", 96, 12288, 96, 64, 8, 3, 1},
    {"turing-530B", 105, 20480, 128, 280, 35, 3, 1},
    {"megatron-1T", 128, 25600, 160, 512, 64, 1, 1},
};

} // namespace

bool planning::readMemoryRow(const RowNumbers &cells, ThroughputRow row,
                             std::vector<ThroughputRow> &rows) {
  std::string set = cells.text("set"), name = cells.text("model");
  bool bytes = set == "SeqSel-Fig1-mem";
  if (!bytes && set != "SeqSel-Fig7-mem")
    return false;
  row.systemName = "a100";
  row.group = "published memory";
  row.quantity = bytes ? Quantity::Gibibytes : Quantity::Percent;
  row.problem.model.name = name;
  const auto *known = std::find_if(
      std::begin(figureModels), std::end(figureModels),
      [&](const FigureModel &model) { return model.name == name; });
  if (known == std::end(figureModels)) {
    row.skipped = "the sizes of " + name + " are not known";
    rows.push_back(std::move(row));
    return true;
  }
  row.problem.step = {2048, known->batch};
  row.problem.model =
      megatronGpt(known->layers, known->hidden, known->heads, 2048);
  row.problem.model.name = name;
  row.problem.devices = 8 * known->pp;
  row.plan.tp = 8;
  row.plan.pp = known->pp;
  row.plan.chunks = known->chunks;
  row.plan.microBatch = known->microBatch;
  std::string notes = cells.text("notes");
  size_t at = notes.find(':') + 1;
  while (at < notes.size()) {
    size_t equals = notes.find('=', at);
    if (equals == std::string::npos)
      break;
    size_t begin = notes.find_first_not_of(" ;", at);
    ThroughputRow part = row;
    part.part = notes.substr(begin, equals - begin);
    const char *end = notes.data() + notes.size();
    auto [rest, error] =
        std::from_chars(notes.data() + equals + 1, end, part.measured);
    at = size_t(rest - notes.data());
    if (error != std::errc())
      break;
    rows.push_back(std::move(part));
  }
  return true;
}
