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
constexpr RecomputeModules kExperts = {LayerNorm, Moe};
constexpr RecomputeModules kExpertsToo = {LayerNorm, MoeActivation,
                                          CoreAttention, Moe};

/// Of runs of a model on a system, from release `from` to before release `to`.
struct Published {
  std::string_view model, system; ///< As modelLetters() has it.
  std::string_view from, to;
  RowRecipe recipe;
  RecomputeModules again = {};
};

constexpr RowRecipe kEagerAllToAll = {.graphs = Graphs::None,
                                      .exchange = Exchange::AllToAll};
constexpr RowRecipe kEagerOverlapped = {.graphs = Graphs::None,
                                        .exchange = Exchange::Overlapped};

constexpr Published recipes[] = {
    // By all-to-all, on H100 beside the other microbatch's GEMMs throughout, on
    // B200 and B300 until that was found to cost more than it hid.
    {"QWEN3235BA22B", "h100", "25.10", "27", kEagerOverlapped},
    {"QWEN3235BA22B", "b200", "25.10", "26", kEagerOverlapped},
    {"QWEN3235BA22B", "b200", "26", "27", kEagerAllToAll},
    {"QWEN3235BA22B", "b300", "25.10", "26.03", kEagerOverlapped},
    {"QWEN3235BA22B", "b300", "26.03", "27", kEagerAllToAll},
    // HybridEP and graphs of parts, a release before others had them.
    {"QWEN3235BA22B",
     "gb200",
     "25.10",
     "26",
     {.graphs = Graphs::Parts, .exchange = Exchange::Once}},
    // The same until its recipe changed to HybridEP, after 26.02.
    {"QWEN330BA3B", "h100", "25.10", "26.02.01", kEagerOverlapped},
    {"QWEN330BA3B", "h100", "26.02.01", "27", {.exchange = Exchange::Once}},
    // Heads of latent attention are made again until whole steps are graphs, on
    // GB200 and H100 throughout. On H100 no collective is beside others' work:
    // tp_comm_overlap and overlap_grad_reduce are off.
    {"DEEPSEEKV3",
     "h100",
     "25",
     "27",
     {.exchange = Exchange::OnceOverlapped,
      .latentAgain = true,
      .tensorApart = true,
      .dataApart = true}},
    {"DEEPSEEKV3", "gb200", "25", "27", {.latentAgain = true}},
    {"DEEPSEEKV3", "gb300", "25", "26.05", {.latentAgain = true}},
    {"DEEPSEEKV3", "gb300", "26.05", "27", {.attention8 = true}},
    {"DEEPSEEKV3", "b300", "25", "26.05", {.latentAgain = true}},
    {"DEEPSEEKV3", "b200", "25", "26", {.latentAgain = true}},
    {"DEEPSEEKV3",
     "b200",
     "26",
     "26.03",
     {.graphs = Graphs::None, .latentAgain = true}},
    {"DEEPSEEKV3",
     "b200",
     "26.03",
     "26.05",
     {.exchange = Exchange::OnceOverlapped, .latentAgain = true}},
    {"KIMIK2", "gb300", "26", "26.05", {.latentAgain = true}},
    {"GPTOSS120B",
     "h100",
     "25.10",
     "27",
     {.exchange = Exchange::AllToAll},
     kCheap},
    {"GPTOSS120B", "b200", "26", "27", kEagerAllToAll, kCheap},
    {"GPTOSS120B", "gb200", "26", "26.05", kEagerAllToAll, kCheap},
    {"GPTOSS120B",
     "gb300",
     "26",
     "26.05",
     {.graphs = Graphs::Parts, .exchange = Exchange::AllToAll}},
    {"GPTOSS120B",
     "b300",
     "26",
     "26.05",
     {.graphs = Graphs::Parts, .exchange = Exchange::AllToAll}},
    {"GPTOSS120B",
     "b300",
     "26.05",
     "27",
     {.graphs = Graphs::Parts, .exchange = Exchange::OnceOverlapped}},
    {"NEMOTRON3NANO",
     "h100",
     "26",
     "26.03",
     {.exchange = Exchange::Once},
     kExperts},
    {"NEMOTRON3NANO",
     "h100",
     "26.03",
     "27",
     {.exchange = Exchange::Once},
     kExpertsToo},
    {"NEMOTRON3SUPER", "gb200", "26", "27", {}, kExpertsToo},
    {"NEMOTRON3SUPER",
     "b200",
     "26",
     "27",
     {.graphs = Graphs::None, .exchange = Exchange::Once},
     kAttentionToo},
};

/// What notes of development versions tell: "DeepEP; EP overlap".
void applyNotes(const std::string &notes, ThroughputRow &row) {
  if (row.problem.model.experts == 0 || row.systemName.starts_with("g"))
    return;
  auto says = [&](const char *what) {
    return notes.find(what) != std::string::npos;
  };
  row.recipe.exchange =
      says("EP overlap") ? Exchange::OnceOverlapped : Exchange::Once;
}

/// Rows whose plan is not that of their release's recipe, but of another row of
/// the table. Their times are those of the recipe's plan in the releases beside
/// theirs, within 2 %.
struct Corrected {
  std::string_view model, system, release, precision;
  int64_t told; ///< Pipeline ranks of the row.
  int64_t pp, ep, chunks, microBatch;
};

constexpr Corrected corrections[] = {
    {"QWEN330BA3B", "h100", "26.02.01", "FP8", 2, 1, 16, 1, 1},
    {"LLAMA370B", "gb300", "26.02.01", "MXFP8", 4, 4, 1, 5, 1},
};

void correct(const Corrected &by, ThroughputRow &row) {
  ParallelPlan &plan = row.plan;
  plan.dp = plan.dp * plan.pp / by.pp;
  plan.pp = by.pp;
  plan.ep = by.ep;
  plan.chunks = by.chunks;
  plan.microBatch = by.microBatch;
}

} // namespace

void planning::applyRecipe(const RowNumbers &cells, const std::string &release,
                           ThroughputRow &row) {
  constexpr std::string_view bridge = "Bridge-";
  std::string model = modelLetters(cells.text("model"));
  // One scale a tensor, current or delayed; Blackwell's blocks are "MX".
  std::string precision = cells.text("precision");
  row.recipe.tensorScales = precision.find("8") != std::string::npos &&
                            precision.find("MX") == std::string::npos;
  if (!cells.text("set").starts_with(bridge))
    return applyNotes(cells.text("notes"), row);
  for (const Corrected &one : corrections)
    if (one.model == model && one.system == row.systemName &&
        one.release == release && one.precision == precision &&
        one.told == row.plan.pp)
      correct(one, row);
  for (const Published &one : recipes) {
    if (one.model != model || one.system != row.systemName ||
        release < one.from || release >= one.to)
      continue;
    bool tensorScales = row.recipe.tensorScales;
    row.recipe = one.recipe;
    row.recipe.tensorScales = tensorScales;
    if (!one.again.empty() && !cells.has("recompute")) {
      row.plan.recompute = Recompute::Selective;
      row.plan.modules = one.again;
      row.recipe.wholeExpertsAgain = one.again.has(Moe);
    }
  }
  // Experts of fixed capacity: sizes are known, and the host waits for none.
  if (cells.text("model").find("tokendrop") != std::string::npos) {
    row.recipe.exchange = Exchange::AllToAll;
    row.recipe.fixedSizes = true;
  }
}

/// Has the exchange run beside another microbatch's passes.
static void exchangeBeside(const cluster::Software &newest,
                           cluster::Software &software) {
  software.set_expert_overlap(newest.has_beside_overlap()
                                  ? newest.beside_overlap()
                                  : newest.expert_overlap());
  double times = newest.beside_host();
  software.set_host_op_seconds(times * software.host_op_seconds());
  software.set_host_collective_seconds(times *
                                       software.host_collective_seconds());
  software.set_expert_host_seconds(times * software.expert_host_seconds());
}

cluster::System planning::systemOfRow(const ThroughputRow &row,
                                      const cluster::System &system) {
  cluster::System found = cluster::systemAtRelease(system, row.release);
  cluster::Software &software = *found.mutable_software();
  auto at = [&](const char *release) {
    return cluster::systemAtRelease(system, release).software();
  };
  if (row.recipe.traced)
    software.MergeFrom(system.traced());
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
    Exchange how = row.recipe.exchange;
    software.set_dispatch_once(how == Exchange::Once ||
                               how == Exchange::OnceOverlapped);
    software.set_expert_overlap(oldest.expert_overlap());
    if (how == Exchange::Overlapped || how == Exchange::OnceOverlapped)
      exchangeBeside(system.software(), software);
  }
  if (row.recipe.tensorScales && software.has_tensor_quantize_bytes())
    software.set_quantize_bytes(software.tensor_quantize_bytes());
  if (row.recipe.fixedSizes)
    software.set_expert_host_seconds(0);
  software.set_whole_experts_again(row.recipe.wholeExpertsAgain);
  software.set_latent_again(row.recipe.latentAgain);
  if (row.recipe.attention8 && found.device().peak_8bit() > 0)
    software.set_attention(software.attention() * found.device().peak_8bit() /
                           found.device().peak_16bit());
  if (row.recipe.tensorApart)
    software.set_tensor_overlap(0);
  if (row.recipe.dataApart)
    software.set_data_overlap(0);
  return found;
}
