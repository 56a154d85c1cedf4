//===- PlanRules.cpp - Whether a plan is one ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/PlanRules.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::plan;

static std::string text(int64_t number) { return std::to_string(number); }

namespace {

/// Sizes are at most 2^24 where S4 holds, so that two of them multiply; more
/// are multiplied with care.
class Judge {
public:
  Judge(const ParallelPlan &plan, const PlanSizes &sizes)
      : plan(plan), sizes(sizes) {}

  std::vector<BrokenRule> run() {
    checkNumbers();
    if (!broken.empty())
      return std::move(broken);
    checkBatch();
    if (!checkRanks())
      return std::move(broken);
    checkExperts();
    checkSharedExperts();
    checkStages();
    checkHeads();
    checkStateSpace();
    checkTower();
    checkPositions();
    checkContext();
    checkShardings();
    checkRecompute();
    checkLoss();
    for (BrokenRule &rule : brokenBlocks(plan, sizes))
      broken.push_back(std::move(rule));
    return std::move(broken);
  }

private:
  void add(int number, const std::string &field, const std::string &text) {
    broken.push_back({number, field, text});
  }

  /// S4.
  void checkNumbers() {
    constexpr std::pair<const char *, int64_t ParallelPlan::*> numbers[] = {
        {"plan.pipeline_parallel", &ParallelPlan::pp},
        {"plan.data_parallel", &ParallelPlan::dp},
        {"plan.context_parallel", &ParallelPlan::cp},
        {"plan.tensor_parallel", &ParallelPlan::tp},
        {"plan.expert_parallel", &ParallelPlan::ep},
        {"plan.virtual_stages", &ParallelPlan::chunks},
        {"plan.recompute_layers", &ParallelPlan::recomputeLayers},
        {"plan.loss_chunks", &ParallelPlan::lossChunks},
        {"training.micro_batch_size", &ParallelPlan::microBatch}};
    for (auto [field, member] : numbers)
      if (plan.*member < 1 || plan.*member > maxRanks)
        add(4, field,
            std::string(field) + " is " + text(plan.*member) +
                "; write at least 1 and at most " + text(maxRanks));
    if (plan.zero < 0 || plan.zero > 3)
      add(4, "plan.zero_stage",
          "plan.zero_stage is " + text(plan.zero) + "; write one from 0 to 3");
  }

  /// S14.
  void checkBatch() {
    checkBatchOf("training.global_batch_size", "training.global_batch_size is ",
                 sizes.globalBatch);
    for (int64_t batch : sizes.smallerBatches)
      if (checkBatchOf("training.batch_size_steps", "the batch grows through ",
                       batch))
        return; // One of them shows how.
  }

  bool checkBatchOf(const std::string &field, const std::string &is,
                    int64_t batch) {
    int64_t atATime = plan.microBatch * plan.dp;
    if (batch % atATime == 0)
      return false;
    std::string unit = "micro_batch_size (" + text(plan.microBatch) + ")";
    if (plan.dp > 1)
      unit += " * plan.data_parallel (" + text(plan.dp) + ")";
    add(14, field,
        is + text(batch) + ", which is not a multiple of " + unit + "; write " +
            text((batch / atATime + 1) * atATime));
    return true;
  }

  /// S20. Whether the axes multiply to a number of ranks.
  bool checkRanks() {
    int64_t ranks = 1;
    for (int64_t size : {plan.pp, plan.dp, plan.cp, plan.tp})
      ranks = ranks > maxRanks ? ranks : ranks * size;
    if (ranks > maxRanks) {
      add(20, "plan",
          "the plan's axes ask for more than " + text(maxRanks) +
              " ranks; write smaller ones");
      return false;
    }
    if (sizes.devices != 0 && sizes.devices != ranks)
      add(20, "cluster.devices",
          "cluster.devices is " + text(sizes.devices) +
              ", but the plan's axes multiply to " + text(ranks) + " ranks (" +
              printAxes(plan) + "); write " + text(ranks) +
              ", or leave it out");
    return true;
  }

  /// S21, S35: ranks that hold different experts.
  void checkExperts() {
    const std::string field = "plan.expert_parallel";
    std::string is = field + " is " + text(plan.ep);
    if (plan.ep > 1 && sizes.experts == 0)
      add(35, field, is + ", but the model has no experts; leave it out");
    else if (sizes.experts % plan.ep != 0)
      add(35, field,
          is + ", which does not divide the model's " + text(sizes.experts) +
              " experts");
    if (plan.tp % plan.expertTensor() != 0 || expertGrid(plan)) // S38
      return;
    int64_t groups = tensorGroups(plan), copies = plan.dp * plan.cp * groups;
    std::string ranks = "data_parallel * context_parallel";
    if (groups > 1)
      ranks += plan.expertTensor() == 1
                   ? " * tensor_parallel"
                   : " * tensor_parallel / expert_tensor_parallel";
    add(21, field,
        is + ", which does not divide " + ranks + " (" + text(copies) + ")");
  }

  /// S37, S38: ranks that share experts.
  void checkSharedExperts() {
    const std::string field = "plan.expert_tensor_parallel";
    int64_t share = plan.expertTensor();
    if (share == plan.tp)
      return;
    std::string is = field + " is " + text(share);
    if (plan.tp % share != 0)
      add(38, field,
          is + ", which does not divide plan.tensor_parallel (" +
              text(plan.tp) + "); write one of its divisors");
    else if (sizes.experts == 0)
      add(37, field, is + ", which has no use without experts; leave it out");
    else if (!plan.sequenceParallel)
      add(37, field,
          is + ", so that " +
              (share == 1 ? "each tensor rank sends"
                          : "groups of as many tensor ranks send") +
              " tokens of " + (share == 1 ? "its" : "their") +
              " own to the experts; write sequence_parallel: true "
              "(--sequence-parallel), or leave it out");
  }

  /// S18: every layer has a stage, and every stage something to compute.
  void checkStages() {
    int64_t stages = plan.stages();
    if (plan.chunks > 1 && plan.pp == 1)
      add(18, "plan.virtual_stages",
          "plan.virtual_stages is " + text(plan.chunks) +
              ", which has no use on one pipeline rank; write 1, or a larger "
              "pipeline_parallel");
    if (sizes.layers == 0)
      return;
    if (!plan.layers.empty())
      return checkLayerList();
    int64_t parts = sizes.layers + plan.countEmbedding + plan.countHead;
    if (stages > parts)
      add(18, "plan.virtual_stages",
          "there are " + text(stages) +
              " stages (pipeline_parallel * virtual_stages) for " +
              text(parts) + " layers; write fewer stages, or layers_per_stage");
  }

  /// Where the number of layers is written.
  std::string layersField() const {
    return sizes.encoderLayers > 0
               ? "model.encoder.layers and model.layers together"
               : "model.layers";
  }

  /// S18 for stages that are written out.
  void checkLayerList() {
    const std::string field = "plan.layers_per_stage";
    if (static_cast<int64_t>(plan.layers.size()) != plan.stages())
      return add(
          18, field,
          field + " has " + text(static_cast<int64_t>(plan.layers.size())) +
              " entries; write one for each of the " + text(plan.stages()) +
              " stages (pipeline_parallel * virtual_stages)");
    int64_t sum = 0;
    for (int64_t count : plan.layers) {
      if (count < 0 || count > sizes.layers)
        return add(18, field,
                   field + " has an entry of " + text(count) +
                       "; write numbers from 0 to " + layersField() + " (" +
                       text(sizes.layers) + ")");
      sum += count;
    }
    if (sum != sizes.layers)
      add(18, field,
          "the entries of " + field + " add up to " + text(sum) +
              "; write as many as " + layersField() + " (" +
              text(sizes.layers) + ")");
  }

  /// S22: heads go to tensor ranks whole.
  void checkHeads() {
    if (sizes.heads % plan.tp != 0)
      add(22, "plan.tensor_parallel",
          "plan.tensor_parallel is " + text(plan.tp) +
              ", which does not divide model.heads (" + text(sizes.heads) +
              "); write one of its divisors");
  }

  /// S86 to S88: heads of state-space layers and their groups go to ranks
  /// whole, groups to tensor ranks as key heads do.
  void checkStateSpace() {
    if (sizes.stateHeads == 0)
      return;
    int64_t groups = sizes.stateGroups;
    const char *field = "plan.tensor_parallel";
    if (sizes.stateHeads % plan.tp != 0)
      add(86, field,
          "plan.tensor_parallel is " + text(plan.tp) +
              ", which does not divide model.state_space.heads (" +
              text(sizes.stateHeads) + "); write one of its divisors");
    else if (groups % plan.tp != 0 && plan.tp % groups != 0)
      add(86, field,
          "plan.tensor_parallel is " + text(plan.tp) +
              ", which model.state_space.groups (" + text(groups) +
              ") neither divides nor is a multiple of; write one that is");
    else if (sizes.kvHeads > 0 && groups > 1 &&
             std::gcd(sizes.kvHeads, plan.tp) != std::gcd(groups, plan.tp))
      add(87, field,
          "plan.tensor_parallel is " + text(plan.tp) +
              ", over which model.kv_heads (" + text(sizes.kvHeads) +
              ") and model.state_space.groups (" + text(groups) +
              ") are not split alike; write one that divides both");
    else
      checkSharedStates();
  }

  /// S88: in the place of positions, ranks that share sequences get whole
  /// groups, or heads of a group that each tensor rank has alone.
  void checkSharedStates() {
    int64_t groups = std::max<int64_t>(1, sizes.stateGroups / plan.tp);
    int64_t heads = sizes.stateHeads / plan.tp;
    if (groups > 1 ? groups % plan.cp != 0 : heads % plan.cp != 0)
      add(88, "plan.context_parallel",
          "plan.context_parallel is " + text(plan.cp) +
              ", which does not divide the " +
              (groups > 1 ? text(groups) + " groups" : text(heads) + " heads") +
              " of state-space layers that a tensor rank has; write one of "
              "their divisors");
  }

  /// S109: heads of a tower that sees images go to tensor ranks whole too.
  void checkTower() {
    if (sizes.visionHeads % plan.tp != 0)
      add(109, "plan.tensor_parallel",
          "plan.tensor_parallel is " + text(plan.tp) +
              ", which does not divide model.vision.heads (" +
              text(sizes.visionHeads) + "); write a divisor of both heads");
  }

  /// S23: positions go to ranks in shards of one size.
  void checkPositions() {
    checkPositionsOf("training.sequence_length", sizes.sequence);
    checkPositionsOf("training.encoder_sequence_length", sizes.encoderSequence);
  }

  void checkPositionsOf(const std::string &field, int64_t length) {
    int64_t shards = plan.cp * (plan.sequenceParallel ? plan.tp : 1);
    if (length % shards != 0)
      add(23, field,
          field + " is " + text(length) + ", which " + text(shards) +
              " ranks do not share evenly (context_parallel, and "
              "tensor_parallel with sequence_parallel); write a multiple");
  }

  /// S36: with all-to-all, key heads go to context ranks too.
  void checkContext() {
    if (plan.cp == 1 || plan.context != ContextStrategy::AllToAll)
      return;
    if (sizes.kvHeads % (plan.cp * plan.tp) != 0)
      add(36, "plan.context_strategy",
          "plan.context_strategy is ALL_TO_ALL, which deals out key heads, but "
          "model.kv_heads (" +
              text(sizes.kvHeads) +
              ") is no multiple of context_parallel * tensor_parallel (" +
              text(plan.cp * plan.tp) +
              "); write ALL_GATHER or RING, or fewer ranks");
  }

  /// S43: what shardings that are written out can be of.
  void checkShardings() {
    if (plan.shardings.empty())
      return;
    std::string what;
    if (plan.pp > 1 || plan.chunks > 1)
      what = "is of programs in one stage; leave pipeline_parallel and "
             "virtual_stages out";
    else if (plan.cp > 1)
      what = "splits over the data and the tensor axis; leave "
             "context_parallel out";
    else if (sizes.experts > 0)
      what = "is of models without experts";
    else if (plan.dp * plan.tp == 1)
      what = "has no use on one rank; leave it out";
    if (!what.empty())
      add(43, "plan.shardings", "plan.shardings " + what);
  }

  /// S40: what belongs to one way of recomputing has no meaning in another.
  void checkRecompute() {
    std::string mode(spelled(plan.recompute));
    std::ranges::transform(mode, mode.begin(), [](unsigned char c) {
      return static_cast<char>(std::toupper(c));
    });
    if (plan.recompute != Recompute::Full &&
        (plan.recomputeBlock || plan.recomputeLayers != 1))
      add(40, "plan.recompute",
          "plan.recompute is " + mode +
              ", with which recompute_method and recompute_layers have no "
              "meaning; leave them out, or write FULL");
    if (plan.recompute != Recompute::Selective && !plan.modules.empty())
      add(40, "plan.recompute_modules",
          "plan.recompute is " + mode +
              ", with which recompute_modules has no meaning; leave it out, or "
              "write SELECTIVE");
  }

  /// S117 to S119: a loss that is computed in chunks.
  void checkLoss() {
    const std::string field = "plan.loss_chunks";
    std::string is = field + " is " + text(plan.lossChunks);
    if (plan.lossChunks == 1)
      return;
    int64_t tokens = 0;
    if (sizes.sequence != 0 &&
        !__builtin_mul_overflow(sizes.sequence / plan.cp, plan.microBatch,
                                &tokens) &&
        plan.lossChunks > tokens)
      add(117, field,
          is + ", more than the " + text(tokens) +
              " tokens of a microbatch on a rank; write fewer");
    if (plan.zero > 1)
      add(118, field,
          is +
              ", which adds up the head's whole gradient on each rank, but "
              "plan.zero_stage is " +
              text(plan.zero) + "; leave it out, or write zero_stage 0 or 1");
    if (sizes.classifies)
      add(119, field,
          is + ", but the model has no loss over tokens; leave it out");
  }

  const ParallelPlan &plan;
  const PlanSizes &sizes;
  std::vector<BrokenRule> broken;
};

} // namespace

std::vector<BrokenRule> plan::brokenRules(const ParallelPlan &plan,
                                          const PlanSizes &sizes) {
  return Judge(plan, sizes).run();
}
