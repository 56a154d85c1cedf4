//===- ThroughputFile.cpp - Rows of tables as problems --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/RowNumbers.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

Status readMeasured(RowNumbers &cells, ThroughputRow &row) {
  StepShape &step = row.problem.step;
  row.problem.devices = cells.whole("# GPUs");
  step.globalBatch = cells.whole("global batch");
  step.sequence = cells.whole("sequence length");
  row.problem.model =
      megatronGpt(cells.whole("# layers"), cells.whole("hidden size"),
                  cells.whole("attention heads"), step.sequence);
  row.plan.microBatch = cells.whole("micro batch");
  row.plan.tp = cells.whole("tensor parallelism");
  row.plan.dp = cells.whole("data parallelism");
  row.plan.pp = cells.whole("pipeline parallelism");
  row.measured = cells.real("iteration time (ms)") * 1e-3;
  row.systemName = "a100";
  bool manyNodes = row.problem.devices > 8;
  row.group = manyNodes ? "measured many nodes" : "measured one node";
  // Checkpointing of activations was on where models need it.
  row.plan.recompute = manyNodes ? Recompute::Full : Recompute::None;
  // What the simulator that made the rows of one node has, of GPT-2's tokens
  // and without padding or ties (VIA-Research/vTrain, src/config.py and
  // predictor.py).
  if (!manyNodes) {
    row.recipe.traced = true;
    row.problem.model.vocab = 50257;
    row.problem.model.tied = false;
  }
  return cells.status();
}

std::string labelOf(const ThroughputRow &row) {
  const ModelShape &model = row.problem.model;
  std::string name = model.name.empty() ? std::to_string(model.layers) + "x" +
                                              std::to_string(model.hidden)
                                        : model.name;
  if (!row.part.empty())
    return name + " " + row.part;
  return name + " " + std::to_string(row.problem.devices) + " gbs" +
         std::to_string(row.problem.step.globalBatch) + " " +
         printPlan(row.plan);
}

} // namespace

StatusOr<std::vector<ThroughputRow>>
planning::readThroughput(const std::string &file, const std::string &text) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<TableRow> table, readTable(file, text));
  if (table.empty())
    return invalidArgument(file + ": no rows");
  bool measured = table[0].contains("iteration time (ms)");
  if (!measured && !table[0].contains("tflops_per_gpu"))
    return invalidArgument(
        file + ": neither a column `iteration time (ms)` nor `tflops_per_gpu`");
  for (const char *column :
       {"# GPUs", "global batch", "micro batch", "hidden size",
        "attention heads", "# layers", "sequence length", "tensor parallelism",
        "data parallelism", "pipeline parallelism"})
    if (measured && !table[0].contains(column))
      return invalidArgument(file + ": no column `" + column + "`");
  std::vector<ThroughputRow> rows;
  for (const TableRow &line : table) {
    RowNumbers cells(file, line);
    ThroughputRow row;
    row.line = std::stoll(line.at("line"));
    if (measured) {
      HOCKET_RETURN_IF_ERROR(readMeasured(cells, row));
      rows.push_back(std::move(row));
    } else {
      HOCKET_RETURN_IF_ERROR(readPublished(cells, std::move(row), rows));
    }
  }
  if (!measured)
    skipTuningSteps(table, rows);
  for (ThroughputRow &row : rows)
    row.label = labelOf(row);
  return rows;
}
