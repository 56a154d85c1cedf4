//===- BlockRules.cpp - Whether shards are whole blocks -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/PlanRules.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::plan;

static std::string digits(int64_t number) { return std::to_string(number); }

/// S61: what tensor ranks split is whole blocks on each.
static void checkWidths(const ParallelPlan &plan, const PlanSizes &sizes,
                        std::vector<BrokenRule> &broken) {
  struct Width {
    std::string name;
    int64_t size, shards;
  };
  // Ranks that share a key head have all of it.
  int64_t keyShards = std::gcd(sizes.kvHeads, plan.tp);
  std::vector<Width> widths = {
      {"heads * head_dim", sizes.heads * sizes.headDim, plan.tp},
      {"kv_heads * head_dim", sizes.kvHeads * sizes.headDim, keyShards},
      {"moe.ffn", sizes.expertFfn, plan.expertTensor()},
      {"moe.shared_experts * ffn", sizes.sharedFfn, plan.tp}};
  for (int64_t ffn : sizes.ffn)
    widths.push_back({"ffn", ffn, plan.tp});
  for (const auto &[name, size, shards] : widths)
    if (size % (shards * sizes.block) != 0 && shards > 1) {
      broken.push_back(
          {61, "plan.tensor_parallel",
           "plan.tensor_parallel is " + digits(plan.tp) +
               ", which cuts blocks of " + digits(sizes.block) +
               " 8-bit numbers: model." + name + " (" + digits(size) +
               ") is no multiple of " + digits(shards * sizes.block) +
               "; write fewer tensor ranks, or fp8_recipe: " +
               (sizes.block > 32 ? "MXFP8 or TENSORWISE" : "TENSORWISE")});
      return; // One of them shows how.
    }
}

/// S62: so are the tokens of a sequence that ranks share. Context ranks have
/// two parts each, tensor ranks a share of what their context rank has.
static void checkTokens(const ParallelPlan &plan, const PlanSizes &sizes,
                        std::vector<BrokenRule> &broken) {
  int64_t tensor = plan.sequenceParallel ? plan.tp : 1;
  int64_t shards = plan.cp * tensor;
  if (plan.cp > 1)
    shards = std::lcm(shards, 2 * plan.cp);
  if (shards == 1 || sizes.sequence % (shards * sizes.block) == 0)
    return;
  broken.push_back({62, "training.sequence_length",
                    "training.sequence_length is " + digits(sizes.sequence) +
                        ", and the plan cuts it into " + digits(shards) +
                        " parts (context_parallel, and tensor_parallel with "
                        "sequence_parallel), which are no whole blocks of " +
                        digits(sizes.block) +
                        " tokens that have a scale in 8 bits; write a " +
                        "multiple of " + digits(shards * sizes.block) +
                        ", fewer ranks, or fp8_recipe: TENSORWISE"});
}

std::vector<BrokenRule> plan::brokenBlocks(const ParallelPlan &plan,
                                           const PlanSizes &sizes) {
  std::vector<BrokenRule> broken;
  if (sizes.block == 0)
    return broken;
  checkWidths(plan, sizes, broken);
  checkTokens(plan, sizes, broken);
  return broken;
}
