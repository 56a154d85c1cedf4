//===- PublishedRows.cpp - Rows of published tables as problems -----------===//
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

/// The first size that the row tells and that is not the model's; else empty.
std::string contradiction(RowNumbers &cells, const ModelShape &model) {
  struct Told {
    const char *column;
    int64_t known;
  };
  bool hybrid = model.stateSpace.blocks > 0; // Whose blocks are all layers.
  for (const Told &told :
       {Told{"hidden", model.hidden}, Told{"heads", model.heads},
        Told{"layers", hybrid ? 0 : model.layers - model.predicted}})
    if (told.known > 0 && cells.has(told.column) &&
        cells.whole(told.column) != told.known)
      return std::string(told.column) + " " + cells.text(told.column) +
             " is not that of " + cells.text("model") + ", " +
             std::to_string(told.known);
  return "";
}

/// The sizes of the model that the row names, or the row's own.
Status readModel(RowNumbers &cells, ThroughputRow &row) {
  ModelShape &model = row.problem.model;
  std::string name = cells.text("model"), why;
  if (std::optional<ModelShape> known = publishedModel(name, why)) {
    model = *known;
    row.skipped = contradiction(cells, model);
  } else if (cells.has("heads") && cells.has("hidden") && cells.has("layers") &&
             cells.text("ep").empty()) {
    model = megatronGpt(cells.whole("layers"), cells.whole("hidden"),
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

/// "full...", "selective...", or modules as Megatron's logs write them:
/// "norm,act".
void readRecompute(const std::string &text, bool old, ParallelPlan &plan) {
  plan.recompute = old ? Recompute::Full : Recompute::None;
  if (text.starts_with("full"))
    plan.recompute = Recompute::Full;
  else if (text.starts_with("selective"))
    plan.recompute = Recompute::Selective;
  if (text.starts_with("norm"))
    plan.modules.add(RecomputeModule::LayerNorm);
  if (text.ends_with("act"))
    plan.modules.add(RecomputeModule::MoeActivation);
  if (!plan.modules.empty())
    plan.recompute = Recompute::Selective;
}

/// Of notes as "DeepEP; EP overlap; VPP12"; else 0.
int64_t virtualStages(const std::string &notes) {
  size_t at = notes.find("VPP");
  int64_t stages = 0;
  if (at != std::string::npos)
    std::from_chars(notes.data() + at + 3, notes.data() + notes.size(), stages);
  return stages;
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
  std::string recompute = cells.text("recompute");
  readRecompute(recompute, old, plan);
  bool sharesSequence = recompute.find("SP") != std::string::npos || !old;
  plan.sequenceParallel = plan.tp > 1 && sharesSequence;
  plan.zero = old ? 0 : 1;
  std::string shards = cells.text("fsdp");
  if (!shards.empty() && shards != "0")
    plan.zero = 3;
  row.anyAxes = !cells.has("tp") && !cells.has("pp");
  row.anyMicroBatch = !cells.has("mbs");
  // Where Megatron-Bridge's tables have none, they say so: "n/a".
  bool isTold = cells.has("vp") || cells.text("set").starts_with("Bridge-");
  row.anyChunks = plan.pp > 1 && !isTold && !old;
  if (int64_t told = virtualStages(cells.text("notes")); told > 0) {
    plan.chunks = told;
    row.anyChunks = false;
  }
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

/// "published GB200 experts fp8".
std::string publishedGroup(const ThroughputRow &row) {
  std::string group = "published ";
  for (char c : row.systemName)
    group += char(std::toupper(static_cast<unsigned char>(c)));
  if (row.problem.model.experts > 0)
    group += " experts";
  else if (row.systemName != "a100")
    group += " dense";
  if (row.problem.step.elementBits == 8)
    group += " fp8";
  return group;
}

/// The release of the software that made the row: behind a set's name, as
/// "Bridge-26.04.01". Whole steps are CUDA graphs from 26.05 on where notes of
/// development versions say so, and never those of hybrid models, whose recipes
/// have graphs of parts of layers (Megatron-Bridge, scripts/performance).
std::string releaseOf(const RowNumbers &cells, const ModelShape &model) {
  constexpr std::string_view bridge = "Bridge-", parts = "26.04";
  std::string set = cells.text("set"), notes = cells.text("notes"), release;
  if (set.starts_with(bridge))
    release = set.substr(bridge.size());
  if (set == "moe_recipes-dev" && notes.find("full CG") == std::string::npos)
    release = parts;
  if (set == "modelzoo-qwen3" || set.starts_with("DSv3-GB200"))
    release = parts;
  if (model.stateSpace.blocks > 0 && release > parts)
    release = parts;
  return release;
}

/// What the row's notes say that has no price; else empty.
std::string unpriced(const RowNumbers &cells) {
  if (cells.text("notes").starts_with("LoRA"))
    return "low-rank fine-tuning is not priced";
  if (cells.text("precision").ends_with("FP4"))
    return "4-bit GEMMs are not priced";
  return "";
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

} // namespace

Status planning::readPublished(RowNumbers &cells, ThroughputRow row,
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
  row.release = releaseOf(cells, row.problem.model);
  readPlan(cells, row);
  applyRecipe(cells, row.release, row);
  HOCKET_RETURN_IF_ERROR(cells.status());
  row.group = publishedGroup(row);
  if (row.skipped.empty() && !cells.has("gpus"))
    row.skipped = "the number of devices is not told";
  if (row.skipped.empty())
    row.skipped = unpriced(cells);
  borrow(cells, row, rows);
  if (row.skipped.empty())
    readQuantity(cells, row);
  rows.push_back(std::move(row));
  return cells.status();
}

void planning::skipTuningSteps(const std::vector<TableRow> &table,
                               std::vector<ThroughputRow> &rows) {
  /// The set and model of a row that is a step of a log; else empty.
  auto logOf = [](const TableRow &cells) {
    auto text = [&](const char *column) {
      auto cell = cells.find(column);
      return cell == cells.end() ? std::string() : cell->second;
    };
    bool step = text("notes").starts_with("step ");
    return step ? text("set") + text("model") : "";
  };
  std::map<std::string, int64_t> last; // Lines.
  for (const TableRow &cells : table)
    if (std::string log = logOf(cells); !log.empty())
      last[log] = std::stoll(cells.at("line"));
  for (const TableRow &cells : table) {
    std::string log = logOf(cells);
    for (ThroughputRow &row : rows)
      if (!log.empty() && row.skipped.empty() &&
          row.line == std::stoll(cells.at("line")) && row.line != last[log])
        row.skipped = "a step of a tuning log before its last, whose software "
                      "is not described";
  }
}
