//===- ThroughputFile.cpp - Rows of tables as problems --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/ThroughputFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Reads the numbers of one row; remembers the first that is wrong.
class RowNumbers {
public:
  RowNumbers(const std::string &file, const TableRow &row)
      : row(row), place(file + ":" + row.at("line")) {}

  bool has(const std::string &column) const {
    auto cell = row.find(column);
    return cell != row.end() && !cell->second.empty();
  }
  std::string text(const std::string &column) const {
    auto cell = row.find(column);
    return cell == row.end() ? "" : cell->second;
  }
  double real(const std::string &column) {
    const std::string &cell = row.at(column);
    double value = 0;
    auto [end, error] =
        std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() ||
        !(value > 0 && value < 1e12))
      fail(column, "is not a number above 0");
    return value;
  }
  int64_t whole(const std::string &column) {
    double value = real(column);
    if (value != std::floor(value) || value > 2147483648.0)
      fail(column, "is not a whole number from 1 to 2^31");
    return failed.ok() ? int64_t(value) : 1;
  }
  int64_t wholeOr(const std::string &column, int64_t otherwise) {
    return has(column) ? whole(column) : otherwise;
  }
  Status status() const { return failed; }

private:
  void fail(const std::string &column, const std::string &what) {
    if (failed.ok())
      failed = invalidArgument(place + ": " + column + " '" + text(column) +
                               "' " + what);
  }
  const TableRow &row;
  std::string place;
  Status failed;
};

/// A GPT of Megatron's: heads of hidden / heads, four times as wide inside, its
/// head tied to the embedding.
ModelShape gpt(int64_t layers, int64_t hidden, int64_t heads,
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

Status readMeasured(RowNumbers &cells, ThroughputRow &row) {
  StepShape &step = row.problem.step;
  row.problem.devices = cells.whole("# GPUs");
  step.globalBatch = cells.whole("global batch");
  step.sequence = cells.whole("sequence length");
  row.problem.model = gpt(cells.whole("# layers"), cells.whole("hidden size"),
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
  return cells.status();
}

std::string systemOf(const std::string &text) {
  for (const char *name :
       {"GB300", "GB200", "B300", "B200", "H200", "H100", "A100", "V100"})
    if (text.find(name) != std::string::npos) {
      std::string lower = name;
      for (char &c : lower)
        c = char(std::tolower(static_cast<unsigned char>(c)));
      return lower;
    }
  return text;
}

/// The row's own sizes, or those of the model it names.
Status readModel(RowNumbers &cells, ThroughputRow &row) {
  ModelShape &model = row.problem.model;
  std::string name = cells.text("model"), why;
  if (std::optional<ModelShape> known = publishedModel(name, why)) {
    model = *known;
  } else if (cells.has("heads") && cells.has("hidden") && cells.has("layers") &&
             cells.text("ep").empty()) {
    model = gpt(cells.whole("layers"), cells.whole("hidden"),
                cells.whole("heads"), row.problem.step.sequence);
    if (cells.has("ffn"))
      model.ffn = cells.whole("ffn");
  } else {
    row.skipped = why;
  }
  model.name = name;
  if (cells.has("vocab"))
    model.vocab = cells.whole("vocab");
  return cells.status();
}

Recompute recomputeOf(const std::string &text, bool old) {
  if (text.starts_with("full"))
    return Recompute::Full;
  if (text.starts_with("selective"))
    return Recompute::Selective;
  return old ? Recompute::Full : Recompute::None;
}

void readPlan(RowNumbers &cells, ThroughputRow &row) {
  ParallelPlan &plan = row.plan;
  bool old = row.systemName == "a100" || row.systemName == "v100";
  plan.tp = cells.wholeOr("tp", 1);
  plan.pp = cells.wholeOr("pp", 1);
  plan.cp = cells.wholeOr("cp", 1);
  plan.ep = cells.wholeOr("ep", 1);
  plan.chunks = plan.pp == 1 ? 1 : cells.wholeOr("vp", 1);
  plan.microBatch = cells.wholeOr("mbs", 1);
  plan.dp =
      std::max<int64_t>(1, row.problem.devices / (plan.tp * plan.pp * plan.cp));
  // Published systems keep experts whole on every tensor rank by default.
  if (row.problem.model.experts > 0)
    plan.expertTp = plan.ep > 1 ? cells.wholeOr("etp", 1) : 1;
  if (plan.expertTp == plan.tp)
    plan.expertTp = 0;
  plan.recompute = recomputeOf(cells.text("recompute"), old);
  std::string recompute = cells.text("recompute");
  bool sharesSequence = recompute.find("SP") != std::string::npos || !old;
  plan.sequenceParallel = plan.tp > 1 && sharesSequence;
  plan.zero = old ? 0 : 1;
  std::string shards = cells.text("fsdp");
  if (!shards.empty() && shards != "0")
    plan.zero = 3;
  row.anyAxes = !cells.has("tp") && !cells.has("pp");
  row.anyMicroBatch = !cells.has("mbs");
  row.anyChunks = plan.pp > 1 && !cells.has("vp") && !old;
  row.problem.step.elementBits =
      cells.text("precision").find("8") != std::string::npos ? 8 : 16;
}

/// The run's seconds, from whatever the row publishes.
void readQuantity(RowNumbers &cells, ThroughputRow &row) {
  const CostProblem &problem = row.problem;
  double devices = double(problem.devices);
  if (cells.has("iter_time_s")) {
    row.measured = cells.real("iter_time_s");
  } else if (cells.has("tokens_per_s_per_gpu")) {
    row.measured =
        problem.step.tokens() / (devices * cells.real("tokens_per_s_per_gpu"));
  } else if (cells.has("tflops_per_gpu")) {
    // Megatron-Core counts attention once from release 0.12 on; the tables
    // without a time are all later.
    row.measured = modelFlops(problem.model, problem.step) /
                   (devices * cells.real("tflops_per_gpu") * 1e12);
  } else if (cells.has("mfu_pct")) {
    double peak = row.systemName == "a100" ? 312e12 : 989e12;
    row.measured = modelFlopsFullSquare(problem.model, problem.step) /
                   (devices * peak * cells.real("mfu_pct") / 100);
  } else {
    row.skipped = "no time, rate or utilisation";
  }
}

std::string publishedGroup(const ThroughputRow &row) {
  std::string group = "published ";
  group += row.systemName == "v100"   ? "V100"
           : row.systemName == "a100" ? "A100"
           : row.systemName == "h100" ? "H100"
                                      : row.systemName;
  if (row.problem.model.experts > 0)
    group += " experts";
  else if (row.systemName != "a100")
    group += " dense";
  if (row.problem.step.elementBits == 8)
    group += " fp8";
  return group;
}

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

/// The two tables of the 2205.05198 paper's figures: parts of memory by name.
bool readMemoryRow(const RowNumbers &cells, ThroughputRow row,
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
  row.problem.model = gpt(known->layers, known->hidden, known->heads, 2048);
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

/// What a row leaves out is what an earlier row of the same model on the same
/// system says, at as many sequences a data-parallel rank.
void borrow(const RowNumbers &cells, ThroughputRow &row,
            const std::vector<ThroughputRow> &rows) {
  const ModelShape &model = row.problem.model;
  auto other = std::find_if(rows.rbegin(), rows.rend(), [&](const auto &o) {
    return o.systemName == row.systemName && o.skipped.empty() &&
           o.quantity == Quantity::Seconds &&
           o.problem.model.layers == model.layers &&
           o.problem.model.hidden == model.hidden;
  });
  bool lacks = !cells.has("tp") || !cells.has("gbs");
  if (!lacks || other == rows.rend())
    return;
  ParallelPlan &plan = row.plan;
  if (!cells.has("tp") && !cells.has("pp")) {
    plan.tp = other->plan.tp;
    plan.pp = other->plan.pp;
    plan.sequenceParallel = other->plan.sequenceParallel;
    row.anyAxes = false;
    row.anyChunks = other->anyChunks;
    plan.dp = std::max<int64_t>(1, row.problem.devices / (plan.tp * plan.pp));
  }
  if (!cells.has("vp"))
    plan.chunks = other->plan.chunks;
  if (!cells.has("mbs")) {
    plan.microBatch = other->plan.microBatch;
    row.anyMicroBatch = other->anyMicroBatch;
  }
  if (!cells.has("gbs"))
    row.problem.step.globalBatch =
        other->problem.step.globalBatch / other->plan.dp * plan.dp;
}

Status readPublished(RowNumbers &cells, ThroughputRow row,
                     std::vector<ThroughputRow> &rows) {
  if (readMemoryRow(cells, row, rows))
    return okStatus();
  row.systemName = systemOf(cells.text("system"));
  row.problem.devices = cells.wholeOr("gpus", 1);
  // The runs of 2020 had 1,024 tokens (arXiv 1909.08053).
  bool first = cells.text("set").starts_with("2020");
  row.problem.step.sequence = cells.wholeOr("seq", first ? 1024 : 1);
  row.problem.step.globalBatch = cells.wholeOr("gbs", 1);
  HOCKET_RETURN_IF_ERROR(cells.status());
  HOCKET_RETURN_IF_ERROR(readModel(cells, row));
  readPlan(cells, row);
  HOCKET_RETURN_IF_ERROR(cells.status());
  row.group = publishedGroup(row);
  if (row.skipped.empty() && !cells.has("gpus"))
    row.skipped = "the number of devices is not told";
  if (row.skipped.empty() && cells.text("precision").find('4') == 5)
    row.skipped = "4-bit GEMMs are not priced";
  borrow(cells, row, rows);
  if (row.skipped.empty())
    readQuantity(cells, row);
  rows.push_back(std::move(row));
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
  for (ThroughputRow &row : rows)
    row.label = labelOf(row);
  return rows;
}
