//===- PublishedRecipes.cpp - What rows leave to their recipes ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tables of Megatron-Bridge tell the axes of a run, and its recipe
/// (Megatron-Bridge, scripts/performance/configs) the rest: what is captured in
/// CUDA graphs, who exchanges tokens, and what the backward pass computes
/// again.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/RowNumbers.h"

#include "runtime/cluster/Systems.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

using enum RecomputeModule;
constexpr RecomputeModules kCheap = {LayerNorm, MoeActivation};
constexpr RecomputeModules kAttentionToo = {LayerNorm, MoeActivation,
                                            CoreAttention};
constexpr RecomputeModules kExpertsToo = {LayerNorm, MoeActivation,
                                          CoreAttention, Moe};

/// Of runs of a model on a system, from release `from` to before release `to`.
struct Published {
  std::string_view model, system; ///< As modelLetters() has it.
  std::string_view from, to;
  RowRecipe recipe;
  RecomputeModules again = {};
};

constexpr Published recipes[] = {
    // Tokens go by all-to-all, on H100 beside the other microbatch's GEMMs.
    {"QWEN3235BA22B", "h100", "26", "27", {.exchange = Exchange::Overlapped}},
    {"QWEN3235BA22B",
     "b200",
     "25.10",
     "27",
     {.graphs = Graphs::None, .exchange = Exchange::AllToAll}},
    {"QWEN3235BA22B",
     "b300",
     "25.10",
     "27",
     {.graphs = Graphs::None, .exchange = Exchange::AllToAll}},
    {"DEEPSEEKV3", "h100", "25", "27", {.exchange = Exchange::OnceOverlapped}},
    {"DEEPSEEKV3", "b200", "26", "26.03", {.graphs = Graphs::None}},
    {"GPTOSS120B", "h100", "26", "27", {}, kCheap},
    {"GPTOSS120B", "b200", "26", "27", {.graphs = Graphs::None}, kCheap},
    {"GPTOSS120B", "gb200", "26", "26.05", {.graphs = Graphs::None}, kCheap},
    {"GPTOSS120B", "b300", "26", "27", {.graphs = Graphs::Parts}},
    {"NEMOTRON3SUPER", "gb200", "26", "27", {}, kExpertsToo},
    {"NEMOTRON3SUPER",
     "b200",
     "26",
     "27",
     {.graphs = Graphs::None},
     kAttentionToo},
};

} // namespace

void planning::applyRecipe(const RowNumbers &cells, const std::string &release,
                           ThroughputRow &row) {
  constexpr std::string_view bridge = "Bridge-";
  std::string model = modelLetters(cells.text("model"));
  if (!cells.text("set").starts_with(bridge))
    return;
  // Experts of fixed capacity: sizes are known, and the host waits for none.
  if (cells.text("model").find("tokendrop") != std::string::npos) {
    row.recipe.exchange = Exchange::AllToAll;
    row.recipe.fixedSizes = true;
    return;
  }
  for (const Published &one : recipes) {
    if (one.model != model || one.system != row.systemName ||
        release < one.from || release >= one.to)
      continue;
    row.recipe = one.recipe;
    if (!one.again.empty() && !cells.has("recompute")) {
      row.plan.recompute = Recompute::Selective;
      row.plan.modules = one.again;
      row.recipe.wholeExpertsAgain = one.again.has(Moe);
    }
  }
}

cluster::System planning::systemOfRow(const ThroughputRow &row,
                                      const cluster::System &system) {
  cluster::System found = cluster::systemAtRelease(system, row.release);
  cluster::Software &software = *found.mutable_software();
  auto at = [&](const char *release) {
    return cluster::systemAtRelease(system, release).software();
  };
  const cluster::Software oldest = at("25");
  if (row.recipe.graphs != Graphs::OfRelease) {
    cluster::Software like =
        row.recipe.graphs == Graphs::None ? oldest : at("26.04");
    software.set_kernel_seconds(like.kernel_seconds());
    software.set_host_op_seconds(like.host_op_seconds());
    software.set_host_collective_seconds(like.host_collective_seconds());
    software.set_expert_host_seconds(like.expert_host_seconds());
  }
  if (row.recipe.exchange != Exchange::OfRelease) {
    software.set_dispatch_once(row.recipe.exchange == Exchange::OnceOverlapped);
    bool beside = row.recipe.exchange != Exchange::AllToAll;
    software.set_expert_overlap(beside ? system.software().expert_overlap()
                                       : oldest.expert_overlap());
  }
  if (row.recipe.fixedSizes)
    software.set_expert_host_seconds(0);
  software.set_whole_experts_again(row.recipe.wholeExpertsAgain);
  return found;
}
